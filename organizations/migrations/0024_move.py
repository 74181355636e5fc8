from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0023_working_hours'),
    ]

    operations = [
        migrations.AddField(
            model_name='organization',
            name='move',
            field=models.CharField(blank=True, choices=[('OUT', 'Being moved to another installation'), ('IN', 'Being imported')], db_default='', default='', editable=False, max_length=3),
        ),
    ]
