from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('webhooks', '0002_replays'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(condition=models.Q(('replay__isnull', False)), fields=['replay', 'state'], name='delivery_of_replay'),
        ),
    ]
