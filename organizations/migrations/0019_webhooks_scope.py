import django.contrib.postgres.fields
import django.db.models.deletion
import organizations.defaults
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, unique_with_organization


class Migration(migrations.Migration):

    atomic = False  # each step locks for itself

    dependencies = [
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.AlterField(
            model_name='apikey',
            name='scopes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('read', 'Read'), ('write', 'Write'), ('webhooks', 'Webhooks')], max_length=10), default=organizations.defaults.both_scopes, size=None),
        ),
        migrations.AddField(
            model_name='apikey',
            name='replaced_by',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.apikey'),
        ),
        unique_with_organization('organizations_apikey'),
        *composite_foreign_keys('organizations_apikey', replaced_by_id='organizations_apikey'),
    ]
