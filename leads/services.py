"""Services that create and change leads, sources and custom fields.

The public services run in a transaction of their own. The functions that opt-ins and appointments build on
(`merge_submission`, `set_status` and so on) run in the caller's transaction, on a lead that the caller has locked.
"""

import uuid
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from leads.models import CustomField, Lead, LeadStatusChange, Source, TouchPointType
from leads.phones import Phone
from leads.topics import CREATED, STATUS_CHANGED
from organizations.actors import Actor, actor_columns
from organizations.limits import LimitReached, can_add_row
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import get_or_insert, insert_all, insert_or_get
from statuses.models import PAID_ROLES, Board, Status, StatusRole
from statuses.services import default_statuses, get_board_status
from webhooks.services import record_event

SOURCE_BY_NAME: CompiledQuery[Source] = CompiledQuery(
    lambda: Source.objects.of(Param("organization")).with_name(Param("name", "text"))
)
LEAD_ID_BY_EMAIL: CompiledQuery[tuple[uuid.UUID]] = CompiledQuery(
    lambda: (
        Lead.objects.of(Param("organization"))
        .with_email(Param("organization"), Param("email", "text"))
        .values_list("pk")
    )
)
MERGED_FIELDS = ["last_source", "first_name", "last_name", "setter", "phone_e164", "phone_country"]
TOUCH_POINT_FIELDS = ["next_touch_point_at", "next_touch_point_type"]


# Looking up and creating leads, in the caller's transaction.


def get_or_create_source(*, organization: Organization, name: str) -> Source:
    """Return the organization's source with this name, compared case-insensitively. Create it if there is none."""
    find = partial(SOURCE_BY_NAME.first, organization=organization.pk, name=name)
    return get_or_insert(find, Source(organization=organization, name=name))[0]


def get_lead_for_update(*, organization: Organization, lead_id: uuid.UUID) -> Lead:
    """Return the lead and lock its row. Raises ValidationFailed for `lead_id` if the organization has no such lead."""
    lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    return lead


def get_or_create_lead(new_lead: Lead, *, probably_exists: bool = True) -> tuple[Lead, bool]:
    """Return the organization's lead with the e-mail of `new_lead`, locked, and False. Or insert `new_lead`; then True.

    `probably_exists` only decides whether to look first or to insert first; both orders are safe against races.
    After an insert the caller stores `initial_status_change` and calls `record_lead_created`.
    """
    find = (
        Lead.objects.of(new_lead.organization).for_update().with_email(new_lead.organization_id, new_lead.email).first
    )
    lead, is_new = get_or_insert(find, new_lead) if probably_exists else insert_or_get(new_lead, find)
    lead.organization = new_lead.organization
    return lead, is_new


def build_lead(*, organization: Organization, email: str, status: Status, source: Source, **names: str) -> Lead:
    """Return a new lead that is not stored yet."""
    return Lead(organization=organization, email=email, status=status, first_source=source, last_source=source, **names)


def initial_status_change(lead: Lead, *, actor: Actor) -> LeadStatusChange:
    """Return the first row of a new lead's status history, unsaved."""
    return build_status_change(lead, None, lead.status, actor)


def build_status_change(lead: Lead, from_status: Status | None, to_status: Status, actor: Actor) -> LeadStatusChange:
    """Return a row of the lead's status history, unsaved."""
    return LeadStatusChange(
        organization=lead.organization,
        lead=lead,
        from_status=from_status,
        to_status=to_status,
        **actor_columns(actor),
    )


def record_lead_created(lead: Lead, *, actor: Actor) -> None:
    """Record the event `lead.created` for a lead that was just inserted."""
    record_event(CREATED, lead, actor=actor)


# Changing a lead that the caller has locked.


def merge_submission(
    lead: Lead,
    *,
    source: Source,
    phone: Phone | None = None,
    first_name: str = "",
    last_name: str = "",
    setter: Membership | None = None,
) -> None:
    """Merge the values of an opt-in or a booking into the lead, in memory (docs/interface.md, L4 and L11).

    Names and phone fill empty fields only. The last source and the setter are overwritten.
    The caller holds the row lock and stores the lead with `save_lead`.
    """
    lead.last_source = source
    lead.first_name = lead.first_name or first_name
    lead.last_name = lead.last_name or last_name
    lead.setter = setter or lead.setter
    if phone and not lead.phone_e164:
        lead.phone_e164, lead.phone_country = phone.e164, phone.country
    lead.updated_at = now()


def set_next_touch_point(lead: Lead, appointment_at: datetime | None) -> None:
    """Set the touch point to the lead's next appointment, or clear it, in memory (docs/interface.md, L13).

    The caller holds the row lock and stores the lead with `save_lead`.
    """
    set_by_staff = lead.next_touch_point_at if lead.next_touch_point_type != TouchPointType.APPOINTMENT else None
    # A touch point set by staff stays if no appointment is upcoming, or if it comes before the appointment.
    if set_by_staff and (appointment_at is None or now() < set_by_staff < appointment_at):
        return
    touch_point = (appointment_at, TouchPointType.APPOINTMENT.value if appointment_at else None)
    # `updated_at` must not change if the touch point stays the same.
    if touch_point == (lead.next_touch_point_at, lead.next_touch_point_type):
        return
    lead.next_touch_point_at, lead.next_touch_point_type = touch_point
    lead.updated_at = now()


