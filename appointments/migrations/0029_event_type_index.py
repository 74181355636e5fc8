import django.db.models.deletion
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for transactions that write.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"
DROP_INDEX = "DROP INDEX CONCURRENTLY IF EXISTS appointments_appointment_event_type_id_aa4fff6e"
CREATE_INDEX = """
CREATE INDEX CONCURRENTLY appointments_appointment_event_type_id_aa4fff6e ON appointments_appointment (event_type_id)
"""


class Migration(migrations.Migration):
    """Drops the index that Django made for the key. `appointment_event_type` begins with the organization, too."""

    atomic = False  # the table is in use

    dependencies = [
        ('appointments', '0028_composite_keys_only'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(DROP_INDEX, CREATE_INDEX)],
            [
                migrations.AlterField(
                    model_name='appointment',
                    name='event_type',
                    field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='appointments.eventtype'),
                ),
            ],
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
