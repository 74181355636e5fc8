"""The limit on requests to one receiving host, over all endpoints of an organization (docs/interface.md, W25).

Without it, an organization with many endpoints at one host could turn each of its changes into that many requests to a
server that may not even be its own. Deliveries are counted when they are claimed, for 60 seconds, in one row for each
organization and host, whose lock makes concurrent claims take turns. Deliveries over the limit wait: the endpoint is
paused until the oldest counted ones are more than 60 seconds old.
"""

from datetime import timedelta

import orjson
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from foundation.egress import receiving_host
from foundation.outbox import Limit
from webhooks.models import Endpoint

WINDOW_SECONDS = 60

# Locks the row, which is inserted first if there is none. The clock is read once the lock is held.
LOCK_HOST = """
INSERT INTO webhooks_receivinghost (id, organization_id, created_at, host, recent, used_at)
VALUES (uuidv7(), %s, clock_timestamp(), %s, '[]', clock_timestamp())
ON CONFLICT (organization_id, host) DO UPDATE SET used_at = excluded.used_at
RETURNING recent::text, floor(extract(epoch FROM clock_timestamp()))::bigint
"""

SAVE_COUNTS = "UPDATE webhooks_receivinghost SET recent = %s WHERE organization_id = %s AND host = %s"


def lock_counts(endpoint: Endpoint) -> tuple[dict[int, int], int]:
    """Lock the row of the endpoint's host. Return the deliveries in each of the last 60 seconds, and this second."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_HOST, [endpoint.organization_id, receiving_host(endpoint.url)])
        recent, second = cursor.fetchone()
    # A second is counted until 60 more have passed since its end. Those in the future are from before the clock was set
    # back, and would otherwise be counted for too long.
    oldest = second - WINDOW_SECONDS
    return {at: count for at, count in orjson.loads(recent) if oldest <= at <= second}, second


def save_counts(endpoint: Endpoint, counts: dict[int, int]) -> None:
    recent = orjson.dumps([*counts.items()]).decode()
    with connection.cursor() as cursor:
        cursor.execute(SAVE_COUNTS, [recent, endpoint.organization_id, receiving_host(endpoint.url)])


class ReceivingHostLimit(Limit[Endpoint]):
    """Counts an endpoint's deliveries at its host. Locks the host's row."""

    pause_field = "paused_until"

    def take(self, endpoint: Endpoint, count: int) -> int:
        """Count as many deliveries as the limit allows, and return how many. If not all, pause the endpoint."""
        counts, second = lock_counts(endpoint)
        taken = max(0, min(settings.WEBHOOKS_PER_HOST_PER_MINUTE - sum(counts.values()), count))
        if taken:
            counts[second] = counts.get(second, 0) + taken
        if taken < count:
            wait = min(counts) + WINDOW_SECONDS + 1 - second
            rows = Endpoint.objects.of(endpoint.organization_id).filter(pk=endpoint.pk)
            rows.update(paused_until=Now() + timedelta(seconds=wait))
        save_counts(endpoint, counts)
        return taken

    def give_back(self, endpoint: Endpoint, count: int) -> None:
        counts, _ = lock_counts(endpoint)
        # The claim is one of the latest. Which of them it was makes little difference.
        for second in sorted(counts, reverse=True):
            removed = min(count, counts[second])
            counts[second] -= removed
            count -= removed
        save_counts(endpoint, {second: counted for second, counted in counts.items() if counted})
