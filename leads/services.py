"""Services that create and change leads, sources and custom fields.

`upsert_lead`, `follow_appointments` and what finds rows for them run in the caller's transaction, the other services
in one of their own.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from leads.models import CustomField, Lead, LeadStatusChange, Source, TouchPointType
from leads.phones import Phone, parse_phone
from leads.topics import CREATED, STATUS_CHANGED
from organizations.actors import Actor, actor_columns
from organizations.limits import check_limit
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all, insert_or_get
from statuses.models import PAID_ROLES, VERDICT_ROLES, Board, Status, StatusRole
from statuses.services import default_status, get_board_status, status_summary
from webhooks.services import record_event

# Compiled for the benchmarks "create an appointment" and "submit an opt-in".
SOURCE_BY_NAME: CompiledQuery[Source] = CompiledQuery(
    lambda: Source.objects.of(Param("organization")).with_name(Param("name", "text"))
)
MERGED_FIELDS = [
    "last_source",
    "first_name",
    "is_first_name_from_email",
    "last_name",
    "setter",
    "phone_e164",
    "phone_country",
    "updated_at",
]
TOUCH_POINT_FIELDS = ["next_touch_point_at", "next_touch_point_type"]


class LeadResult(NamedTuple):
    """The result of `upsert_lead`."""

    lead: Lead
    is_new: bool


def upsert_lead(
    *,
    organization: Organization,
    actor: Actor,
    create_defaults: Mapping[str, Any],
    email: str = "",
    lead_id: UUID | None = None,
    last_source: Source | None = None,
    first_name: str = "",
    last_name: str = "",
    phone: Phone | None = None,
    setter: Membership | None = None,
    touch_point: datetime | None = None,
) -> LeadResult:
    """Return the lead with this id or else with this e-mail, locked. Create it if no lead has the e-mail.

    Names and phone fill empty fields; `last_source` and setter replace the lead's (docs/interface.md, L4, L5, L9 and
    L11). Only a new lead gets `create_defaults`, with its status and sources, and the time of its first appointment as
    `touch_point`. Stores a new lead's history and event too. Raises ValidationFailed if the organization has no lead
    with `lead_id`. Runs in the caller's transaction.
    """

    def merge(lead: Lead) -> None:
        if last_source:
            lead.last_source = last_source
        if first_name and (not lead.first_name or lead.is_first_name_from_email):
            lead.first_name, lead.is_first_name_from_email = first_name, False
        lead.last_name = lead.last_name or last_name
        if setter:
            lead.setter = setter
        # Version 0.2 stored numbers without their area code, which are no known value.
        if phone and not parse_phone(lead.phone_e164 or "", lead.phone_country or ""):
            lead.phone_e164, lead.phone_country = phone.e164, phone.country
        lead.updated_at = now()

    if lead_id:
        lead, is_new = get_lead_for_update(organization=organization, lead_id=lead_id), False
    else:
        new = Lead(organization=organization, email=email, **create_defaults)
        if touch_point:
            new.next_touch_point_at, new.next_touch_point_type = touch_point, TouchPointType.APPOINTMENT.value
        merge(new)
        lead, is_new = insert_or_get(
            new,
            lambda: Lead.objects.of(organization).for_update().with_email(organization.pk, email).first(),
            build_status_change(new, None, actor),
        )
        lead.organization = organization
    if is_new:
        record_event(CREATED, lead, actor=actor)
    else:
        merge(lead)
        lead.save(update_fields=MERGED_FIELDS)
    return LeadResult(lead, is_new)


def get_or_create_source(*, organization: Organization, name: str) -> Source:
    """Return the organization's source with this name, compared case-insensitively. Create it if there is none."""
    find = partial(SOURCE_BY_NAME.first, organization=organization.pk, name=name)
    return insert_or_get(Source(organization=organization, name=name), find)[0]


def get_lead_for_update(*, organization: Organization, lead_id: UUID) -> Lead:
    """Return the lead and lock its row. Raises ValidationFailed for `lead_id` if the organization has no such lead."""
    lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    return lead


