from django.db import migrations

# A name in use stays, and so do all but the first of several that would become one: their leads show them.
NORMALIZE = r"""
WITH normalized AS (
    SELECT id, organization_id, name, trim(regexp_replace(name, '\s+', ' ', 'g')) AS new_name FROM leads_source
), renamed AS (
    SELECT DISTINCT ON (organization_id, lower(new_name)) id, new_name
    FROM normalized
    WHERE new_name NOT IN (name, '') AND NOT EXISTS (
        SELECT FROM leads_source AS other
        WHERE other.organization_id = normalized.organization_id AND other.id <> normalized.id
            AND lower(other.name) = lower(normalized.new_name)
    )
    ORDER BY organization_id, lower(new_name), id
)
UPDATE leads_source AS source SET name = new_name FROM renamed WHERE source.id = renamed.id
"""


class Migration(migrations.Migration):
    """Give sources the names that the next opt-ins find them by: without unneeded white space."""

    dependencies = [
        ('leads', '0008_touch_point_index'),
    ]

    operations = [
        migrations.RunSQL(NORMALIZE, migrations.RunSQL.noop),
    ]
