from django.db import migrations

import foundation.db.timestamps


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0025_calendar_secret'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='last_seen_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
    ]
