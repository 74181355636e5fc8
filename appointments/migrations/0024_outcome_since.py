from django.db import migrations

import foundation.db.timestamps

# A trigger, because version 0.2 doesn't know the column, and bulk writes don't call the model.
FUNCTION = """
CREATE FUNCTION appointments_set_outcome_since() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        NEW.outcome_since := NEW.created_at;
    ELSIF NEW.outcome_since IS NOT DISTINCT FROM OLD.outcome_since THEN
        NEW.outcome_since := CASE
            WHEN NEW.updated_at > OLD.updated_at THEN NEW.updated_at
            ELSE date_trunc('milliseconds', clock_timestamp())
        END;
    END IF;
    RETURN NEW;
END
$$
"""
ON_INSERT = """
CREATE TRIGGER outcome_since_of_new BEFORE INSERT ON appointments_appointment
FOR EACH ROW WHEN (NEW.outcome_since IS NULL) EXECUTE FUNCTION appointments_set_outcome_since()
"""
ON_UPDATE = """
CREATE TRIGGER outcome_since_of_changed BEFORE UPDATE OF outcome_id ON appointments_appointment
FOR EACH ROW WHEN (NEW.outcome_id IS DISTINCT FROM OLD.outcome_id) EXECUTE FUNCTION appointments_set_outcome_since()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0023_lead_reminder_index'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='outcome_since',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.RunSQL([FUNCTION], ['DROP FUNCTION appointments_set_outcome_since()']),
        migrations.RunSQL(
            [ON_INSERT, ON_UPDATE],
            [
                'DROP TRIGGER outcome_since_of_changed ON appointments_appointment',
                'DROP TRIGGER outcome_since_of_new ON appointments_appointment',
            ],
        ),
    ]
