from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('leads', '0005_plain_texts'),
    ]

    operations = [
        migrations.AddField(
            model_name='lead',
            name='is_first_name_from_email',
            field=models.BooleanField(editable=False, null=True),
        ),
    ]
