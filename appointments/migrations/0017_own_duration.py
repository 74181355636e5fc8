from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('appointments', '0016_deleted_notes'),
    ]

    operations = [
        migrations.AddField(
            model_name='appointment',
            name='own_duration_minutes',
            field=models.PositiveSmallIntegerField(editable=False, null=True),
        ),
    ]
