"""The health part of an endpoint's page: success rate, latency, and the last attempts."""

from datetime import timedelta

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.db.models.aggregates import Aggregate
from django.db.models.fields import FloatField
from django.template.loader import render_to_string
from django.utils import timezone

from foundation.db.timestamps import now
from webhooks.models import Attempt, Delivery, Endpoint

PERIODS = {"Last 24 hours": timedelta(days=1), "Last 7 days": timedelta(days=7)}
ATTEMPTS_SHOWN = 60
MAX_LOOKED_AT = 10_000  # attempts, and deliveries: reading millions takes seconds

# Pixels. The width and the height of the bars are repeated in the template.
BAR_SPACING = 8
CHART_HEIGHT = 48
MIN_BAR_HEIGHT = 3


class Percentile(Aggregate):
    """A continuous percentile of a column; `share` is the percentile as a fraction."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = FloatField()


@admin.display(description="Recent attempts")
def render_health(endpoint: Endpoint) -> str:
    rows = recent_attempts(endpoint)
    attempts = list(rows.order_by("-created_at", "-id")[:ATTEMPTS_SHOWN])[::-1]
    context = {
        "attempts": attempts,
        "periods": attempt_statistics(rows),
        "bars": sparkline(attempts),
        "limit": MAX_LOOKED_AT,
        "was_sent": endpoint.last_success_at or endpoint.failing_since,
        "width": max(1, len(attempts)) * BAR_SPACING,
    }
    return render_to_string("staff/health.html", context)


def recent_attempts(endpoint: Endpoint) -> QuerySet[Attempt]:
    """Return the endpoint's attempts among the newest of the organization, and those of its newest deliveries.

    No index has the attempts of an endpoint. The former include retries of old deliveries; the latter are for an
    endpoint among others with many attempts.
    """
    attempts = Attempt.objects.of(endpoint.organization).order_by()
    newest = attempts.order_by("-created_at")[:MAX_LOOKED_AT]
    deliveries = Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint).order_by("-created_at", "-id")
    of_newest = attempts.filter(pk__in=newest.values("pk"), delivery__endpoint=endpoint).values("pk")
    of_deliveries = attempts.filter(delivery__in=deliveries.values("pk")[:MAX_LOOKED_AT]).values("pk")
    return attempts.filter(pk__in=of_newest.union(of_deliveries))


def attempt_statistics(attempts: QuerySet[Attempt]) -> list[tuple[str, dict[str, int | str]]]:
    """Return each period's label, with the number of attempts and, if any, success rate and latency (ms)."""
    at = now()
    aggregates: dict[str, Aggregate] = {}
    for number, length in enumerate(PERIODS.values()):
        is_counted = Q(created_at__gte=at - length)
        aggregates |= {
            f"count_{number}": Count("pk", filter=is_counted),
            f"succeeded_{number}": Count("pk", filter=is_counted & Q(error="")),
            f"median_{number}": Percentile("duration_ms", share="0.5", filter=is_counted),
            f"percentile_95_{number}": Percentile("duration_ms", share="0.95", filter=is_counted),
        }
    values = attempts.filter(created_at__gte=at - max(PERIODS.values())).aggregate(**aggregates)
    rows: list[tuple[str, dict[str, int | str]]] = []
    for number, label in enumerate(PERIODS):
        row: dict[str, int | str] = {"count": values[f"count_{number}"]}
        if row["count"]:
            # Rounded down, so that it reads 100 only if every attempt succeeded.
            share = int(1000 * values[f"succeeded_{number}"] / values[f"count_{number}"])
            row["success_percent"] = f"{share / 10:g}"
            row["median_ms"] = round(values[f"median_{number}"])
            row["percentile_95_ms"] = round(values[f"percentile_95_{number}"])
        rows.append((label, row))
    return rows


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
