import django.db.models.deletion
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import composite_foreign_keys, enable_rls

TYPES = [('APPOINTMENT', 'Appointment'), ('CALL', 'Call'), ('EMAIL', 'E-mail'), ('SMS', 'SMS'), ('FOLLOW_UP', 'Follow-up'), ('OTHER', 'Other')]


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0027_partial_rows'),
        ('organizations', '0018_saved_views'),
    ]

    operations = [
        migrations.CreateModel(
            name='NextStep',
            fields=[
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('actor_kind', models.CharField(choices=[('STAFF', 'Staff member'), ('API_KEY', 'API key'), ('SYSTEM', 'System')], editable=False, max_length=10)),
                ('actor_id', models.CharField(blank=True, editable=False, max_length=64)),
                ('actor_name', models.CharField(blank=True, editable=False, max_length=600, verbose_name='by')),
                ('at', foundation.db.timestamps.MillisecondDateTimeField(verbose_name='when')),
                ('type', models.CharField(choices=TYPES, max_length=12, verbose_name='how')),
                ('note', models.CharField(blank=True, max_length=255, null=True, verbose_name='what about')),
                ('done_at', foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True)),
                ('done_by', models.CharField(editable=False, max_length=600, null=True)),
                ('lead', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='next_steps', to='leads.lead')),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
                ('owner', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.membership')),
            ],
            options={
                'ordering': ['at', 'id'],
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'indexes': [
                    models.Index(condition=models.Q(('done_at', None)), fields=['lead', 'at'], name='next_step_open'),
                    models.Index(condition=models.Q(('done_at', None)), fields=['owner', 'at'], name='next_step_of_owner'),
                    models.Index(fields=['lead', '-created_at', '-id'], name='next_step_newest'),
                ],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('leads_nextstep'),
        *composite_foreign_keys('leads_nextstep', lead_id='leads_lead', owner_id='organizations_membership'),
    ]
