"""How an endpoint has been doing: for its page in the admin."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField
from django.template.loader import render_to_string

from pipeline_backend.db.timestamps import now
from webhooks.models import Attempt, Endpoint

DAY, WEEK = timedelta(days=1), timedelta(days=7)
SHOWN, STEP, HEIGHT = 60, 8, 48


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
    def success_percent(self) -> str:
        """In percent; 100 only if all succeeded."""
        return f"{int(1000 * self.succeeded / self.attempts) / 10:g}" if self.attempts else ""


@dataclass(frozen=True)
class Bar:
    """One attempt in the sparkline: where it stands (pixels), and what it says."""

    x: int
    y: int
    height: int
    is_failure: bool
    title: str


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


def render(endpoint: Endpoint) -> str:
    """The part of the endpoint's page that tells how it has been doing."""
    tries = last_attempts(endpoint)
    spans = [("The last 24 hours", health(endpoint, DAY)), ("The last 7 days", health(endpoint, WEEK))]
    return render_to_string(
        "webhooks/health.html",
        {"tries": tries, "spans": spans, "bars": bars(tries), "width": max(1, len(tries)) * STEP},
    )


def last_attempts(endpoint: Endpoint) -> list[Attempt]:
    """The newest attempts, oldest first."""
    tries = (
        Attempt.objects.of(endpoint.organization)
        .filter(delivery__endpoint=endpoint)
        .order_by("-created_at", "-id")[:SHOWN]
    )
    return list(tries)[::-1]


def bars(tries: list[Attempt]) -> list[Bar]:
    """The sparkline, the newest at the right end."""
    longest = max((one.duration_ms for one in tries), default=0) or 1
    return [
        bar(one, place * STEP, max(3, round(HEIGHT * one.duration_ms / longest))) for place, one in enumerate(tries)
    ]


def bar(one: Attempt, x: int, height: int) -> Bar:
    """One attempt."""
    return Bar(
        x,
        HEIGHT - height,
        height,
        bool(one.error),
        f"{one.created_at:%d %b %H:%M:%S} UTC: {one.error or one.status_code}, {one.duration_ms} ms",
    )
