import django.core.serializers.json
import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0033_history_of_pairs'),
        ('organizations', '0026_last_seen'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportUndo',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('position', models.PositiveIntegerField(editable=False)),
                ('subject_type', models.CharField(editable=False, max_length=60)),
                ('subject_id', models.UUIDField(editable=False)),
                ('version', foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True)),
                ('columns', models.JSONField(editable=False, encoder=django.core.serializers.json.DjangoJSONEncoder, null=True)),
                ('is_kept', models.BooleanField(default=False, editable=False)),
                ('reason', models.TextField(blank=True, editable=False)),
                ('file_import', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='undo_rows', to='leads.import')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'ordering': ['-position', 'subject_type', 'id'],
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [
                    models.Index(fields=['file_import', 'is_kept', '-position', 'subject_type', 'id'], name='import_undo_newest'),
                    models.Index(fields=['subject_id'], name='import_undo_subject'),
                ],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('leads_importundo'),
        *composite_foreign_keys('leads_importundo', file_import_id='leads_import'),
        migrations.AddField(
            model_name='import',
            name='undo_size',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name='import',
            name='undo_until',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='undone',
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
        migrations.AlterField(
            model_name='import',
            name='state',
            field=models.CharField(choices=[('READING', 'Reading the file'), ('MAPPING', 'Choose the columns'), ('CHECKING', 'Checking the rows'), ('CHECKED', 'Ready to import'), ('IMPORTING', 'Importing'), ('DONE', 'Done'), ('CANCELED', 'Canceled'), ('FAILED', 'File refused'), ('UNDOING', 'Undoing'), ('UNDONE', 'Undone')], default='READING', editable=False, max_length=10),
        ),
    ]
