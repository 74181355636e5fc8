"""What is done to leads. Everything that changes one locks it first."""

import uuid
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from leads.models import CustomField, Lead, LeadStatusChange, Source, TouchPointType
from leads.phones import Phone
from leads.topics import CREATED, STATUS_CHANGED
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import get_or_insert, insert_all, insert_or_get, update_columns
from statuses.models import PAID_ROLES, Board, Role, Status
from statuses.services import default_statuses, get_board_status
from webhooks.services import record_event

SOURCE_BY_NAME: CompiledQuery[Source] = CompiledQuery(
    lambda: Source.objects.of(Param("organization")).with_name(Param("name", "text"))
)
LEAD_FOR_UPDATE: CompiledQuery[Lead] = CompiledQuery(
    lambda: Lead.objects.of(Param("organization")).for_update().filter(pk=Param("id"))
)
LEAD_FOR_UPDATE_BY_EMAIL: CompiledQuery[Lead] = CompiledQuery(
    lambda: (
        Lead.objects.of(Param("organization")).for_update().with_email(Param("organization"), Param("email", "text"))
    )
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


def get_or_create_source(*, organization: Organization, name: str) -> Source:
    """The organization's source of this name, made on first use (decision 17)."""
    find = partial(SOURCE_BY_NAME.first, organization=organization.pk, name=name)
    return get_or_insert(find, Source(organization=organization, name=name))[0]


def get_lead_for_update(*, organization: Organization, lead_id: uuid.UUID) -> Lead:
    """The lead with this id, locked; 400 if the organization has none."""
    lead = LEAD_FOR_UPDATE.first(organization=organization.pk, id=lead_id)
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    return lead


def get_or_create_lead(fresh: Lead, *, is_known: bool = True) -> tuple[Lead, bool]:
    """The organization's lead of the same e-mail, locked, or this new one, stored as it is; True if new.

    `is_known` says whether there was one a moment ago: it decides what is tried first, not what is found.

    For a new lead the caller inserts the `first_line` of its history, and records `lead.created`: see `announce`.
    """
    find = partial(LEAD_FOR_UPDATE_BY_EMAIL.first, organization=fresh.organization_id, email=fresh.email)
    lead, is_new = get_or_insert(find, fresh) if is_known else insert_or_get(fresh, find)
    lead.organization = fresh.organization
    return lead, is_new


def build_lead(*, organization: Organization, email: str, status: Status, source: Source, **names: str) -> Lead:
    """A lead that is not stored yet."""
    return Lead(organization=organization, email=email, status=status, first_source=source, last_source=source, **names)


def initial_status_change(lead: Lead, *, actor: Actor) -> LeadStatusChange:
    """How a new lead's history begins, not stored yet."""
    return build_status_change(lead, None, lead.status, actor)


def record_lead_created(lead: Lead, *, actor: Actor) -> None:
    """Record that the lead is new."""
    record_event(CREATED, lead, actor=actor)


def merge_submission(
    lead: Lead,
    *,
    source: Source,
    phone: Phone | None = None,
    first_name: str = "",
    last_name: str = "",
    setter: Membership | None = None,
) -> None:
    """Take in what a submission or booking says: empty fields are filled, known ones kept (decision 14).

    The last source and the setter follow the newest word. Call it on a locked lead, then `keep`.
    """
    lead.last_source = source
    lead.first_name = lead.first_name or first_name
    lead.last_name = lead.last_name or last_name
    lead.setter = setter or lead.setter
    if phone and not lead.phone_e164:
        lead.phone_e164, lead.phone_country = phone.e164, phone.country
    lead.updated_at = now()


def set_next_touch_point(lead: Lead, appointment_at: datetime | None) -> None:
    """Point the lead at its earliest upcoming appointment, or at none (decision 16).

    What staff set stays while it is still to come and earlier. Call it on a locked lead, then `keep`.
    """
    by_hand = lead.next_touch_point_at if lead.next_touch_point_type != TouchPointType.APPOINTMENT else None
    if by_hand and (appointment_at is None or now() < by_hand < appointment_at):
        return
    wanted = (appointment_at, TouchPointType.APPOINTMENT.value if appointment_at else None)
    if wanted == (lead.next_touch_point_at, lead.next_touch_point_type):
        return
    lead.next_touch_point_at, lead.next_touch_point_type = wanted
    lead.updated_at = now()


def save_lead(lead: Lead) -> None:
    """Store what `fill` and `point_at` have changed of a locked lead."""
    update_columns(lead, *MERGED_FIELDS, *TOUCH_POINT_FIELDS, "updated_at")


def set_status_automatically(lead: Lead, to: Status | None, *, actor: Actor) -> None:
    """A step that nobody chose, never out of a paid status (decision 20); `keep` in any case."""
    if to is None or lead.status.role in PAID_ROLES or not set_status(lead, to, actor=actor):
        save_lead(lead)


def set_status(lead: Lead, to: Status, *, actor: Actor) -> bool:
    """Put a locked lead into a status, with history and event; False, and nothing recorded, if it is there already.

    What else has changed of the lead is stored with it: `keep`.
    """
    before = lead.status
    if before.pk == to.pk:
        return False
    lead.status = to
    lead.updated_at = now()
    update_columns(lead, "status", *MERGED_FIELDS, *TOUCH_POINT_FIELDS, "updated_at")
    insert_all(build_status_change(lead, before, to, actor))
    record_event(
        STATUS_CHANGED,
        lead,
        actor=actor,
        previous={"status": {"id": before.pk, "name": before.name, "role": before.role}},
    )
    return True


def build_status_change(lead: Lead, before: Status | None, to: Status, actor: Actor) -> LeadStatusChange:
    """A line of the history, not stored yet."""
    return LeadStatusChange(
        organization=lead.organization, lead=lead, from_status=before, to_status=to, **actor_columns(actor)
    )


def change_status(*, organization: Organization, actor: Actor, lead_id: uuid.UUID, status_id: uuid.UUID) -> Lead | None:
    """Move a lead by hand to any status of its board (interface 4.9, decision 18); None if there is no such lead."""

    def attempt() -> Lead | None:
        lead = LEAD_FOR_UPDATE.first(organization=organization.pk, id=lead_id)
        if lead is None:
            return None
        lead.organization = organization
        set_status(lead, get_board_status(organization, Board.LEAD, status_id), actor=actor)
        return lead

    return atomic_with_retry(attempt)


def add_lead(*, organization: Organization, actor: Actor, email: str, **facts: Any) -> Lead:
    """Add a lead by hand (staff); 400 if the e-mail has one already."""

    def attempt() -> Lead:
        known = dict(facts)
        source = get_or_create_source(organization=organization, name="MANUAL")
        status = (
            known.pop("status", None)
            or default_statuses(organization, (Board.LEAD, Role.NEW_LEAD))[Board.LEAD, Role.NEW_LEAD]
        )
        lead, is_new = get_or_create_lead(
            build_lead(organization=organization, email=email, status=status, source=source)
        )
        if not is_new:
            raise ValidationFailed({"email": ["belongs to a lead already"]})
        insert_all(initial_status_change(lead, actor=actor))
        save_fields(lead, known)
        record_lead_created(lead, actor=actor)
        return lead

    return atomic_with_retry(attempt)


def edit_lead(*, organization: Organization, actor: Actor, lead: Lead, **facts: Any) -> Lead:
    """Change what is known of a lead (staff): names, phone, setter, touch point, status, custom values, e-mail."""

    def attempt() -> Lead:
        changes = dict(facts)
        stored = get_lead_for_update(organization=organization, lead_id=lead.pk)
        status = changes.pop("status", stored.status)
        if "email" in changes:
            require_free_email(stored, changes["email"])
        save_fields(stored, changes)
        set_status(stored, status, actor=actor)
        return stored

    return atomic_with_retry(attempt)


def require_free_email(lead: Lead, email: str) -> None:
    """400 if another lead has it."""
    if Lead.objects.of(lead.organization).with_email(lead.organization_id, email).exclude(pk=lead.pk).exists():
        raise ValidationFailed({"email": ["belongs to another lead"]})


def save_fields(lead: Lead, facts: dict[str, Any]) -> None:
    """Write the facts on a locked lead."""
    for name, value in facts.items():
        setattr(lead, name, value)
    lead.updated_at = now()
    lead.save(update_fields=[*facts, "updated_at"])


@transaction.atomic
def save_custom_field(*, organization: Organization, field: CustomField) -> CustomField:
    """Store a new or changed custom field (staff)."""
    field.organization = organization
    field.save()
    return field


@transaction.atomic
def delete_custom_field(*, organization: Organization, field: CustomField) -> None:
    """Delete a custom field; the values under it are shown nowhere any more."""
    CustomField.objects.of(organization).filter(pk=field.pk).delete()
