from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('leads', '0002_counted'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(fields=['organization', '-updated_at', '-id'], include=['created_at'], name='lead_updated_covering'),
        ),
        RemoveIndexConcurrently(model_name='lead', name='lead_updated'),
    ]
