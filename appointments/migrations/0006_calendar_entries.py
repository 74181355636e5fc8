from urllib.parse import urlsplit

import django.contrib.postgres.fields
import django.core.validators
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0005_booked_for'),
    ]

    operations = [
        migrations.AddField(
            model_name='eventtype',
            name='duration_minutes',
            field=models.PositiveSmallIntegerField(db_default=60, default=60, help_text='How long the entry in calendars is. Entries that were sent already keep their length.', validators=[django.core.validators.MinValueValidator(5), django.core.validators.MaxValueValidator(1440)], verbose_name='duration in minutes'),
        ),
        migrations.AddField(
            model_name='appointment',
            name='invited',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), editable=False, null=True, size=None),
        ),
        # Every appointment that the previous release has booked, or books while this one starts, was invited under this
        # host. The column's default stays, although the new release always writes its own value.
        migrations.AddField(
            model_name='appointment',
            name='calendar_domain',
            field=models.CharField(db_default=f'{urlsplit(settings.BASE_URL).hostname}', default='pipeline-backend', editable=False, max_length=255),
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='appointment',
                    name='calendar_domain',
                    field=models.CharField(default='pipeline-backend', editable=False, max_length=255),
                ),
            ],
        ),
    ]
