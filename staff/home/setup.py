"""The first steps of a new organization, in the order in which it needs them."""

from datetime import timedelta
from typing import NamedTuple

from django.contrib import admin
from django.db.models import Exists, F, Model, OuterRef

from appointments.models import Appointment, EventType
from organizations.models import ApiKey, Invitation, Membership, Organization
from organizations.permissions import PERMISSIONS, has_role
from staff.figures.page import FiguresPage
from statuses.models import Status
from webhooks.models import Endpoint


class Step(NamedTuple):
    text: str
    url: str
    is_done: bool


# What to do, on which list or form, and which rows show that it was done.
STEPS: list[tuple[str, type[Model], str]] = [
    ("Choose the names and colors of the statuses", Status, "changelist"),
    ("Invite the first member", Invitation, "add"),
    ("Add the event types that can be booked", EventType, "add"),
    ("Create an API key for your forms and schedulers", ApiKey, "add"),
    ("Add a webhook endpoint, if another system should be notified of bookings", Endpoint, "add"),
    ("Book the first appointment", Appointment, "add"),
]


def setup_steps(page: FiguresPage) -> list[Step]:
    """Return the steps that the user may take, or none once the organization has an appointment."""
    own = {model: model.objects.of(OuterRef("pk")) for _, model, _ in STEPS}  # type: ignore[attr-defined]
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
        area = admin.site.get_model_admin(model).area  # type: ignore[attr-defined]  # all are a TenantAdmin
        if has_role(page.request, PERMISSIONS[area].add, page.organization.pk):
            url = page.add_url(model) if view == "add" else page.list_url(model)
            steps.append(Step(text, url, existing[f"has_{model._meta.model_name}"]))
    return steps
