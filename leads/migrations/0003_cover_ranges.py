from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('leads', '0002_counted'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(fields=['organization', '-updated_at', '-id'], include=['created_at'], name='lead_updated_covering'),
        ),
        RemoveIndexConcurrently(model_name='lead', name='lead_updated'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
