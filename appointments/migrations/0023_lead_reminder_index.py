from django.contrib.postgres.operations import AddIndexConcurrently, ValidateConstraint
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('appointments', '0022_lead_reminders'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        ValidateConstraint(model_name='eventtype', name='reminder_is_at_most_168_hours_before'),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(
                fields=['organization', 'lead_reminder_at'],
                condition=models.Q(('lead_reminder_at__isnull', False)),
                name='appointment_reminder',
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
