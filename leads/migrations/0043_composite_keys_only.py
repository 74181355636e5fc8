from django.db import migrations

from organizations.migrations._composite_keys_only import drop_plain_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each operation takes its locks for a moment

    dependencies = [
        ('leads', '0042_undone_merge'),
    ]

    operations = [
        *drop_plain_foreign_keys('lead', 'status', 'setter', 'first_source', 'last_source'),
        *drop_plain_foreign_keys('leadstatuschange', 'lead', 'from_status', 'to_status'),
        *drop_plain_foreign_keys('leadchange', 'lead'),
        *drop_plain_foreign_keys('nextstep', 'lead', 'owner'),
        *drop_plain_foreign_keys('leadnote', 'lead'),
        *drop_plain_foreign_keys('deletedleadnote', 'lead'),
        *drop_plain_foreign_keys('leadmerge', 'lead'),
        *drop_plain_foreign_keys('possibleduplicate', 'first', 'second'),
        *drop_plain_foreign_keys('importrow', 'file_import'),
        *drop_plain_foreign_keys('importundo', 'file_import'),
    ]
