from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0034_import_undo'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='import',
            index=models.Index(condition=models.Q(('state', 'UNDOING')), fields=['organization'], name='import_undoing'),
        ),
    ]
