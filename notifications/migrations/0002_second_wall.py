from django.db import migrations

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('notifications', '0001_initial'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *enable_rls('notifications_notification'),
        *enable_rls('notifications_mailpreference'),
        *composite_foreign_keys('notifications_notification', recipient_id='organizations_membership'),
        *composite_foreign_keys('notifications_mailpreference', member_id='organizations_membership'),
    ]
