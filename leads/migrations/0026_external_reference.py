from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"
INDEX = 'CREATE UNIQUE INDEX CONCURRENTLY one_lead_per_reference ON leads_lead (organization_id, external_reference)'


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0025_deleted_notes'),
    ]

    operations = [
        migrations.AddField(
            model_name='lead',
            name='external_reference',
            field=models.CharField(editable=False, max_length=255, null=True),
        ),
        migrations.RunSQL(PATIENTLY, HASTILY),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(INDEX, 'DROP INDEX CONCURRENTLY one_lead_per_reference')],
            state_operations=[
                migrations.AddConstraint(
                    model_name='lead',
                    constraint=models.UniqueConstraint(models.F('organization'), models.F('external_reference'), name='one_lead_per_reference'),
                ),
            ],
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
