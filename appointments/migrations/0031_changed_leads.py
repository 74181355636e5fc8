import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls

# `appointments.first_bookings` explains why a mark is enough.
FUNCTION = """
CREATE FUNCTION appointments_mark_lead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO appointments_changedlead (created_at, organization_id, lead_id)
        VALUES (now(), OLD.organization_id, OLD.lead_id);
    END IF;
    IF TG_OP = 'INSERT' OR NEW.lead_id <> OLD.lead_id THEN
        INSERT INTO appointments_changedlead (created_at, organization_id, lead_id)
        VALUES (now(), NEW.organization_id, NEW.lead_id);
    END IF;
    RETURN NULL;
END
$$
"""
DROP_FUNCTION = 'DROP FUNCTION appointments_mark_lead()'
CREATE_TRIGGERS = """
CREATE TRIGGER lead_of_new AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION appointments_mark_lead();
CREATE TRIGGER lead_of_moved AFTER UPDATE OF lead_id, created_at ON {table}
FOR EACH ROW WHEN ((OLD.lead_id, OLD.created_at) IS DISTINCT FROM (NEW.lead_id, NEW.created_at))
EXECUTE FUNCTION appointments_mark_lead()
"""
DROP_TRIGGERS = 'DROP TRIGGER lead_of_new ON {table}; DROP TRIGGER lead_of_moved ON {table}'
CREATE_TRIGGER_OF_DELETED = """
CREATE TRIGGER lead_of_deleted AFTER DELETE ON appointments_appointment
FOR EACH ROW EXECUTE FUNCTION appointments_mark_lead()
"""
DROP_TRIGGER_OF_DELETED = 'DROP TRIGGER lead_of_deleted ON appointments_appointment'


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0030_day_counts'),
        ('optins', '0007_booked_at'),
        ('organizations', '0028_lead_mail_count'),
    ]

    operations = [
        migrations.CreateModel(
            name='ChangedLead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('lead_id', models.UUIDField(editable=False)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['organization', 'lead_id'], name='changed_lead')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('appointments_changedlead'),
        migrations.RunSQL(FUNCTION, DROP_FUNCTION),
        migrations.RunSQL(
            [CREATE_TRIGGERS.format(table='optins_optin'), CREATE_TRIGGERS.format(table='appointments_appointment')],
            [DROP_TRIGGERS.format(table='appointments_appointment'), DROP_TRIGGERS.format(table='optins_optin')],
        ),
        migrations.RunSQL(CREATE_TRIGGER_OF_DELETED, DROP_TRIGGER_OF_DELETED),
    ]
