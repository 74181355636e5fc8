"""Transaction ids of events after a restore.

PostgreSQL's transaction ids, which order the events feed, start again in another cluster. Restored there from a dump,
events would be in the future: the feed would not show them, and new events would come before them.
"""

from typing import Any

from django.apps.registry import Apps
from django.db import connection, transaction

# Each organization's highest id is the end of an index. An event that this transaction sees, and has not recorded
# itself, has an id below the snapshot's end if the id is of this cluster.
HAS_FUTURE_IDS = """
SELECT EXISTS (
    SELECT
    FROM organizations_organization AS organization
    CROSS JOIN LATERAL (
        SELECT max(transaction) AS newest FROM webhooks_event WHERE organization_id = organization.id
    ) AS events
    WHERE newest >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
        AND newest > coalesce(pg_current_xact_id_if_assigned()::text::bigint, 0)
)
"""
# All ids are moved by the same number, so the order stays, and what readers pass as `after` keeps its place in it. New
# ids are positive.
MOVE_INTO_PAST = "UPDATE webhooks_event SET transaction = transaction - (SELECT max(transaction) FROM webhooks_event)"


def has_future_ids() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(HAS_FUTURE_IDS)
        return bool(cursor.fetchone()[0])


@transaction.atomic
def move_into_past() -> int:
    """Move the ids of all events below those of this cluster, and return how many events there are."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(MOVE_INTO_PAST)
        return int(cursor.rowcount)


def renumber_after_migrate(verbosity: int, apps: Apps | None = None, **_: Any) -> None:
    """Repair the ids after a restore. Receiver of Django's `post_migrate`.

    `apps` are the models as migrated: `flush` passes none, and an older state may lack the table.
    """
    if apps is None or "event" not in apps.all_models["webhooks"]:
        return
    if has_future_ids():
        count = move_into_past()
        if verbosity:
            print(f"Restored from another PostgreSQL cluster: renumbered {count:,} events.")  # noqa: T201
