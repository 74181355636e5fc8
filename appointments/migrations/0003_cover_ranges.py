from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('appointments', '0002_counted'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(fields=['organization', '-updated_at', '-id'], include=['created_at'], name='appointment_updated_covering'),
        ),
        AddIndexConcurrently(
            model_name='appointment',
            index=models.Index(fields=['organization', '-schedule_time', '-id'], include=['created_at'], name='appointment_scheduled_covering'),
        ),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_updated'),
        RemoveIndexConcurrently(model_name='appointment', name='appointment_scheduled'),
    ]
