import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0019_import_turns'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('actor_kind', models.CharField(choices=[('STAFF', 'Staff member'), ('API_KEY', 'API key'), ('SYSTEM', 'System')], editable=False, max_length=10)),
                ('actor_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_name', models.CharField(blank=True, editable=False, max_length=600, verbose_name='by')),
                ('lead_id', models.UUIDField(editable=False)),
                ('counts', models.JSONField(default=dict, editable=False)),
                ('updated_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('finished_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddIndex(
            model_name='erasure',
            index=models.Index(fields=['organization', 'lead_id', '-created_at'], name='erasure_of_lead'),
        ),
        migrations.AddConstraint(
            model_name='erasure',
            constraint=models.UniqueConstraint(condition=models.Q(('finished_at', None)), fields=('organization', 'lead_id'), name='one_open_erasure_per_lead'),
        ),
        *enable_rls('leads_erasure'),
        # Null in the rows that exist, which are looked at one by one until they are deleted, a week later at the latest.
        migrations.AddField(
            model_name='import',
            name='rows_until',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='size',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='terms',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), editable=False, null=True, size=None),
        ),
        migrations.AddField(
            model_name='importrow',
            name='terms',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), editable=False, null=True, size=None),
        ),
    ]
