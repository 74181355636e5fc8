from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('optins', '0005_synced_at'),
    ]

    operations = [
        *drop_plain_foreign_keys('optin', 'lead'),
        *drop_plain_foreign_keys('questionanswer', 'opt_in'),
    ]
