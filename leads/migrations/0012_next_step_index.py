from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0011_change_history'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(
                fields=['organization', 'next_step_at'], condition=models.Q(('next_step_at__isnull', False)), name='lead_next_step'
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
