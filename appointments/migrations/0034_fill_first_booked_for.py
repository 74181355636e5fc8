from uuid import UUID

from django.db import migrations

BATCH = 1_000
# Each statement is a transaction. Locks are taken in the order of the ids, as everywhere.
FILL_BATCH = """
WITH batch AS MATERIALIZED (
    SELECT id, appointment_id FROM appointments_formerreference WHERE id > %s ORDER BY id LIMIT %s
), locked AS MATERIALIZED (
    SELECT id FROM appointments_appointment
    WHERE id IN (SELECT appointment_id FROM batch) AND first_booked_for IS NULL
    ORDER BY id FOR NO KEY UPDATE
), filled AS (
    UPDATE appointments_appointment AS appointment
    SET first_booked_for = (
        SELECT booked_for FROM appointments_formerreference WHERE appointment_id = locked.id ORDER BY id LIMIT 1
    )
    FROM locked
    WHERE appointment.id = locked.id
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
        ('appointments', '0033_first_booked_for'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
