import foundation.db.timestamps
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0011_endpoints_by_api'),
    ]

    operations = [
        migrations.AlterField(
            model_name='endpoint',
            name='paused_until',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, help_text='Paused until then: the host has reached its limit of requests per minute.', null=True),
        ),
    ]
