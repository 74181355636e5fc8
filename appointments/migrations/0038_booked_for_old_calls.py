from uuid import UUID

from django.db import migrations

BATCH = 1_000
# Leads with a call that was entered after its time: it counted as booked when it was entered, and now at its time. As
# in 0032, each statement is a transaction, and leads are locked before their opt-ins.
FILL_BATCH = """
WITH batch AS MATERIALIZED (
    SELECT id FROM leads_lead AS lead
    WHERE id > %s AND EXISTS (
        SELECT FROM appointments_appointment
        WHERE lead_id = lead.id AND created_at > coalesce(first_booked_for, booked_for, schedule_time)
    )
    ORDER BY id LIMIT %s FOR NO KEY UPDATE
), bookings AS MATERIALIZED (
    SELECT id AS lead_id, (
        SELECT array_agg(booked ORDER BY booked) FROM (
            SELECT least(created_at, coalesce(first_booked_for, booked_for, schedule_time)) AS booked
            FROM appointments_appointment WHERE lead_id = batch.id
        ) AS booking
    ) AS times
    FROM batch
), filled AS (
    UPDATE optins_optin AS opt_in
    SET booked_at = times[width_bucket(created_at - interval '1 microsecond', times) + 1]
    FROM bookings
    WHERE bookings.lead_id = opt_in.lead_id
        AND booked_at IS DISTINCT FROM times[width_bucket(created_at - interval '1 microsecond', times) + 1]
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
        ('appointments', '0037_fill_called_off'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
