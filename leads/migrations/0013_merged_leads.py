import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls

# They run as the tables' owner: under row-level security PostgreSQL would not use the indexes on lower(email).
FUNCTION = """
CREATE OR REPLACE FUNCTION {name}(organization uuid, wanted text) RETURNS uuid
LANGUAGE sql STABLE STRICT SECURITY DEFINER SET search_path FROM CURRENT
AS 'SELECT {body}'
"""
LEAD = 'id FROM leads_lead WHERE organization_id = organization AND lower(email) = lower(wanted)'
MERGED = 'lead_id FROM leads_leadmerge WHERE organization_id = organization AND lower(email) = lower(wanted)'
WITH_EMAIL = FUNCTION.format(name='leads_with_email', body=LEAD)
WITH_OR_MERGED_EMAIL = FUNCTION.format(name='leads_with_email', body=f'coalesce((SELECT {LEAD}), (SELECT {MERGED}))')
MERGED_EMAIL = FUNCTION.format(name='leads_merged_email', body=MERGED)

# A merged lead's e-mail belongs to the lead that it is part of. Before the insert, such a lead is left out, as ON
# CONFLICT DO NOTHING does it. But while the merge has not been committed, the insert waits for it at the unique index,
# and would go on when the merged lead is gone: then the check after it fails, and the transaction is run once more.
REFUSE = """
CREATE OR REPLACE FUNCTION leads_refuse_merged_email() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    owner uuid := leads_merged_email(NEW.organization_id, NEW.email);
BEGIN
    IF owner IS NULL OR owner = NEW.id THEN
        RETURN NEW;
    END IF;
    IF TG_WHEN = 'BEFORE' THEN
        RETURN NULL;
    END IF;
    RAISE unique_violation USING
        CONSTRAINT = 'one_lead_per_email', MESSAGE = 'the e-mail belongs to the lead into which another one was merged';
END
$$
"""
BEFORE = """
CREATE OR REPLACE TRIGGER leave_out_merged_email BEFORE INSERT ON leads_lead
FOR EACH ROW EXECUTE FUNCTION leads_refuse_merged_email()
"""
AFTER = """
CREATE OR REPLACE TRIGGER refuse_merged_email AFTER INSERT OR UPDATE OF email ON leads_lead
FOR EACH ROW EXECUTE FUNCTION leads_refuse_merged_email()
"""
DROP_TRIGGER = 'DROP TRIGGER IF EXISTS {name} ON leads_lead'


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0012_next_step_index'),
    ]

    operations = [
        migrations.CreateModel(
            name='LeadMerge',
            fields=[
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('actor_kind', models.CharField(choices=[('STAFF', 'Staff member'), ('API_KEY', 'API key'), ('SYSTEM', 'System')], editable=False, max_length=10)),
                ('actor_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_name', models.CharField(blank=True, editable=False, max_length=600, verbose_name='by')),
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('previous_id', models.UUIDField(editable=False, verbose_name='previous ID')),
                ('email', models.EmailField(editable=False, max_length=254, null=True)),
                ('snapshot', models.JSONField(editable=False, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True)),
                ('lead', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='merges', to='leads.lead')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'verbose_name': 'merged lead',
                'ordering': ['created_at', 'id'],
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'constraints': [
                    models.UniqueConstraint(models.F('organization'), models.F('previous_id'), name='one_merge_per_lead'),
                    models.UniqueConstraint(models.F('organization'), django.db.models.functions.text.Lower('email'), name='one_merged_lead_per_email'),
                ],
                'indexes': [
                    models.Index(fields=['lead', 'created_at'], name='merge_of_lead'),
                    models.Index(condition=models.Q(('snapshot__isnull', False)), fields=['organization', 'created_at'], name='merge_with_snapshot'),
                ],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('leads_leadmerge'),
        *composite_foreign_keys('leads_leadmerge', lead_id='leads_lead'),
        migrations.RunSQL([MERGED_EMAIL], ['DROP FUNCTION leads_merged_email(uuid, text)']),
        migrations.RunSQL([WITH_OR_MERGED_EMAIL], [WITH_EMAIL]),
        migrations.RunSQL([REFUSE], ['DROP FUNCTION leads_refuse_merged_email()']),
        migrations.RunSQL([BEFORE], [DROP_TRIGGER.format(name='leave_out_merged_email')]),
        migrations.RunSQL([AFTER], [DROP_TRIGGER.format(name='refuse_merged_email')]),
    ]
