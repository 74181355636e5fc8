from uuid import UUID

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

BATCH = 5_000
# Each statement is a transaction.
FILL_BATCH = """
WITH batch AS (
    SELECT id FROM leads_lead WHERE id > %s ORDER BY id LIMIT %s
), filled AS (
    UPDATE leads_lead AS stored
    SET status_since = coalesce(
        (SELECT max(change.created_at) FROM leads_leadstatuschange AS change WHERE change.lead_id = stored.id),
        stored.created_at
    )
    FROM batch
    WHERE stored.id = batch.id AND status_since IS NULL
)
SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""
# A large table's index takes longer than a request may, and waits for transactions that write.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


def fill(apps, schema_editor):
    last = (UUID(int=0),)
    with schema_editor.connection.cursor() as cursor:
        while last:
            cursor.execute(FILL_BATCH, [last[0], BATCH])
            last = cursor.fetchone()


class Migration(migrations.Migration):

    atomic = False  # each batch is a transaction of its own, and the index is made while the table is in use

    dependencies = [
        ('leads', '0039_status_since'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(fields=['organization', '-status_since', '-id'], name='lead_status_since'),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
