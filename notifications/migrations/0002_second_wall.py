from django.db import migrations

from organizations.policies import same_organization, walled


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('notifications', '0001_initial'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *walled('notifications_notification'),
        *walled('notifications_mailpreference'),
        *same_organization('notifications_notification', recipient_id='organizations_membership'),
        *same_organization('notifications_mailpreference', member_id='organizations_membership'),
    ]
