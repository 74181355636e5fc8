from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.fields.json import KeyTransform

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('notifications', '0008_subject_index'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='notification',
            index=models.Index(
                KeyTransform('appointment_id', 'context'), condition=models.Q(('subject_id__isnull', True)), name='notification_older_subject'
            ),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
