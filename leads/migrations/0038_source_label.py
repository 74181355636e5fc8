from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0037_unsubscribed_at'),
    ]

    operations = [
        migrations.AddField(
            model_name='source',
            name='label',
            field=models.CharField(
                blank=True,
                db_default='',
                default='',
                help_text='What your team reads instead of the name. Forms, bookings and the API keep the name.',
                max_length=100,
            ),
        ),
    ]
