from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('notifications', '0011_lead_messages'),
    ]

    operations = [
        *drop_plain_foreign_keys('notification', 'recipient'),
        *drop_plain_foreign_keys('mailpreference', 'member'),
    ]
