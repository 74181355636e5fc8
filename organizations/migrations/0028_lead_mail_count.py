from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0027_verification'),
    ]

    operations = [
        migrations.AddField(
            model_name='organization',
            name='lead_mail_count',
            field=models.PositiveIntegerField(db_default=0, default=0, editable=False),
        ),
    ]
