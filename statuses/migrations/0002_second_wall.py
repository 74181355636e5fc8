from django.db import migrations

from organizations.policies import referable, walled


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('statuses', '0001_initial'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *walled('statuses_status'),
        referable('statuses_status'),
    ]
