from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the indexes are made while the tables are in use

    dependencies = [
        ('leads', '0009_source_names'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(fields=['organization', 'status', 'next_touch_point_at'], name='lead_follow_up'),
        ),
        AddIndexConcurrently(
            model_name='leadstatuschange',
            index=models.Index(fields=['from_status', '-created_at', '-id'], name='lead_left_status'),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
