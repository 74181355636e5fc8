from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0030_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='country',
            field=models.CharField(blank=True, db_default='', default='', max_length=2),
        ),
        migrations.AddField(
            model_name='import',
            name='numbers',
            field=models.CharField(blank=True, choices=[('.', '1,234.56'), (',', '1.234,56')], db_default='', default='', max_length=1),
        ),
        migrations.AddField(
            model_name='import',
            name='dates',
            field=models.CharField(blank=True, choices=[('DMY', 'day first: 31/12/2027'), ('MDY', 'month first: 12/31/2027')], db_default='', default='', max_length=3),
        ),
        migrations.AddField(
            model_name='import',
            name='time_of_day',
            field=models.TimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='import',
            name='values',
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
    ]
