from django.db import migrations

import foundation.db.timestamps

# A trigger, because version 0.2 doesn't know the column, and bulk writes don't call the model.
FUNCTION = """
CREATE FUNCTION leads_set_status_since() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.status_since := NEW.created_at;
    ELSIF NEW.status_since IS NOT DISTINCT FROM OLD.status_since THEN
        NEW.status_since := CASE
            WHEN NEW.updated_at > OLD.updated_at THEN NEW.updated_at
            ELSE date_trunc('milliseconds', clock_timestamp())
        END;
    END IF;
    RETURN NEW;
END
$$
"""
ON_INSERT = """
CREATE TRIGGER status_since_of_new BEFORE INSERT ON leads_lead
FOR EACH ROW WHEN (NEW.status_since IS NULL) EXECUTE FUNCTION leads_set_status_since()
"""
ON_UPDATE = """
CREATE TRIGGER status_since_of_changed BEFORE UPDATE OF status_id ON leads_lead
FOR EACH ROW WHEN (NEW.status_id IS DISTINCT FROM OLD.status_id) EXECUTE FUNCTION leads_set_status_since()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0038_source_label'),
    ]

    operations = [
        migrations.AddField(
            model_name='lead',
            name='status_since',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.RunSQL([FUNCTION], ['DROP FUNCTION leads_set_status_since()']),
        migrations.RunSQL(
            [ON_INSERT, ON_UPDATE],
            [
                'DROP TRIGGER status_since_of_changed ON leads_lead',
                'DROP TRIGGER status_since_of_new ON leads_lead',
            ],
        ),
    ]
