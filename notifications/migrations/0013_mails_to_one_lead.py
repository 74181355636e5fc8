from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# Building an index of a large table takes longer than a statement may, and waits for other transactions.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('notifications', '0012_composite_keys_only'),
    ]

    operations = [
        migrations.AddField(
            model_name='notification',
            name='lead_id',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(
                fields=['lead_id', '-created_at'],
                condition=models.Q(
                    ('lead_id__isnull', False),
                    models.Q(('last_error', 'lead_limit'), _negated=True),
                    models.Q(('state', 'CANCELED'), _negated=True),
                ),
                name='notification_lead',
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
