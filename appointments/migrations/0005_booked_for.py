import foundation.db.timestamps
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0004_second_wall'),
    ]

    operations = [
        # Null means that the appointment has not been moved: the present time of every existing row is the booked one.
        # So no row is rewritten, and rows that the previous release inserts meanwhile are right, too.
        migrations.AddField(
            model_name='appointment',
            name='booked_for',
            field=foundation.db.timestamps.MillisecondDateTimeField(editable=False, null=True),
        ),
    ]
