import django.core.validators
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

import foundation.db.timestamps


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0021_editable_notes'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='lead_reminder_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='eventtype',
            name='reminder_hours',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='When leads get the reminder, if Messages to leads has one. 0 for none. Counts for calls that are booked or moved from now on.', validators=[django.core.validators.MaxValueValidator(168)], verbose_name='reminder, hours before'),
        ),
        AddConstraintNotValid(
            model_name='eventtype',
            constraint=models.CheckConstraint(condition=models.Q(('reminder_hours__lte', 168)), name='reminder_is_at_most_168_hours_before'),
        ),
    ]
