from django.db import migrations, transaction

# Those whose calendars have an entry of an appointment that is not over: its active members, or else the owners.
INVITED = """
WITH member AS (
    SELECT membership.* FROM organizations_membership AS membership
    JOIN organizations_user AS person ON person.id = membership.user_id
    WHERE membership.organization_id = %(organization)s AND membership.is_active AND person.is_active
)
UPDATE appointments_appointment AS appointment
SET invited = COALESCE(
    NULLIF(ARRAY(SELECT id FROM member WHERE id IN (host_id, setter_id, triager_id)), '{}'),
    ARRAY(SELECT id FROM member WHERE role = 'OWNER')
)
WHERE organization_id = %(organization)s AND schedule_time > now() - interval '1 day' AND source = 'MANUAL'
    AND invited IS NULL
    AND NOT EXISTS (SELECT FROM statuses_status WHERE statuses_status.id = outcome_id AND role = 'CANCELED')
"""


def store_who_is_invited(apps, schema_editor):
    """Fill `invited` of upcoming appointments, one organization at a time."""
    for organization in apps.get_model('organizations', 'Organization').objects.values_list('pk', flat=True):
        with transaction.atomic(), schema_editor.connection.cursor() as cursor:
            cursor.execute(INVITED, {'organization': organization})


class Migration(migrations.Migration):

    atomic = False  # each organization's appointments are locked on their own

    dependencies = [
        ('appointments', '0006_calendar_entries'),
        ('organizations', '0014_unconfirmed_members'),
        ('statuses', '0001_initial'),
    ]

    operations = [migrations.RunPython(store_who_is_invited, migrations.RunPython.noop)]
