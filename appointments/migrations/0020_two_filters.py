from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the indexes are made while the table is in use

    dependencies = [
        ('appointments', '0019_synced_state'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(
                fields=['organization', 'host', '-created_at', '-id'],
                include=['schedule_time', 'call_category', 'outcome'],
                name='appointment_host_covering',
            ),
        ),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(
                fields=['organization', '-schedule_time', '-id'],
                include=['created_at', 'call_category'],
                name='appointment_scheduled_category',
            ),
        ),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_host'),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_scheduled_covering'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
