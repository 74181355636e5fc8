import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.db.models.manager
import foundation.db.timestamps
import uuid_utils.compat
from django.db import migrations, models

from organizations.migrations._row_level_security import enable_rls


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0010_handed_over'),
        ('organizations', '0028_lead_mail_count'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('CALL_BOOKED', 'Call Booked'), ('CALL_RESCHEDULED', 'Call Rescheduled'), ('CALL_CANCELED', 'Call Canceled'), ('CALL_UPDATED', 'Call Updated'), ('CALL_REASSIGNED', 'Call Reassigned'), ('MENTIONED', 'Mentioned in a note'), ('HANDED_OVER', 'Work handed over'), ('ENDPOINTS_FAILING', 'Webhook endpoints need attention'), ('LEAD_INVITED', 'Invitation to the lead'), ('LEAD_RESCHEDULED', 'New time for the lead'), ('LEAD_CANCELED', 'Cancellation to the lead'), ('LEAD_REMINDED', 'Reminder to the lead')], editable=False, max_length=20),
        ),
        migrations.CreateModel(
            name='LeadMessage',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('created_at', foundation.db.timestamps.MillisecondDateTimeField(default=foundation.db.timestamps.now, editable=False)),
                ('kind', models.CharField(choices=[('LEAD_INVITED', 'Invitation'), ('LEAD_RESCHEDULED', 'New time'), ('LEAD_CANCELED', 'Cancellation'), ('LEAD_REMINDED', 'Reminder')], max_length=20, verbose_name='message')),
                ('is_active', models.BooleanField(db_default=False, default=False, verbose_name='send it')),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField(max_length=5000)),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='organizations.organization')),
            ],
            options={
                'verbose_name': 'message to leads',
                'verbose_name_plural': 'messages to leads',
                'ordering': ['kind'],
                'abstract': False,
                'base_manager_name': 'unscoped',
                'default_manager_name': 'unscoped',
                'constraints': [models.UniqueConstraint(fields=('organization', 'kind'), name='one_lead_message_per_kind'), models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(django.db.models.functions.text.Length('text'), 5000), name='lead_message_has_at_most_5000_characters')],
            },
            managers=[
                ('unscoped', django.db.models.manager.Manager()),
            ],
        ),
        *enable_rls('notifications_leadmessage'),
    ]
