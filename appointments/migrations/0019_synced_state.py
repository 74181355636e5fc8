import foundation.db.timestamps
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0018_remembered_cancellations'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='synced_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='appointment',
            name='synced_role',
            field=models.CharField(
                choices=[
                    ('NEW_LEAD', 'New lead'),
                    ('APPOINTMENT_BOOKED', 'Appointment booked'),
                    ('NO_SHOW', 'No-show'),
                    ('RESCHEDULED', 'Rescheduled'),
                    ('CANCELED', 'Canceled'),
                    ('PARTIAL_PAYMENT', 'Partial payment'),
                    ('WON', 'Won'),
                    ('UNQUALIFIED', 'Unqualified'),
                    ('FOLLOW_UP', 'Follow-up'),
                    ('LOST', 'Lost'),
                ],
                editable=False,
                max_length=20,
                null=True,
            ),
        ),
    ]
