from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0026_external_reference'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='reasons',
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
        migrations.AddField(
            model_name='import',
            name='format',
            field=models.CharField(db_default=',', default=',', editable=False, max_length=4),
        ),
        migrations.AddField(
            model_name='importrow',
            name='is_partial',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
