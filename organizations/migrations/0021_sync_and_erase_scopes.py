import django.contrib.postgres.fields
import organizations.defaults
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0020_stored_responses'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('webhooks', 'Webhooks'), ('sync', 'Sync'), ('erase', 'Erase')], max_length=10), default=organizations.defaults.both_scopes, size=None),
        ),
    ]
