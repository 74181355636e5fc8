"""The health part of an endpoint's page: success rate, latency, and the last attempts."""

from datetime import timedelta

from django.db.models import Count, Q, QuerySet
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField
from django.template.loader import render_to_string
from django.utils import timezone

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


def render_health(endpoint: Endpoint) -> str:
    """Render the endpoint's statistics, and its last attempts as a sparkline."""
    rows = Attempt.objects.of(endpoint.organization).filter(delivery__endpoint=endpoint)
    attempts = list(rows.order_by("-created_at", "-id")[:ATTEMPTS_SHOWN])[::-1]
    context = {
        "attempts": attempts,
        "periods": [(label, attempt_statistics(rows, period)) for label, period in PERIODS.items()],
        "bars": sparkline(attempts),
        "width": max(1, len(attempts)) * BAR_SPACING,
    }
    return render_to_string("webhooks/health.html", context)


def attempt_statistics(attempts: QuerySet[Attempt], period: timedelta) -> dict[str, int | str]:
    """Return how many attempts there were in the period before now and, if any, success rate and latency in ms."""
    values = attempts.filter(created_at__gte=now() - period).aggregate(
        count=Count("pk"),
        succeeded=Count("pk", filter=Q(error="")),
        median_ms=Percentile("duration_ms", share="0.5"),
        percentile_95_ms=Percentile("duration_ms", share="0.95"),
    )
    if not values["count"]:
        return {"count": 0}
    return {
        "count": values["count"],
        # Rounded down, so that it reads 100 only if every attempt succeeded.
        "success_percent": f"{int(1000 * values['succeeded'] / values['count']) / 10:g}",
        "median_ms": round(values["median_ms"]),
        "percentile_95_ms": round(values["percentile_95_ms"]),
    }


def sparkline(attempts: list[Attempt]) -> list[dict[str, object]]:
    """Return one bar for each attempt, in pixels, the newest at the right end, scaled to the longest duration."""
    longest = max((attempt.duration_ms for attempt in attempts), default=0) or 1
    bars: list[dict[str, object]] = []
    for index, attempt in enumerate(attempts):
        # A minimum height keeps the bar of a fast attempt visible.
        height = max(MIN_BAR_HEIGHT, round(CHART_HEIGHT * attempt.duration_ms / longest))
        result = attempt.error or attempt.status_code
        title = f"{timezone.localtime(attempt.created_at):%d %b %H:%M:%S}: {result}, {attempt.duration_ms} ms"
        position = {"x": index * BAR_SPACING, "y": CHART_HEIGHT - height, "height": height}
        bars.append({**position, "is_failure": bool(attempt.error), "title": title})
    return bars
