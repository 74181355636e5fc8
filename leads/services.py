"""What is done to leads. Everything that changes one locks it first."""

import uuid
from datetime import datetime
from typing import Any

from django.db import transaction

from leads.events import CREATED, STATUS_CHANGED
from leads.models import CustomField, Lead, LeadStatusChange, Source, TouchPoint
from leads.phones import Phone
from organizations.actors import Actor, columns
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Invalid
from pipeline_backend.moments import now
from pipeline_backend.rows import find_or_insert, settle_race
from statuses.models import PAID, Board, Role, Status
from statuses.services import defaults, status_for
from webhooks.services import record

UNKNOWN_LEAD = Invalid({"lead_id": ["is not known in the organization"]})


def source_named(*, organization: Organization, name: str) -> Source:
    """The organization's source of this name, made on first use (decision 17)."""
    found = Source.objects.of(organization).named(name)
    source, _ = find_or_insert(found, Source(organization=organization, name=name))
    return source


def known_lead(*, organization: Organization, lead_id: uuid.UUID) -> Lead:
    """The lead with this id, locked; 400 if the organization has none."""
    lead: Lead | None = Lead.objects.of(organization).locked().filter(pk=lead_id).first()
    if lead is None:
        raise UNKNOWN_LEAD
    lead.organization = organization
    return lead


def find_or_create(
    *, organization: Organization, actor: Actor, email: str, status: Status, source: Source, first_name: str = "", last_name: str = ""
) -> tuple[Lead, bool]:
    """The organization's lead of this e-mail, locked, or a new one; True if new.

    A new lead's `lead.created` event is the caller's to record, once the lead is complete: see `announce`.
    """
    fresh = Lead(organization=organization, email=email, first_name=first_name, last_name=last_name, status=status, first_source=source, last_source=source)
    lead, is_new = find_or_insert(Lead.objects.of(organization).locked().with_email(email), fresh)
    lead.organization = organization
    if is_new:
        note_status(lead, None, status, actor)
    return lead, is_new


def announce(lead: Lead, *, actor: Actor) -> None:
    """Record that the lead is new."""
    record(CREATED, lead, actor=actor)


def fill(lead: Lead, *, source: Source, phone: Phone | None = None, first_name: str = "", last_name: str = "", setter: Membership | None = None) -> None:
    """Take in what a submission or booking says: empty fields are filled, known ones kept (decision 14).

    The last source and the setter follow the newest word. Call it on a locked lead.
    """
    lead.last_source = source
    lead.first_name = lead.first_name or first_name
    lead.last_name = lead.last_name or last_name
    lead.setter = setter or lead.setter
    if phone and not lead.phone_e164:
        lead.phone_e164, lead.phone_country = phone.e164, phone.country
    lead.updated_at = now()
    lead.save(update_fields=["last_source", "first_name", "last_name", "setter", "phone_e164", "phone_country", "updated_at"])


def point_at(lead: Lead, appointment_at: datetime | None) -> None:
    """Point the lead at its earliest upcoming appointment, or at none (decision 16).

    What staff set stays while it is still to come and earlier. Call it on a locked lead.
    """
    by_hand = lead.next_touch_point_at if lead.next_touch_point_type != TouchPoint.APPOINTMENT else None
    if by_hand and (appointment_at is None or now() < by_hand < appointment_at):
        return
    wanted = (appointment_at, TouchPoint.APPOINTMENT.value if appointment_at else None)
    if wanted == (lead.next_touch_point_at, lead.next_touch_point_type):
        return
    lead.next_touch_point_at, lead.next_touch_point_type = wanted
    lead.updated_at = now()
    lead.save(update_fields=["next_touch_point_at", "next_touch_point_type", "updated_at"])


def move_automatically(lead: Lead, to: Status | None, *, actor: Actor) -> None:
    """A step that nobody chose: never out of a paid status (decision 20)."""
    if to is None or lead.status.role in PAID:
        return
    move(lead, to, actor=actor)


def move(lead: Lead, to: Status, *, actor: Actor) -> bool:
    """Put a locked lead into a status, with history and event; False, and nothing recorded, if it is there already."""
    before = lead.status
    if before.pk == to.pk:
        return False
    lead.status = to
    lead.updated_at = now()
    lead.save(update_fields=["status", "updated_at"])
    note_status(lead, before, to, actor)
    record(STATUS_CHANGED, lead, actor=actor, previous={"status": {"id": before.pk, "name": before.name, "role": before.role}})
    return True


def note_status(lead: Lead, before: Status | None, to: Status, actor: Actor) -> None:
    """A line of the history."""
    LeadStatusChange.objects.create(organization=lead.organization, lead=lead, from_status=before, to_status=to, **columns(actor))


def change_status(*, organization: Organization, actor: Actor, lead_id: uuid.UUID, status_id: uuid.UUID) -> Lead | None:
    """Move a lead by hand to any status of its board (interface 4.9, decision 18); None if there is no such lead."""

    def attempt() -> Lead | None:
        lead: Lead | None = Lead.objects.of(organization).locked().filter(pk=lead_id).first()
        if lead is None:
            return None
        lead.organization = organization
        move(lead, status_for(organization, Board.LEAD, status_id), actor=actor)
        return lead

    return settle_race(attempt)


def add_lead(*, organization: Organization, actor: Actor, email: str, **facts: Any) -> Lead:
    """Add a lead by hand (staff); 400 if the e-mail has one already."""

    def attempt() -> Lead:
        source = source_named(organization=organization, name="MANUAL")
        status = facts.pop("status", None) or defaults(organization, (Board.LEAD, Role.NEW_LEAD))[Board.LEAD, Role.NEW_LEAD]
        lead, is_new = find_or_create(organization=organization, actor=actor, email=email, status=status, source=source)
        if not is_new:
            raise Invalid({"email": ["belongs to a lead already"]})
        store(lead, facts)
        announce(lead, actor=actor)
        return lead

    return settle_race(attempt)


def edit_lead(*, organization: Organization, actor: Actor, lead: Lead, **facts: Any) -> Lead:
    """Change what is known of a lead (staff): names, phone, setter, touch point, status, custom values, e-mail."""

    def attempt() -> Lead:
        changes = dict(facts)
        stored = known_lead(organization=organization, lead_id=lead.pk)
        status = changes.pop("status", stored.status)
        store(stored, changes)
        move(stored, status, actor=actor)
        return stored

    return settle_race(attempt)


def store(lead: Lead, facts: dict[str, Any]) -> None:
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
