from django.db import migrations

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls, unique_with_organization

TABLES = ['event', 'endpoint', 'delivery', 'attempt', 'replay']


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('webhooks', '0003_deliveries_of_a_replay'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *(step for table in TABLES for step in enable_rls(f'webhooks_{table}')),
        *(unique_with_organization(f'webhooks_{table}') for table in ['event', 'endpoint', 'delivery', 'replay']),
        *composite_foreign_keys('webhooks_delivery', event_id='webhooks_event', endpoint_id='webhooks_endpoint', replay_id='webhooks_replay'),
        *composite_foreign_keys('webhooks_replay', endpoint_id='webhooks_endpoint'),
        *composite_foreign_keys('webhooks_attempt', delivery_id='webhooks_delivery'),
    ]
