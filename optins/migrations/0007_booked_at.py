from django.db import migrations

import foundation.db.timestamps


class Migration(migrations.Migration):

    dependencies = [
        ('optins', '0006_composite_keys_only'),
    ]

    operations = [
        migrations.AddField(
            model_name='optin',
            name='booked_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
    ]
