from uuid import UUID

from django.db import migrations

BATCH = 5_000
# Leads that a booking has created, since an opt-in and staff always name the person. Each statement is a transaction.
MARK_BATCH = """
WITH batch AS (
    SELECT id FROM leads_lead WHERE id > %s ORDER BY id LIMIT %s
), marked AS (
    UPDATE leads_lead AS lead SET is_first_name_from_email = true
    FROM batch
    WHERE lead.id = batch.id
        AND lead.first_name = split_part(lead.email, '@', 1)
        AND EXISTS (
            SELECT
            FROM leads_leadstatuschange AS change JOIN statuses_status AS status ON status.id = change.to_status_id
            WHERE change.lead_id = lead.id AND change.from_status_id IS NULL AND status.role = 'APPOINTMENT_BOOKED'
        )
)
SELECT id FROM batch ORDER BY id DESC LIMIT 1
"""


def mark_first_names(apps, schema_editor):
    """Mark the first names that are the part of the e-mail before the @, which bookings without a name have stored."""
    last = (UUID(int=0),)
    with schema_editor.connection.cursor() as cursor:
        while last:
            cursor.execute(MARK_BATCH, [last[0], BATCH])
            last = cursor.fetchone()


class Migration(migrations.Migration):

    atomic = False  # each batch is a transaction of its own

    dependencies = [
        ('leads', '0006_first_name_from_email'),
        ('statuses', '0001_initial'),
    ]

    operations = [
        migrations.RunPython(mark_first_names, migrations.RunPython.noop),
    ]
