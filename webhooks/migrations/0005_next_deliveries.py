from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # indexes are made while the table is in use

    dependencies = [
        ('webhooks', '0004_second_wall'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'PENDING')), fields=['endpoint', 'is_replay', 'next_attempt_at', 'id'], name='delivery_next'),
        ),
        RemoveIndexConcurrently(model_name='delivery', name='delivery_due'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
