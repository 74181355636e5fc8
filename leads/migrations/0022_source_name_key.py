from django.db import migrations, models

# A large table's index takes longer than a request may, and waits for whoever is writing.
PATIENTLY = "SET statement_timeout = 0; SET lock_timeout = 0"
HASTILY = "RESET statement_timeout; RESET lock_timeout"
# Of several rows whose names are one now, only the oldest gets the key, by which it is found; the others stay.
FILL = """
WITH keyed AS (
    SELECT DISTINCT ON (organization_id, key) id, key
    FROM (
        SELECT id, organization_id, created_at, casefold(normalize(name, NFC) COLLATE pg_unicode_fast) AS key
        FROM leads_source
    ) AS folded
    ORDER BY organization_id, key, created_at, id
)
UPDATE leads_source AS named SET name_key = keyed.key FROM keyed WHERE keyed.id = named.id
"""
INDEX = 'CREATE UNIQUE INDEX CONCURRENTLY one_source_per_name_key ON leads_source (organization_id, name_key)'


class Migration(migrations.Migration):

    atomic = False  # the index is made while the table is in use

    dependencies = [
        ('leads', '0021_erasing_indexes'),
    ]

    operations = [
        migrations.AddField(
            model_name='source',
            name='name_key',
            field=models.CharField(editable=False, max_length=765, null=True),
        ),
        migrations.RunSQL(PATIENTLY, HASTILY),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(INDEX, 'DROP INDEX CONCURRENTLY one_source_per_name_key')],
            state_operations=[
                migrations.AddConstraint(
                    model_name='source',
                    constraint=models.UniqueConstraint(models.F('organization'), models.F('name_key'), name='one_source_per_name_key'),
                ),
            ],
        ),
        migrations.RunSQL(HASTILY, PATIENTLY),
    ]
