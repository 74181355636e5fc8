from django.db import migrations

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls, unique_with_organization

TABLES = ['eventtype', 'appointment', 'outcomechange', 'note', 'callanalysis']
# A mention has no organization of its own: it is its note's, and its member's.
MENTION = (
    'EXISTS (SELECT FROM appointments_note AS note WHERE note.id = appointments_note_mention_users.note_id)'
    ' AND EXISTS (SELECT FROM organizations_membership AS member WHERE member.id = appointments_note_mention_users.membership_id)'
)
CHECK_MENTION = """
CREATE FUNCTION appointments_check_mention() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM appointments_note AS note JOIN organizations_membership AS member USING (organization_id)
        WHERE note.id = NEW.note_id AND member.id = NEW.membership_id
    ) THEN
        RAISE foreign_key_violation USING MESSAGE = 'a note mentions members of its own organization only';
    END IF;
    RETURN NEW;
END
$$
"""
MENTION_TRIGGER = """
CREATE TRIGGER same_organization BEFORE INSERT OR UPDATE ON appointments_note_mention_users
FOR EACH ROW EXECUTE FUNCTION appointments_check_mention()
"""


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('appointments', '0003_cover_ranges'),
        ('leads', '0004_second_wall'),
    ]

    operations = [
        *(step for table in TABLES for step in enable_rls(f'appointments_{table}')),
        *enable_rls('appointments_note_mention_users', MENTION),
        *(unique_with_organization(f'appointments_{table}') for table in ['eventtype', 'appointment']),
        *composite_foreign_keys(
            'appointments_appointment',
            lead_id='leads_lead',
            event_type_id='appointments_eventtype',
            host_id='organizations_membership',
            setter_id='organizations_membership',
            triager_id='organizations_membership',
            outcome_id='statuses_status',
            first_source_id='leads_source',
            last_source_id='leads_source',
        ),
        *composite_foreign_keys('appointments_outcomechange', appointment_id='appointments_appointment', from_status_id='statuses_status', to_status_id='statuses_status'),
        *composite_foreign_keys('appointments_note', appointment_id='appointments_appointment'),
        *composite_foreign_keys('appointments_callanalysis', appointment_id='appointments_appointment'),
        migrations.RunSQL([CHECK_MENTION, MENTION_TRIGGER], ['DROP FUNCTION appointments_check_mention() CASCADE']),
    ]
