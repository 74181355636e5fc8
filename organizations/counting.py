"""Counting rows: triggers keep `RowCount`, so that a list's `total` is exact and costs the same at any size.

A migration gives a table its triggers and counts what is there: `counted("leads_lead")`.
"""

from typing import Any

from django.db import migrations

PARTS = 16

# A connection counts in a part of its own, as far as there are parts: no two of up to sixteen wait for each other.
FUNCTION = f"""
CREATE OR REPLACE FUNCTION organizations_count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM organizations_rowcount WHERE counted = TG_TABLE_NAME;
        RETURN NULL;
    END IF;
    INSERT INTO organizations_rowcount (created_at, organization_id, counted, part, rows)
    SELECT now(), organization_id, TG_TABLE_NAME, mod(pg_backend_pid(), {PARTS}), CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
    FROM changed GROUP BY organization_id ORDER BY organization_id
    ON CONFLICT (organization_id, counted, part) DO UPDATE SET rows = organizations_rowcount.rows + excluded.rows;
    RETURN NULL;
END
$$;
"""  # noqa: S608  # the number is ours

# Updates of a count stay in its page, and the dead ones among them are cleared away by whoever reads it.
ROOM = """
ALTER TABLE organizations_rowcount SET (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500)
"""

# Making a trigger waits until all who are writing have ended; whoever writes afterwards is counted by it.
TRIGGER = "CREATE OR REPLACE TRIGGER {name} AFTER {event} ON {table} {rows} FOR EACH STATEMENT EXECUTE FUNCTION organizations_count_rows()"
TRIGGERS = [
    {"name": "count_inserted", "event": "INSERT", "rows": "REFERENCING NEW TABLE AS changed"},
    {"name": "count_deleted", "event": "DELETE", "rows": "REFERENCING OLD TABLE AS changed"},
    {"name": "count_truncated", "event": "TRUNCATE", "rows": ""},
]
NO_TRIGGER = "DROP TRIGGER IF EXISTS {name} ON {table}"
NO_COUNT = "DELETE FROM organizations_rowcount WHERE counted = '{table}'"

# One statement sees one moment: the rows that are there, less those that the triggers have counted by then. Nobody waits.
UNCOUNTED = """
INSERT INTO organizations_rowcount (created_at, organization_id, counted, part, rows)
SELECT now(), organization_id, '{table}', {part}, coalesce(present.rows, 0) - coalesce(known.rows, 0)
FROM (SELECT organization_id, count(*) AS rows FROM {table} GROUP BY organization_id) AS present
FULL JOIN (SELECT organization_id, sum(rows) AS rows FROM organizations_rowcount WHERE counted = '{table}' GROUP BY organization_id) AS known
    USING (organization_id)
ON CONFLICT (organization_id, counted, part) DO UPDATE SET rows = organizations_rowcount.rows + excluded.rows
"""


def counted(table: str) -> list[migrations.RunSQL]:
    """Operations of a migration (`atomic = False`) from which on a table's rows are counted; safe to repeat, and while it is in use."""
    triggers: list[Any] = [TRIGGER.format(table=table, **trigger) for trigger in TRIGGERS]
    none: list[Any] = [NO_TRIGGER.format(table=table, **trigger) for trigger in TRIGGERS]
    count: list[Any] = ["SET statement_timeout = 0", UNCOUNTED.format(table=table, part=PARTS), "RESET statement_timeout"]
    return [migrations.RunSQL(triggers, [*none, NO_COUNT.format(table=table)]), migrations.RunSQL(count, migrations.RunSQL.noop)]
