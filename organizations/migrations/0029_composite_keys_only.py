from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('organizations', '0028_lead_mail_count'),
    ]

    operations = [
        *drop_plain_foreign_keys('apikey', 'replaced_by'),
        *drop_plain_foreign_keys('savedview', 'owner'),
    ]
