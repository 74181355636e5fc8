import foundation.db.timestamps
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0036_editable_notes'),
    ]

    operations = [
        migrations.AddField(
            model_name='lead',
            name='unsubscribed_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
    ]
