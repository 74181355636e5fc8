"""The health part of an endpoint's page: success rate, latency, and the last attempts."""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField
from django.template.loader import render_to_string

from pipeline_backend.db.timestamps import now
from webhooks.models import Attempt, Endpoint

PERIODS = {"Last 24 hours": timedelta(days=1), "Last 7 days": timedelta(days=7)}
ATTEMPTS_SHOWN = 60

# Pixels. The width and the height of the bars are repeated in the template.
BAR_SPACING = 8
CHART_HEIGHT = 48
MIN_BAR_HEIGHT = 3


class Percentile(Aggregate):
    """A continuous percentile of a column; `share` is the percentile as a fraction."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@dataclass(frozen=True)
class AttemptStatistics:
    """The attempts of a period: how many, how many succeeded, and the receiver's latency in milliseconds."""

    count: int
    succeeded: int
    median_ms: int | None
    percentile_95_ms: int | None

    @property
    def success_percent(self) -> str:
        """The success rate with one decimal, or nothing if there was no attempt."""
        # Rounded down, so that it reads 100 only if every attempt succeeded.
        return f"{int(1000 * self.succeeded / self.count) / 10:g}" if self.count else ""


@dataclass(frozen=True)
class Bar:
    """One attempt in the sparkline: its position and height in pixels, and its tooltip."""

    x: int
    y: int
    height: int
    is_failure: bool
    title: str


def render_health(endpoint: Endpoint) -> str:
    """Render the endpoint's statistics and sparkline."""
    attempts = last_attempts(endpoint)
    periods = [(label, attempt_statistics(endpoint, period)) for label, period in PERIODS.items()]
    return render_to_string(
        "webhooks/health.html",
        {
            "attempts": attempts,
            "periods": periods,
            "bars": sparkline(attempts),
            "width": max(1, len(attempts)) * BAR_SPACING,
        },
    )


def attempt_statistics(endpoint: Endpoint, period: timedelta) -> AttemptStatistics:
    """Return the statistics of the endpoint's attempts in the period before now."""
    values = (
        Attempt.objects.of(endpoint.organization)
        .filter(delivery__endpoint=endpoint, created_at__gte=now() - period)
        .aggregate(
            count=Count("pk"),
            succeeded=Count("pk", filter=Q(error="")),
            median=Percentile("duration_ms", share="0.5"),
            percentile_95=Percentile("duration_ms", share="0.95"),
        )
    )
    # Without attempts the percentiles are NULL.
    median, percentile_95 = (
        None if values[name] is None else round(values[name]) for name in ("median", "percentile_95")
    )
    return AttemptStatistics(values["count"], values["succeeded"], median, percentile_95)


def last_attempts(endpoint: Endpoint) -> list[Attempt]:
    """Return the newest attempts, oldest of them first."""
    newest = (
        Attempt.objects.of(endpoint.organization)
        .filter(delivery__endpoint=endpoint)
        .order_by("-created_at", "-id")[:ATTEMPTS_SHOWN]
    )
    return list(newest)[::-1]


def sparkline(attempts: list[Attempt]) -> list[Bar]:
    """Return one bar per attempt, the newest at the right end, scaled to the longest duration."""
    longest = max((attempt.duration_ms for attempt in attempts), default=0) or 1
    bars = []
    for index, attempt in enumerate(attempts):
        # A minimum height keeps the bar of a fast attempt visible.
        height = max(MIN_BAR_HEIGHT, round(CHART_HEIGHT * attempt.duration_ms / longest))
        result = attempt.error or attempt.status_code
        bars.append(
            Bar(
                x=index * BAR_SPACING,
                y=CHART_HEIGHT - height,
                height=height,
                is_failure=bool(attempt.error),
                title=f"{attempt.created_at:%d %b %H:%M:%S} UTC: {result}, {attempt.duration_ms} ms",
            )
        )
    return bars
