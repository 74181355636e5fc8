from django.db import migrations

from organizations.migrations._row_counts import add_row_count_triggers


class Migration(migrations.Migration):

    atomic = False  # the triggers first; then, while they count, what was there

    dependencies = [
        ('leads', '0001_initial'),
        ('organizations', '0002_count_rows'),
    ]

    operations = add_row_count_triggers('leads_lead')
