from uuid import UUID

from django.db import migrations

BATCH = 1_000
# Each statement is a transaction. Others that write several opt-ins of a lead lock the lead first; locks are taken in
# the order of the ids, as everywhere. What is committed meanwhile has marked its lead.
FILL_BATCH = """
WITH batch AS MATERIALIZED (
    SELECT id FROM leads_lead WHERE id > %s ORDER BY id LIMIT %s FOR NO KEY UPDATE
), bookings AS MATERIALIZED (
    SELECT id AS lead_id, (
        SELECT array_agg(created_at ORDER BY created_at) FROM appointments_appointment WHERE lead_id = batch.id
    ) AS times
    FROM batch
), filled AS (
    UPDATE optins_optin AS opt_in
    SET booked_at = times[width_bucket(created_at - interval '1 microsecond', times) + 1]
    FROM bookings
    WHERE bookings.lead_id = opt_in.lead_id AND created_at <= times[cardinality(times)]
)
SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""


def fill(apps, schema_editor):
    last = (UUID(int=0),)
    with schema_editor.connection.cursor() as cursor:
        while last:
            cursor.execute(FILL_BATCH, [last[0], BATCH])
            last = cursor.fetchone()


class Migration(migrations.Migration):

    atomic = False  # each batch is a transaction of its own

    dependencies = [
        ('appointments', '0031_changed_leads'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
