import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0031_import_choices'),
        ('organizations', '0026_last_seen'),
    ]

    operations = [
        migrations.CreateModel(
            name='LeadRetention',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('days', models.PositiveSmallIntegerField(editable=False, null=True)),
                ('next_run_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False)),
                ('position_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True)),
                ('position_id', models.UUIDField(editable=False, null=True)),
                ('erased_on', models.DateField(editable=False, null=True)),
                ('erased_count', models.PositiveIntegerField(default=0, editable=False)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'constraints': [models.UniqueConstraint(fields=('organization',), name='one_retention_per_organization'), models.CheckConstraint(condition=models.Q(('days__gte', 30), ('days__lte', 3650)), name='retention_is_30_to_3650_days')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('leads_leadretention'),
    ]
