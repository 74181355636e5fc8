from django.db import migrations

from organizations.migrations._row_level_security import enable_rls, unique_with_organization


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('statuses', '0001_initial'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *enable_rls('statuses_status'),
        unique_with_organization('statuses_status'),
    ]
