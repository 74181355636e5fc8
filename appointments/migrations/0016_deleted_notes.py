import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0015_call_id_index'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='note',
            name='external_reference',
            field=models.CharField(editable=False, max_length=255, null=True),
        ),
        migrations.CreateModel(
            name='DeletedNote',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('appointment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deleted_notes', to='appointments.appointment')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('appointments_deletednote'),
        *composite_foreign_keys('appointments_deletednote', appointment_id='appointments_appointment'),
    ]
