"""How an endpoint has been doing: for its page in the admin."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField

from pipeline_backend.moments import now
from webhooks.models import Attempt, Endpoint

DAY, WEEK = timedelta(days=1), timedelta(days=7)


class Percentile(Aggregate):
    """A continuous percentile of a column."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@dataclass(frozen=True)
class Health:
    """Attempts over a time: how many, how many succeeded, and how long the receiver took (ms)."""

    attempts: int
    succeeded: int
    median_ms: int | None
    slowest_ms: int | None

    @property
    def success_rate(self) -> float | None:
        """From 0 to 1; None without attempts."""
        return self.succeeded / self.attempts if self.attempts else None


def health(endpoint: Endpoint, over: timedelta) -> Health:
    """The endpoint's attempts of the last day or week. `slowest_ms` is the 95th percentile."""
    tries = Attempt.objects.of(endpoint.organization).filter(delivery__endpoint=endpoint, created_at__gte=now() - over)
    facts = tries.aggregate(
        attempts=Count("pk"),
        succeeded=Count("pk", filter=Q(error="")),
        median=Percentile("duration_ms", share="0.5"),
        slow=Percentile("duration_ms", share="0.95"),
    )
    median, slow = (None if facts[name] is None else round(facts[name]) for name in ("median", "slow"))
    return Health(facts["attempts"], facts["succeeded"], median, slow)


def last_attempts(endpoint: Endpoint, most: int = 60) -> list[Attempt]:
    """The newest attempts, oldest first: what the sparkline draws."""
    tries = Attempt.objects.of(endpoint.organization).filter(delivery__endpoint=endpoint).order_by("-created_at", "-id")[:most]
    return list(tries)[::-1]
