from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0022_test_organizations'),
    ]

    operations = [
        migrations.AddField(
            model_name='membership',
            name='working_hours',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='days_off',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='buffer_minutes',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='pause between calls'),
        ),
    ]
