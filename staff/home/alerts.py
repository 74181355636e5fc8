"""The alerts on the admin's home page."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse

from foundation.outbox import State
from notifications.models import ChannelKind, Notification
from staff.figures.page import Figure
from webhooks.models import Delivery, Endpoint

# The model, the rows, the sentence about one and about several, and the filter of the model's list that shows the same
# rows.
ALERTS: list[tuple[type[Model], dict[str, Any], str, str, str]] = [
    (Endpoint, {"is_active": False}, "endpoint is disabled", "endpoints are disabled", "is_active__exact=0"),
    (
        Delivery,
        {"state": State.DEAD},
        "delivery has failed permanently",
        "deliveries have failed permanently",
        f"state__exact={State.DEAD}",
    ),
    (
        Notification,
        {"state": State.DEAD},
        "notification could not be sent",
        "notifications could not be sent",
        f"state__exact={State.DEAD}",
    ),
    (
        Notification,
        {"state": State.PENDING, "medium": ChannelKind.EMAIL, "organization__mail_paused_until__gt": Now()},
        "e-mail waits, because the daily limit is reached",
        "e-mails wait, because the daily limit is reached",
        f"state__exact={State.PENDING}&medium__exact={ChannelKind.EMAIL}",
    ),
]


def alerts(request: HttpRequest) -> Iterator[Figure]:
    for model, condition, singular, plural, query in ALERTS:
        # The page's query set applies roles and tenant; repeating those rules here would let the two drift apart.
        count = admin.site.get_model_admin(model).get_queryset(request).filter(**condition).count()
        if count:
            url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            yield Figure(f"{count} {singular if count == 1 else plural}", f"{url}?{query}", count)
