import django.contrib.postgres.fields
from django.db import migrations, models

KINDS = [('CALL_BOOKED', 'Call Booked'), ('CALL_RESCHEDULED', 'Call Rescheduled'), ('CALL_CANCELED', 'Call Canceled'), ('CALL_UPDATED', 'Call Updated'), ('CALL_REASSIGNED', 'Call Reassigned'), ('MENTIONED', 'Mentioned in a note'), ('HANDED_OVER', 'Work handed over'), ('ENDPOINTS_FAILING', 'Webhook endpoints need attention')]


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0009_older_subject_index'),
    ]

    operations = [
        migrations.AlterField(
            model_name='mailpreference',
            name='muted',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=KINDS, max_length=20), blank=True, default=list, size=None, verbose_name='muted e-mail notifications'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=KINDS, editable=False, max_length=20),
        ),
    ]
