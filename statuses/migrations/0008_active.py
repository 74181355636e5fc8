from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('statuses', '0007_sorted_by_fifty_characters'),
    ]

    operations = [
        migrations.AlterField(
            model_name='status',
            name='is_active',
            field=models.BooleanField(db_default=True, default=True, help_text="A status that is not active can't be chosen. Leads and appointments that have it keep it.", verbose_name='active'),
        ),
    ]
