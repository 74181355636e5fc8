"""Turns: which organization's erasures, imports and retention a worker works on next, and for how long.

An organization has one turn at a time, whatever the number of workers, and the one whose last turn is longest ago has
the next. A turn is a lease: the organization's row in `ImportTurn` says when it expires unless the worker extends it,
so that the imports of a killed worker wait for half a minute. After a turn, the row says when it ended.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection
from uuid_utils.compat import uuid7

from organizations.models import Organization

TURN_SECONDS = 10  # after which a turn ends with the batch that is being done
EXTEND_SECONDS = 2  # how often a worker extends its turn, and looks whether the import has been canceled
LEASE_SECONDS = 30

WAITING = """
WITH work AS (
    SELECT import.organization_id, import.updated_at AS since
    FROM leads_import AS import
    JOIN organizations_organization AS organization ON organization.id = import.organization_id
    WHERE organization.is_active AND (
        import.state IN ('READING', 'CHECKING', 'IMPORTING')
        OR import.state = 'UNDOING'
        -- Its rows are to be deleted.
        OR (import.size > 0 AND import.rows_until <= clock_timestamp())
    )
    UNION ALL
    SELECT organization_id, updated_at FROM leads_erasure
    WHERE finished_at IS NULL AND updated_at <= clock_timestamp() - make_interval(mins => 1)
    UNION ALL
    SELECT retention.organization_id, retention.next_run_at
    FROM leads_leadretention AS retention
    JOIN organizations_organization AS organization ON organization.id = retention.organization_id
    WHERE organization.is_active AND retention.days IS NOT NULL AND retention.next_run_at <= clock_timestamp()
)
SELECT work.organization_id
FROM work LEFT JOIN leads_importturn AS turn ON turn.organization_id = work.organization_id
WHERE (turn.expires_at IS NULL OR turn.expires_at <= clock_timestamp())
    AND NOT EXISTS (SELECT FROM organizations_organization WHERE id = work.organization_id AND move <> '')
GROUP BY work.organization_id, turn.expires_at
ORDER BY turn.expires_at NULLS FIRST, min(work.since)
"""
BEGIN = """
INSERT INTO leads_importturn AS turn (id, created_at, organization_id, expires_at)
VALUES (%s, clock_timestamp(), %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (organization_id) DO UPDATE SET expires_at = excluded.expires_at
WHERE turn.expires_at <= clock_timestamp()
RETURNING expires_at
"""
# The expiry identifies the turn: if another worker has begun one since, it is another time.
EXTEND = """
UPDATE leads_importturn SET expires_at = clock_timestamp() + make_interval(secs => %s)
WHERE organization_id = %s AND expires_at = %s
RETURNING expires_at
"""
# Not rounded up, so that the next turn can begin at once.
END = """
UPDATE leads_importturn SET expires_at = date_trunc('milliseconds', clock_timestamp())
WHERE organization_id = %s AND expires_at = %s
"""


class Overtaken(Exception):
    """Another worker has the turn now, or the import has been canceled."""


@dataclass
class Turn:
    organization: Organization
    expires_at: datetime
    started: float = field(default_factory=time.monotonic)
    extended: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        return time.monotonic() - self.started >= TURN_SECONDS

    def restart(self) -> None:
        self.started = time.monotonic()

    def extend(self) -> bool:
        """Extend the lease if it is time to; return whether it was extended. Raises Overtaken if it is lost."""
        if time.monotonic() - self.extended < EXTEND_SECONDS:
            return False
        self.extended = time.monotonic()
        with connection.cursor() as cursor:
            cursor.execute(EXTEND, [LEASE_SECONDS, self.organization.pk, self.expires_at])
            row = cursor.fetchone()
        if row is None:
            raise Overtaken
        [self.expires_at] = row
        return True

    def keep(self) -> bool:
        """Extend the lease if it is time to; return whether the turn is over. Raises Overtaken if it is lost."""
        self.extend()
        return self.is_over

    def end(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(END, [self.organization.pk, self.expires_at])


def begin_turn() -> Turn | None:
    """Begin the turn of the organization whose last one is longest ago. Returns None if none waits for a turn."""
    for organization in waiting_organizations():
        with connection.cursor() as cursor:
            cursor.execute(BEGIN, [uuid7(), organization, LEASE_SECONDS])
            row = cursor.fetchone()
        if row:  # otherwise another worker has just begun it
            return Turn(Organization.objects.get(pk=organization), row[0])
    return None


def waiting_organizations() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return [organization for (organization,) in cursor.fetchall()]
