import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls

# No constraint can span two tables. The trigger runs after the row is in the unique index of present references: if
# another transaction is moving an appointment away from this reference, the insert has waited for its commit, and the
# statement in here sees the former reference that it has stored.
CHECK_REFERENCE = """
CREATE FUNCTION appointments_check_reference() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM appointments_formerreference
        WHERE organization_id = NEW.organization_id AND source = NEW.source AND external_reference = NEW.external_reference
    ) THEN
        RAISE unique_violation USING MESSAGE = 'the reference is a former one of an appointment';
    END IF;
    RETURN NULL;
END
$$
"""
TRIGGER = """
CREATE TRIGGER not_a_former_reference AFTER INSERT OR UPDATE OF external_reference ON appointments_appointment
FOR EACH ROW WHEN (NEW.external_reference IS NOT NULL) EXECUTE FUNCTION appointments_check_reference()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0012_event_type_updated_at'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.CreateModel(
            name='FormerReference',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('source', models.CharField(choices=[('SCHEDULER_A', 'Scheduler A'), ('SCHEDULER_B', 'Scheduler B'), ('SCHEDULER_C', 'Scheduler C'), ('MANUAL', 'Manual')], editable=False, max_length=20)),
                ('external_reference', models.CharField(editable=False, max_length=255)),
                ('booked_for', foundation.db.timestamps.MillisecondDateTimeField(editable=False)),
                ('appointment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_references', to='appointments.appointment')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'constraints': [models.UniqueConstraint(models.F('organization'), models.F('source'), models.F('external_reference'), name='one_former_reference_per_source')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('appointments_formerreference'),
        *composite_foreign_keys('appointments_formerreference', appointment_id='appointments_appointment'),
        migrations.RunSQL(
            [CHECK_REFERENCE, TRIGGER],
            ['DROP TRIGGER not_a_former_reference ON appointments_appointment', 'DROP FUNCTION appointments_check_reference()'],
        ),
    ]
