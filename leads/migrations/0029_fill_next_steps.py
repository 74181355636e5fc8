from uuid import UUID

from django.db import migrations

BATCH = 5_000
# A lead's next step, or a touch point that staff have set and that is still to come: both become a step of the lead's
# setter. Each statement is a transaction. Repeated, it leaves leads alone that have a step.
FILL_BATCH = """
WITH batch AS (
    SELECT id FROM leads_lead WHERE id > %s ORDER BY id LIMIT %s
), stepped AS (
    UPDATE leads_lead AS lead
    SET next_step_at = coalesce(next_step_at, next_touch_point_at),
        next_step_type = CASE WHEN next_step_at IS NULL THEN next_touch_point_type ELSE next_step_type END
    FROM batch
    WHERE lead.id = batch.id
        AND (next_step_at IS NOT NULL OR (next_touch_point_type <> 'APPOINTMENT' AND next_touch_point_at > now()))
        AND NOT EXISTS (SELECT FROM leads_nextstep AS step WHERE step.lead_id = lead.id)
    RETURNING lead.*
), filled AS (
    INSERT INTO leads_nextstep
        (id, organization_id, created_at, lead_id, owner_id, at, type, note, actor_kind, actor_id, actor_name)
    SELECT uuidv7(), organization_id, date_trunc('milliseconds', now()), id, setter_id,
        next_step_at, coalesce(next_step_type, 'OTHER'), next_step_note, 'SYSTEM', '', 'System'
    FROM stepped
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
        ('leads', '0028_next_steps'),
    ]

    operations = [
        # Back, the steps go with their table; each lead keeps its earliest one.
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