def save_lead(lead: Lead) -> None:
    """Store what `merge_submission` and `set_next_touch_point` have changed."""
    lead.save(update_fields=[*MERGED_FIELDS, *TOUCH_POINT_FIELDS, "updated_at"])


def set_status(lead: Lead, status: Status, *, actor: Actor) -> bool:
    """Store a new status with its history row and the event `lead.status_changed`, and return True.

    Stores the changes that `save_lead` would store in the same statement. If the lead has this status already, returns
    False and stores nothing.
    """
    previous = lead.status
    if previous.pk == status.pk:
        return False
    lead.status = status
    lead.updated_at = now()
    lead.save(update_fields=["status", *MERGED_FIELDS, *TOUCH_POINT_FIELDS, "updated_at"])
    insert_all(build_status_change(lead, previous, status, actor))
    record_event(
        STATUS_CHANGED,
        lead,
        actor=actor,
        previous={"status": {"id": previous.pk, "name": previous.name, "role": previous.role}},
    )
    return True


def set_status_automatically(lead: Lead, status: Status | None, *, actor: Actor) -> None:
    """Set a status as the effect of a booking, rescheduling or cancellation, and store the lead in any case.

    A lead with a paid status keeps it: only people move it. With None the status stays.
    """
    if status is None or lead.status.role in PAID_ROLES or not set_status(lead, status, actor=actor):
        save_lead(lead)


def save_fields(lead: Lead, values: dict[str, object]) -> None:
    """Store these fields of the lead."""
    for name, value in values.items():
        setattr(lead, name, value)
    lead.updated_at = now()
    lead.save(update_fields=[*values, "updated_at"])


# Services with a transaction of their own.


def change_status(*, organization: Organization, actor: Actor, lead_id: uuid.UUID, status_id: uuid.UUID) -> Lead | None:
    """Move a lead to any status of the lead board; return the lead, or None if there is none with this id.

    Raises ValidationFailed if the status is unknown or not of the lead board. Locks the lead.
    """

    def attempt() -> Lead | None:
        lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
        if lead is None:
            return None
        lead.organization = organization
        set_status(lead, get_board_status(organization, Board.LEAD, status_id), actor=actor)
        return lead

    return atomic_with_retry(attempt)


def add_lead(*, organization: Organization, actor: Actor, email: str, **fields: Any) -> Lead:
    """Add a lead for staff and return it. Raises ValidationFailed if a lead has this e-mail already."""

    def attempt() -> Lead:
        values = dict(fields)  # a copy for each attempt, because the status is taken out of it
        source = get_or_create_source(organization=organization, name="MANUAL")
        status = values.pop("status", None)
        if status is None:
            new_lead_role = (Board.LEAD, StatusRole.NEW_LEAD)
            status = default_statuses(organization, new_lead_role)[new_lead_role]
        lead, is_new = get_or_create_lead(
            build_lead(organization=organization, email=email, status=status, source=source)
        )
        if not is_new:
            raise ValidationFailed({"email": ["belongs to a lead already"]})
        insert_all(initial_status_change(lead, actor=actor))
        save_fields(lead, values)
        record_lead_created(lead, actor=actor)
        return lead

    return atomic_with_retry(attempt)


def edit_lead(*, organization: Organization, actor: Actor, lead: Lead, **fields: Any) -> Lead:
    """Change fields of a lead for staff, the status among them, and return the lead.

    Raises ValidationFailed if another lead has the new e-mail. Locks the lead.
    """

    def attempt() -> Lead:
        values = dict(fields)  # a copy for each attempt, because the status is taken out of it
        stored = get_lead_for_update(organization=organization, lead_id=lead.pk)
        status = values.pop("status", stored.status)
        if "email" in values:
            require_unused_email(stored, values["email"])
        save_fields(stored, values)
        set_status(stored, status, actor=actor)
        return stored

    return atomic_with_retry(attempt)


def require_unused_email(lead: Lead, email: str) -> None:
    """Raise ValidationFailed if another lead of the organization has this e-mail."""
    if Lead.objects.of(lead.organization).with_email(lead.organization_id, email).exclude(pk=lead.pk).exists():
        raise ValidationFailed({"email": ["belongs to another lead"]})


@transaction.atomic
def save_custom_field(*, organization: Organization, field: CustomField) -> CustomField:
    """Store a new or changed custom field and return it.

    For a new one, locks the organization, and raises LimitReached if it has `MAX_CUSTOM_FIELDS` custom fields.
    """
    fields = CustomField.objects.of(organization)
    limit = settings.MAX_CUSTOM_FIELDS
    if field._state.adding and not can_add_row(organization=organization, rows=fields, limit=limit):
        advice = "Delete one that is no longer needed first."
        raise LimitReached(limit=limit, rows="custom fields", advice=advice)
    field.organization = organization
    field.save()
    return field


@transaction.atomic
def delete_custom_field(*, organization: Organization, field: CustomField) -> None:
    """Delete a custom field. Its values stay in the rows, but nothing shows them."""
    CustomField.objects.of(organization).filter(pk=field.pk).delete()
