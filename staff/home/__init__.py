"""The admin's home page: what the user has to do, and the numbers of a period, for one organization.

`staff.figures` reads the address and has the numbers, each with a link to the rows that it counts.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Exists, F, Model, OuterRef
from django.db.models.functions import Now
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from appointments.models import Appointment, EventType
from foundation.outbox import State
from leads.imports.models import Import
from notifications.models import ChannelKind, Notification
from organizations.models import ApiKey, Invitation, Membership, Organization
from organizations.permissions import PERMISSIONS, Area, current_user, has_role
from staff.figures.page import Figure, FiguresPage, read_page
from staff.home.numbers import numbers_context
from staff.home.work import work_context
from staff.toolkit.actions import row_url
from statuses.models import Status
from webhooks.models import Delivery, Endpoint

# The model, the rows, the sentence about one and about several, and the filter of the model's list that shows the same
# rows.
ALERTS: list[tuple[type[Model], dict[str, Any], str, str, str]] = [
    (
        Endpoint,
        {"is_active": False, "deleted_at": None},
        "endpoint is disabled",
        "endpoints are disabled",
        "is_active__exact=0",
    ),
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


class Step(NamedTuple):
    text: str
    url: str
    is_done: bool


# What to do, on which list or form, and which rows show that it was done.
STEPS: list[tuple[str, type[Model], str]] = [
    ("Choose the time zone and country", Organization, "change"),
    ("Choose the names and colors of the statuses", Status, "changelist"),
    ("Invite the first member", Invitation, "add"),
    ("Add the event types that can be booked", EventType, "add"),
    ("Import the leads that you have", Import, "add"),
    ("Create an API key for your forms and schedulers", ApiKey, "add"),
    ("Add a webhook endpoint, if another system should be notified of bookings", Endpoint, "add"),
    ("Book the first appointment", Appointment, "add"),
]


def home(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Return the template context of the home page. Raises BadRequest for an address that it doesn't understand."""
    context = {**context, "title": greeting(request), "today": timezone.localdate(), "alerts": list(alerts(request))}
    page = read_page(request)
    if page is None:
        return context
    return {**context, "page": page, "steps": setup_steps(page), **work_context(page), **numbers_context(page)}


def greeting(request: HttpRequest) -> str:
    hour, user = timezone.localtime().hour, current_user(request)
    word = "morning" if 4 <= hour < 12 else "afternoon" if 12 <= hour < 18 else "evening"
    return f"Good {word}, {user.first_name or user.get_full_name()}"


def alerts(request: HttpRequest) -> Iterator[Figure]:
    for model, condition, singular, plural, query in ALERTS:
        # The page's query set applies roles and tenant; repeating those rules here would let the two drift apart.
        count = admin.site.get_model_admin(model).get_queryset(request).filter(**condition).count()
        if count:
            url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            yield Figure(f"{count} {singular if count == 1 else plural}", f"{url}?{query}", count)


def setup_steps(page: FiguresPage) -> list[Step]:
    """Return the steps that the user may take, or none once the organization has an appointment."""
    models = [model for _, model, _ in STEPS if model is not Organization]
    own = {model: model.objects.of(OuterRef("pk")) for model in models}  # type: ignore[attr-defined]
    own[Organization] = Organization.objects.filter(pk=OuterRef("pk")).exclude(time_zone="UTC")
    own[Status] = own[Status].filter(updated_at__gt=F("created_at") + timedelta(minutes=1))
    exists = {f"has_{model._meta.model_name}": Exists(rows) for model, rows in own.items()}
    exists["has_members"] = Exists(Membership.objects.of(OuterRef("pk")).exclude(role="OWNER"))
    rows = Organization.objects.filter(pk=page.organization.pk)
    existing: dict[str, bool] = rows.values(**exists).get()  # type: ignore[assignment]  # the stubs don't know the keys
    if existing["has_appointment"]:
        return []
    existing["has_invitation"] |= existing["has_members"]
    steps = []
    for text, model, view in STEPS:
        # All others are a TenantAdmin.
        area = getattr(admin.site.get_model_admin(model), "area", Area.ORGANIZATION)
        if has_role(page.request, PERMISSIONS[area].add, page.organization.pk):
            urls = {"add": page.add_url, "changelist": page.list_url, "change": lambda _: row_url(page.organization)}
            steps.append(Step(text, urls[view](model), existing[f"has_{model._meta.model_name}"]))
    return steps
