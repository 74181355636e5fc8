import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls

# A row-level trigger with a condition costs nothing where the condition is false: bookings, and outcomes within a day
# of the call, mark nothing. The task counts days that ended more than two days ago, so whatever runs for less than a
# day may leave out the last day. `appointments.day_counts` explains why a mark is enough. A campaign can be a person's
# name, so it goes at once; a row that is locked is being deleted.
FUNCTIONS = """
CREATE FUNCTION appointments_mark_day() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_scheduled boolean := TG_ARGV[0] = 'schedule_time';
    days date[] := ARRAY(
        SELECT DISTINCT (at AT TIME ZONE 'UTC')::date
        FROM unnest(ARRAY[
            CASE WHEN is_scheduled THEN OLD.schedule_time ELSE OLD.created_at END,
            CASE WHEN is_scheduled THEN NEW.schedule_time ELSE NEW.created_at END
        ]) AS at
        WHERE at < now() - interval '1 day'
    );
BEGIN
    INSERT INTO appointments_changedday (created_at, organization_id, day)
    SELECT now(), coalesce(NEW.organization_id, OLD.organization_id), day FROM unnest(days) AS day;
    IF OLD.utm_campaign IS NOT NULL AND OLD.utm_campaign IS DISTINCT FROM NEW.utm_campaign THEN
        DELETE FROM appointments_daycount WHERE id IN (
            SELECT id FROM appointments_daycount
            WHERE organization_id = OLD.organization_id AND dimension = 'utm_campaign' AND day = ANY(days)
                AND key = left(OLD.utm_campaign, 201)
            FOR UPDATE SKIP LOCKED
        );
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION appointments_mark_every_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO appointments_changedday (created_at, organization_id) VALUES (now(), NEW.organization_id);
    RETURN NULL;
END
$$
"""
DROP_FUNCTIONS = 'DROP FUNCTION appointments_mark_day(); DROP FUNCTION appointments_mark_every_day()'
VALUES = ['host_id', 'setter_id', 'triager_id', 'last_source_id', 'event_type_id', 'utm_campaign']
# The columns on which the numbers of each of the two times depend, besides those that reports group by.
COLUMNS = {
    'schedule_time': ['{row}.schedule_time', '{row}.outcome_id'],
    'created_at': ['{row}.created_at', 'coalesce({row}.booked_for, {row}.schedule_time)'],
}
CREATE_TRIGGER = """
CREATE TRIGGER day_of_{time}_{event} AFTER {event} ON appointments_appointment
FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION appointments_mark_day('{time}')
"""
CREATE_ROLE_TRIGGER = """
CREATE TRIGGER role_of_stored_days AFTER UPDATE OF role ON statuses_status
FOR EACH ROW WHEN (OLD.role <> NEW.role) EXECUTE FUNCTION appointments_mark_every_day()
"""
DROP_TRIGGER = 'DROP TRIGGER day_of_{time}_{event} ON appointments_appointment'


def triggers():
    """Return the statements that create the triggers of appointments, and those that drop them."""
    create, drop = [], []
    for time, columns in COLUMNS.items():
        old, new = (
            ', '.join([column.format(row=row) for column in columns] + [f'{row}.{column}' for column in VALUES])
            for row in ('OLD', 'NEW')
        )
        is_past = "< now() - interval '1 day'"
        for event, condition in {
            'insert': f'NEW.{time} {is_past}',
            'delete': f'OLD.{time} {is_past}',
            'update': f'least(OLD.{time}, NEW.{time}) {is_past} AND ({old}) IS DISTINCT FROM ({new})',
        }.items():
            create.append(CREATE_TRIGGER.format(time=time, event=event, condition=condition))
            drop.append(DROP_TRIGGER.format(time=time, event=event))
    return create, drop


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0029_event_type_index'),
        ('organizations', '0028_lead_mail_count'),
        ('statuses', '0008_active'),
    ]

    operations = [
        migrations.CreateModel(
            name='ChangedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('day', models.DateField(editable=False, null=True)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['organization', 'day'], name='changed_day')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name='DayCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('day', models.DateField(editable=False)),
                ('dimension', models.CharField(editable=False, max_length=20)),
                ('key', models.TextField(editable=False, null=True)),
                ('appointments', models.PositiveIntegerField(default=0, editable=False)),
                ('shown', models.PositiveIntegerField(default=0, editable=False)),
                ('no_show', models.PositiveIntegerField(default=0, editable=False)),
                ('canceled', models.PositiveIntegerField(default=0, editable=False)),
                ('won', models.PositiveIntegerField(default=0, editable=False)),
                ('lost', models.PositiveIntegerField(default=0, editable=False)),
                ('booked', models.PositiveIntegerField(default=0, editable=False)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['organization', 'dimension', 'day', 'key'], name='day_count_of_dimension')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('appointments_changedday'),
        *enable_rls('appointments_daycount'),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        migrations.RunSQL(*triggers()),
        migrations.RunSQL(CREATE_ROLE_TRIGGER, 'DROP TRIGGER role_of_stored_days ON statuses_status'),
    ]
