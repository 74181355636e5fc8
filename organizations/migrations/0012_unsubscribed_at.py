import foundation.db.timestamps
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0011_invite_anew'),
    ]

    operations = [
        migrations.AddField(
            model_name='invitation',
            name='unsubscribed_at',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True, verbose_name='asked for no more invitations'),
        ),
    ]
