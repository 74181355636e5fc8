from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"


class Migration(migrations.Migration):

    atomic = False  # the indexes are made while the table is in use

    dependencies = [
        ('leads', '0017_possible_duplicates'),
    ]

    operations = [
        migrations.RunSQL(PATIENTLY, HASTILY),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(models.F('organization'), models.Func('email', function='leads_email_key'), name='lead_email_key'),
        ),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(models.F('organization'), models.Func('first_name', 'last_name', function='leads_name_key'), name='lead_name_key'),
        ),
        AddIndexConcurrently(
            model_name='lead',
            index=models.Index(condition=models.Q(('phone_e164__isnull', False)), fields=['organization', 'phone_e164'], name='lead_phone'),
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
