from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('webhooks', '0012_paused_until'),
    ]

    operations = [
        *drop_plain_foreign_keys('endpoint', 'api_key'),
        *drop_plain_foreign_keys('delivery', 'event', 'endpoint', 'replay'),
        *drop_plain_foreign_keys('replay', 'endpoint'),
        *drop_plain_foreign_keys('attempt', 'delivery'),
    ]
