from django.db import migrations, models

# A trigger, because version 0.2 doesn't know the column. An update that sets it, such as undoing an import, counts.
FUNCTION = """
CREATE FUNCTION appointments_set_called_off() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    outcome_role text := (SELECT role FROM statuses_status WHERE id = NEW.outcome_id);
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.is_called_off <> OLD.is_called_off THEN
        RETURN NEW;
    END IF;
    IF outcome_role = 'CANCELED' THEN
        NEW.is_called_off := true;
    ELSIF TG_OP = 'UPDATE' AND (outcome_role IS NULL OR outcome_role IN ('APPOINTMENT_BOOKED', 'RESCHEDULED')) THEN
        NEW.is_called_off := false;
    END IF;
    RETURN NEW;
END
$$
"""
ON_INSERT = """
CREATE TRIGGER called_off_of_new BEFORE INSERT ON appointments_appointment
FOR EACH ROW WHEN (NEW.outcome_id IS NOT NULL) EXECUTE FUNCTION appointments_set_called_off()
"""
ON_UPDATE = """
CREATE TRIGGER called_off_of_changed BEFORE UPDATE OF outcome_id ON appointments_appointment
FOR EACH ROW WHEN (NEW.outcome_id IS DISTINCT FROM OLD.outcome_id) EXECUTE FUNCTION appointments_set_called_off()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0035_synced_hash'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='is_called_off',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL([FUNCTION], ['DROP FUNCTION appointments_set_called_off()']),
        migrations.RunSQL(
            [ON_INSERT, ON_UPDATE],
            [
                'DROP TRIGGER called_off_of_changed ON appointments_appointment',
                'DROP TRIGGER called_off_of_new ON appointments_appointment',
            ],
        ),
    ]
