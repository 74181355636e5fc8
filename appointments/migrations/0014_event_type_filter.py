from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('appointments', '0013_former_references'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(
                fields=['organization', 'event_type', '-created_at', '-id'], name='appointment_event_type'
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
