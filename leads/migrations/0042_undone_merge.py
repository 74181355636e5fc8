import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0041_custom_value_index'),
        ('organizations', '0028_lead_mail_count'),
    ]

    operations = [
        migrations.CreateModel(
            name='UndoneMerge',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('lead_id', models.UUIDField(editable=False)),
                ('subject_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), editable=False, size=None)),
                ('began_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False)),
                ('ended_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [models.Index(fields=['lead_id'], name='undone_merge_of_lead')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('leads_undonemerge'),
    ]
