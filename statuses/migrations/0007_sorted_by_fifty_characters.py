from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('statuses', '0006_board'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='status',
            options={'base_manager_name': 'unscoped', 'default_manager_name': 'unscoped', 'ordering': [models.Func('name', accents="'[\\u0300-\\u036F]'", template="casefold(regexp_replace(normalize(left(%(expressions)s, 50), NFKD), %(accents)s, '', 'g') COLLATE pg_unicode_fast)"), 'id'], 'verbose_name_plural': 'statuses'},
        ),
    ]
