from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('webhooks', '0008_host_limit'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='event',
            index=models.Index(fields=['organization', 'type', 'transaction', 'id'], name='event_feed_of_type'),
        ),
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(
                fields=['organization', '-created_at', '-id'], condition=models.Q(('state', 'DEAD')), name='delivery_dead'
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
