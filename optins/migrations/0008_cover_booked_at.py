from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for transactions that write.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('optins', '0007_booked_at'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='optin',
            index=models.Index(
                fields=['organization', '-created_at', '-id'],
                include=['lead', 'booked_at'],
                name='opt_in_newest_covering',
            ),
        ),
        RemoveIndexConcurrently(model_name='optin', name='opt_in_newest'),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