def follow_appointments(
    lead: Lead, *, actor: Actor, next_appointment: datetime | None, status: Status | None = None
) -> None:
    """Set the touch point and the status of a locked lead after one of its appointments was booked or changed.

    Without a status the lead keeps its own, and so does one with a paid status, which only people move (S10), and one
    with a verdict that a cancellation would overwrite (S9). A touch point that staff have set stays if no appointment
    is upcoming, or if it comes before the next one (L13).
    """
    set_by_staff = lead.next_touch_point_at if lead.next_touch_point_type != TouchPointType.APPOINTMENT else None
    touch_point = (next_appointment, TouchPointType.APPOINTMENT.value if next_appointment else None)
    is_kept = set_by_staff and (next_appointment is None or now() < set_by_staff < next_appointment)
    # `updated_at` must not change if the touch point stays the same.
    is_moved = not is_kept and touch_point != (lead.next_touch_point_at, lead.next_touch_point_type)
    if is_moved:
        lead.next_touch_point_at, lead.next_touch_point_type = touch_point
        lead.updated_at = now()
    is_canceled = status is not None and status.role == StatusRole.CANCELED
    kept_roles = [*PAID_ROLES, *VERDICT_ROLES] if is_canceled else PAID_ROLES
    if status and status.pk != lead.status_id and lead.status.role not in kept_roles:
        set_status(lead, status, actor=actor)
    elif is_moved:
        lead.save(update_fields=[*TOUCH_POINT_FIELDS, "updated_at"])


def set_status(lead: Lead, status: Status, *, actor: Actor) -> None:
    """Store a locked lead's new status and touch point, the history row, and the event `lead.status_changed`.

    If the lead has this status already, does nothing.
    """
    previous = lead.status
    if previous.pk == status.pk:
        return
    lead.status = status
    lead.updated_at = now()
    lead.save(update_fields=["status", *TOUCH_POINT_FIELDS, "updated_at"])
    insert_all(build_status_change(lead, previous, actor))
    record_event(STATUS_CHANGED, lead, actor=actor, previous={"status": status_summary(previous)})


def build_status_change(lead: Lead, from_status: Status | None, actor: Actor) -> LeadStatusChange:
    """Return the row of the status history for the lead's present status, unsaved."""
    return LeadStatusChange(
        organization=lead.organization,
        lead=lead,
        from_status=from_status,
        to_status=lead.status,
        **actor_columns(actor),
    )


@atomic_with_retry
def change_status(*, organization: Organization, actor: Actor, lead_id: UUID, status_id: UUID) -> Lead | None:
    """Move a lead to any status of the lead board; return the lead, or None if there is none with this id.

    Raises ValidationFailed if the status is unknown or not of the lead board. Locks the lead.
    """
    lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
    if lead is not None:
        lead.organization = organization
        set_status(lead, get_board_status(organization, Board.LEAD, status_id), actor=actor)
    return lead


@atomic_with_retry
def add_lead(*, organization: Organization, actor: Actor, email: str, **fields: Any) -> Lead:
    """Add a lead for staff and return it. Raises ValidationFailed if a lead has this e-mail already."""
    if fields.get("status") is None:
        fields = {**fields, "status": default_status(organization, Board.LEAD, StatusRole.NEW_LEAD)}
    source = get_or_create_source(organization=organization, name="MANUAL")
    defaults = {**fields, "first_source": source, "last_source": source}
    lead, is_new = upsert_lead(organization=organization, actor=actor, email=email, create_defaults=defaults)
    if not is_new:
        raise ValidationFailed({"email": ["belongs to a lead already"]})
    return lead


@atomic_with_retry
def edit_lead(*, organization: Organization, actor: Actor, lead: Lead, **fields: Any) -> Lead:
    """Change fields of a lead for staff, the status among them, and return the lead.

    Raises ValidationFailed if another lead has the new e-mail. Locks the lead.
    """
    stored = get_lead_for_update(organization=organization, lead_id=lead.pk)
    if "email" in fields:
        others = Lead.objects.of(organization).exclude(pk=lead.pk)
        if others.with_email(organization.pk, fields["email"]).exists():
            raise ValidationFailed({"email": ["belongs to another lead"]})
    values = {name: value for name, value in fields.items() if name != "status"}
    if "first_name" in values:
        values["is_first_name_from_email"] = False
    for name, value in values.items():
        setattr(stored, name, value)
    stored.updated_at = now()
    stored.save(update_fields=[*values, "updated_at"])
    if "status" in fields:
        set_status(stored, fields["status"], actor=actor)
    return stored


@transaction.atomic
def save_custom_field(*, organization: Organization, field: CustomField) -> CustomField:
    """Store a new or changed custom field and return it.

    For a new one, locks the organization, and raises Conflict if it has `MAX_CUSTOM_FIELDS` custom fields.
    """
    if field._state.adding:
        rows, advice = CustomField.objects.of(organization), "Delete one that is no longer needed first."
        limit = settings.MAX_CUSTOM_FIELDS
        check_limit(organization=organization, rows=rows, limit=limit, name="custom fields", advice=advice)
    field.organization = organization
    field.save()
    return field


@transaction.atomic
def delete_custom_field(*, organization: Organization, field: CustomField) -> None:
    """Delete a custom field. Its values stay in the rows, but nothing shows them."""
    CustomField.objects.of(organization).filter(pk=field.pk).delete()
