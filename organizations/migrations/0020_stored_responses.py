import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0019_webhooks_scope'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoredResponse',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('key_hash', models.BinaryField(max_length=32)),
                ('request_hash', models.BinaryField(max_length=32)),
                ('status_code', models.PositiveSmallIntegerField(editable=False)),
                ('headers', models.JSONField(editable=False)),
                ('body', models.TextField(editable=False, null=True)),
                ('ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), editable=False, size=None)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['organization', 'created_at'], name='response_oldest'), django.contrib.postgres.indexes.GinIndex(fields=['ids'], name='response_ids')],
                'constraints': [models.UniqueConstraint(fields=('organization', 'key_hash'), name='one_response_per_key')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('organizations_storedresponse'),
    ]
