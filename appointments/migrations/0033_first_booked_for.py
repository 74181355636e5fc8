import foundation.db.timestamps
from django.db import migrations

VALUES = ['created_at', 'host_id', 'setter_id', 'triager_id', 'last_source_id', 'event_type_id', 'utm_campaign']
FORMER_TIME = 'coalesce({row}.booked_for, {row}.schedule_time)'
TIME = 'coalesce({row}.first_booked_for, {row}.booked_for, {row}.schedule_time)'
REPLACE_TRIGGER = """
DROP TRIGGER day_of_created_at_update ON appointments_appointment;
CREATE TRIGGER day_of_created_at_update AFTER UPDATE ON appointments_appointment
FOR EACH ROW WHEN (
    least(OLD.created_at, NEW.created_at) < now() - interval '1 day' AND ({old}) IS DISTINCT FROM ({new})
) EXECUTE FUNCTION appointments_mark_day('created_at')
"""


def replace_trigger(time):
    """Return the statements that let a day be counted again if this time of an appointment of that day changes."""
    old, new = (
        ', '.join([time.format(row=row)] + [f'{row}.{column}' for column in VALUES]) for row in ('OLD', 'NEW')
    )
    return REPLACE_TRIGGER.format(old=old, new=new)


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0032_fill_booked_at'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='first_booked_for',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.RunSQL(replace_trigger(TIME), replace_trigger(FORMER_TIME)),
    ]
