from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for transactions that write.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('appointments', '0026_custom_value_index'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(
                fields=['organization', '-schedule_time', '-id'],
                include=['created_at', 'call_category', 'outcome_since'],
                name='appointment_scheduled_covering',
            ),
        ),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_scheduled_category'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
