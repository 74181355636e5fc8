import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls

# The statement in here sees what was committed before the booking got the lock of its reference.
CHECK_REFERENCE = """
CREATE OR REPLACE FUNCTION appointments_check_reference() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM appointments_formerreference
        WHERE organization_id = NEW.organization_id AND source = NEW.source AND external_reference = NEW.external_reference
    ) THEN
        RAISE unique_violation USING MESSAGE = 'the reference is a former one of an appointment';
    END IF;
    {check}
    RETURN NULL;
END
$$
"""
CHECK_CANCELLATION = """
    IF TG_OP = 'INSERT' AND NEW.source = 'MANUAL' AND EXISTS (
        SELECT FROM appointments_rememberedcancellation
        WHERE organization_id = NEW.organization_id AND external_reference = NEW.external_reference
            AND created_at > now() - interval '24 hours'
    ) THEN
        RAISE unique_violation USING MESSAGE = 'the reference was canceled before it was booked';
    END IF;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0017_own_duration'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.CreateModel(
            name='RememberedCancellation',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('actor_kind', models.CharField(choices=[('STAFF', 'Staff member'), ('API_KEY', 'API key'), ('SYSTEM', 'System')], editable=False, max_length=10)),
                ('actor_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_name', models.CharField(blank=True, editable=False, max_length=600, verbose_name='by')),
                ('external_reference', models.CharField(editable=False, max_length=255)),
                ('notes', models.TextField(editable=False)),
                ('canceled_by', models.CharField(choices=[('LEAD', 'Lead'), ('HOST', 'Host'), ('SYSTEM', 'System')], editable=False, max_length=20, null=True)),
                ('reason', models.TextField(editable=False, null=True)),
                ('rescheduled_to', models.CharField(editable=False, max_length=255, null=True)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['organization', 'created_at'], name='remembered_oldest')],
                'constraints': [models.UniqueConstraint(fields=('organization', 'external_reference'), name='one_remembered_cancellation')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('appointments_rememberedcancellation'),
        migrations.RunSQL(CHECK_REFERENCE.format(check=CHECK_CANCELLATION), CHECK_REFERENCE.format(check='')),
    ]
