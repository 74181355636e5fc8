import django.db.models.functions.datetime
from django.db import migrations, models

import foundation.db.timestamps


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0021_sync_and_erase_scopes'),
    ]

    operations = [
        migrations.AddField(
            model_name='organization',
            name='is_test',
            field=models.BooleanField('test organization', db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='organization',
            name='time_zone',
            field=models.CharField(db_default='UTC', default='UTC', help_text='IANA name, such as Europe/Berlin. New members begin with it, and integrations can read it.', max_length=64),
        ),
        migrations.AddField(
            model_name='membership',
            name='updated_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(db_default=django.db.models.functions.datetime.Now(), default=foundation.db.timestamps.now, editable=False),
        ),
    ]
