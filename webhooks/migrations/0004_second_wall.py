from django.db import migrations

from organizations.policies import referable, same_organization, walled

TABLES = ['event', 'endpoint', 'delivery', 'attempt', 'replay']


class Migration(migrations.Migration):

    atomic = False  # indexes are built beside those who write, and each step is one of its own

    dependencies = [
        ('webhooks', '0003_deliveries_of_a_replay'),
        ('organizations', '0003_second_wall'),
    ]

    operations = [
        *(step for table in TABLES for step in walled(f'webhooks_{table}')),
        *(referable(f'webhooks_{table}') for table in ['event', 'endpoint', 'delivery', 'replay']),
        *same_organization('webhooks_delivery', event_id='webhooks_event', endpoint_id='webhooks_endpoint', replay_id='webhooks_replay'),
        *same_organization('webhooks_replay', endpoint_id='webhooks_endpoint'),
        *same_organization('webhooks_attempt', delivery_id='webhooks_delivery'),
    ]
