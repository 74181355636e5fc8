from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('appointments', '0027_scheduled_covering_since'),
    ]

    operations = [
        *drop_plain_foreign_keys(
            'appointment', 'lead', 'event_type', 'host', 'setter', 'triager', 'outcome', 'first_source', 'last_source'
        ),
        *drop_plain_foreign_keys('outcomechange', 'appointment', 'from_status', 'to_status'),
        *drop_plain_foreign_keys('appointmentchange', 'appointment'),
        *drop_plain_foreign_keys('note', 'appointment'),
        *drop_plain_foreign_keys('deletednote', 'appointment'),
        *drop_plain_foreign_keys('callanalysis', 'appointment'),
        *drop_plain_foreign_keys('formerreference', 'appointment'),
    ]
