from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('appointments', '0002_counted'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(fields=['organization', '-updated_at', '-id'], include=['created_at'], name='appointment_updated_covering'),
        ),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(fields=['organization', '-schedule_time', '-id'], include=['created_at'], name='appointment_scheduled_covering'),
        ),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_updated'),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_scheduled'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
