from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('organizations', '0029_composite_keys_only'),
    ]

    operations = [
        migrations.AddField(
            model_name='securitynotice',
            name='email',
            field=models.EmailField(blank=True, db_default='', default='', help_text="Empty in rows from before this column: the account's address.", max_length=254),
        ),
    ]
