import foundation.db.timestamps
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('optins', '0004_long_traffic'),
    ]

    operations = [
        migrations.AddField(
            model_name='optin',
            name='synced_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
    ]
