import django.db.models.deletion
import foundation.db.timestamps
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys


class Migration(migrations.Migration):

    atomic = False  # each step locks for itself

    dependencies = [
        ('organizations', '0019_webhooks_scope'),
        ('webhooks', '0010_slow_attempts'),
    ]

    operations = [
        migrations.AddField(
            model_name='endpoint',
            name='api_key',
            field=models.ForeignKey(editable=False, help_text="The key that made the endpoint, or replaced the one that did; none for staff's.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.apikey', verbose_name='API key'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='metadata',
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='deleted_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        *composite_foreign_keys('webhooks_endpoint', api_key_id='organizations_apikey'),
    ]
