"""Operations that keep an exact row count of a table in `organizations_rowcount`.

Migrations that have been released use this module: never change what it does. A new version gets a module of its own.
"""

from django.db import migrations

SHARDS = 16

# Counts are split over 16 rows by the backend's process id, so that concurrent writers rarely lock the same row.
CREATE_FUNCTION = f"""
CREATE OR REPLACE FUNCTION organizations_count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM organizations_rowcount WHERE counted = TG_TABLE_NAME;
        RETURN NULL;
    END IF;
    INSERT INTO organizations_rowcount (created_at, organization_id, counted, part, rows)
    SELECT now(), organization_id, TG_TABLE_NAME, mod(pg_backend_pid(), {SHARDS}), CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed GROUP BY organization_id ORDER BY organization_id
    ON CONFLICT (organization_id, counted, part) DO UPDATE SET rows = organizations_rowcount.rows + excluded.rows;
    RETURN NULL;
END
$$;
"""  # noqa: S608  # the number is a constant
DROP_FUNCTION = "DROP FUNCTION organizations_count_rows()"

# Free space in each page keeps an updated count in its page, and frequent vacuuming removes its old versions.
SET_STORAGE_PARAMETERS = """
ALTER TABLE organizations_rowcount SET (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
"""

CREATE_TRIGGER = """
CREATE OR REPLACE TRIGGER {name} AFTER {event} ON {table} {rows}
FOR EACH STATEMENT EXECUTE FUNCTION organizations_count_rows()
"""
TRIGGERS = [
    {"name": "count_inserted", "event": "INSERT", "rows": "REFERENCING NEW TABLE AS changed"},
    {"name": "count_deleted", "event": "DELETE", "rows": "REFERENCING OLD TABLE AS changed"},
    {"name": "count_truncated", "event": "TRUNCATE", "rows": ""},
]
DROP_TRIGGER = "DROP TRIGGER IF EXISTS {name} ON {table}"
DELETE_COUNTS = "DELETE FROM organizations_rowcount WHERE counted = '{table}'"

# One statement sees one snapshot: existing rows minus those that the triggers have counted by then. It locks nobody out.
BACKFILL = """
INSERT INTO organizations_rowcount (created_at, organization_id, counted, part, rows)
SELECT now(), organization_id, '{table}', {shard}, coalesce(present.rows, 0) - coalesce(counted.rows, 0)
FROM (SELECT organization_id, count(*) AS rows FROM {table} GROUP BY organization_id) AS present
FULL JOIN (
    SELECT organization_id, sum(rows) AS rows FROM organizations_rowcount WHERE counted = '{table}' GROUP BY organization_id
) AS counted USING (organization_id)
ON CONFLICT (organization_id, counted, part) DO UPDATE SET rows = organizations_rowcount.rows + excluded.rows
"""


def add_row_count_triggers(table: str) -> list[migrations.RunSQL]:
    """Return operations that count the table's rows from now on and then add the existing ones.

    The migration must set `atomic = False`: creating a trigger waits for running writers to commit, and only a later
    transaction may count the rows they wrote. The operations can be repeated, and run while the table is in use.
    """
    create: list[str] = [CREATE_TRIGGER.format(table=table, **trigger) for trigger in TRIGGERS]
    drop: list[str] = [DROP_TRIGGER.format(table=table, **trigger) for trigger in TRIGGERS]
    backfill = ["SET statement_timeout = 0", BACKFILL.format(table=table, shard=SHARDS), "RESET statement_timeout"]
    return [
        migrations.RunSQL(create, [*drop, DELETE_COUNTS.format(table=table)]),
        migrations.RunSQL(backfill, migrations.RunSQL.noop),
    ]
