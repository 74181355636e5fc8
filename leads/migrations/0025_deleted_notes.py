import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0024_custom_field_updated_at'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='leadnote',
            name='external_reference',
            field=models.CharField(editable=False, max_length=255, null=True),
        ),
        migrations.CreateModel(
            name='DeletedLeadNote',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('lead', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deleted_notes', to='leads.lead')),
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
        *enable_rls('leads_deletedleadnote'),
        *composite_foreign_keys('leads_deletedleadnote', lead_id='leads_lead'),
    ]
