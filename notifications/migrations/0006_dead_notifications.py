from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('notifications', '0005_more_kinds'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(
                fields=['organization', '-created_at', '-id'], condition=models.Q(('state', 'DEAD')), name='notification_dead'
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
