from uuid import UUID

from django.db import migrations

BATCH = 5_000
# Each statement is a transaction. A canceled call with a later outcome is in no calendar: nobody is invited any more.
FILL_BATCH = """
WITH batch AS (
    SELECT id FROM appointments_appointment WHERE id > %s ORDER BY id LIMIT %s
), filled AS (
    UPDATE appointments_appointment AS stored
    SET is_called_off = true
    FROM batch, statuses_status AS outcome
    WHERE stored.id = batch.id AND outcome.id = stored.outcome_id AND NOT is_called_off AND (
        outcome.role = 'CANCELED' OR (
            stored.invited = '{}' AND stored.source = 'MANUAL'
            AND outcome.role NOT IN ('APPOINTMENT_BOOKED', 'RESCHEDULED')
        )
    )
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
        ('appointments', '0036_called_off'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
