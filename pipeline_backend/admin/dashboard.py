"""The admin's first page: the next calls, and what needs somebody's attention."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from appointments.models import Appointment
from notifications.models import Notification
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox.models import State
from statuses.admin import status_label
from statuses.models import Role
from webhooks.models import Delivery, Endpoint

CALLS = 10

# Model, condition, what to say of one and of several, and the list's filter that shows them.
ALERTS: list[tuple[type[Any], dict[str, Any], str, str, str]] = [
    (Endpoint, {"is_active": False}, "endpoint is disabled", "endpoints are disabled", "is_active__exact=0"),
    (
        Delivery,
        {"state": State.DEAD},
        "delivery has failed for good",
        "deliveries have failed for good",
        f"state__exact={State.DEAD}",
    ),
    (
        Notification,
        {"state": State.DEAD},
        "notification was never sent",
        "notifications were never sent",
        f"state__exact={State.DEAD}",
    ),
]


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What the page shows, of the person's organizations."""
    return {
        **context,
        "title": "Overview",
        "calls": list(upcoming_appointments(request)),
        "worries": list(alerts(request)),
    }


def upcoming_appointments(request: HttpRequest) -> Iterator[dict[str, Any]]:
    """The calls that come next."""
    rows = rows_of(request, Appointment).filter(schedule_time__gt=now()).exclude(outcome__role=Role.CANCELED)
    for call in rows.select_related("event_type", "host__user").order_by("schedule_time", "id")[:CALLS]:
        yield {
            "call": call,
            "url": reverse("admin:appointments_appointment_change", args=[call.pk]),
            "outcome": status_label(call.outcome),
        }


def alerts(request: HttpRequest) -> Iterator[dict[str, str]]:
    """What has stopped working, each with its list."""
    for model, condition, one, several, query in ALERTS:
        count = rows_of(request, model).filter(**condition).count()
        if count:
            address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            yield {"sentence": f"{count} {one if count == 1 else several}", "url": f"{address}?{query}"}


def rows_of(request: HttpRequest, model: type[Any]) -> Any:
    """The rows that the model's own page would list for the person."""
    return admin.site.get_model_admin(model).get_queryset(request)
