"""What is done to leads. Everything that changes one locks it first."""

import uuid
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from leads.events import CREATED, STATUS_CHANGED
from leads.models import CustomField, Lead, LeadStatusChange, Source, TouchPoint
from leads.phones import Phone
from organizations.actors import Actor, columns
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Invalid
from pipeline_backend.moments import now
from pipeline_backend.rows import Fixed, Slot, find_or_insert, insert, insert_or_find, settle_race, update
from statuses.models import PAID, Board, Role, Status
from statuses.services import defaults, status_for
from webhooks.services import record

SOURCE: Fixed[Source] = Fixed(lambda: Source.objects.of(Slot("organization")).named(Slot("name", "text")))
LEAD: Fixed[Lead] = Fixed(lambda: Lead.objects.of(Slot("organization")).locked().filter(pk=Slot("id")))
LEAD_OF_EMAIL: Fixed[Lead] = Fixed(lambda: Lead.objects.of(Slot("organization")).locked().with_email(Slot("organization"), Slot("email", "text")))
LEAD_ID: Fixed[tuple[uuid.UUID]] = Fixed(
    lambda: Lead.objects.of(Slot("organization")).with_email(Slot("organization"), Slot("email", "text")).values_list("pk")
)
FILLED = ["last_source", "first_name", "last_name", "setter", "phone_e164", "phone_country"]
POINTED = ["next_touch_point_at", "next_touch_point_type"]


def source_named(*, organization: Organization, name: str) -> Source:
    """The organization's source of this name, made on first use (decision 17)."""
    find = partial(SOURCE.first, organization=organization.pk, name=name)
    return find_or_insert(find, Source(organization=organization, name=name))[0]


def known_lead(*, organization: Organization, lead_id: uuid.UUID) -> Lead:
    """The lead with this id, locked; 400 if the organization has none."""
    lead = LEAD.first(organization=organization.pk, id=lead_id)
    if lead is None:
        raise Invalid({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    return lead


def find_or_create(fresh: Lead, *, is_known: bool = True) -> tuple[Lead, bool]:
    """The organization's lead of the same e-mail, locked, or this new one, stored as it is; True if new.

    `is_known` says whether there was one a moment ago: it decides what is tried first, not what is found.

    For a new lead the caller inserts the `first_line` of its history, and records `lead.created`: see `announce`.
    """
    find = partial(LEAD_OF_EMAIL.first, organization=fresh.organization_id, email=fresh.email)
    lead, is_new = find_or_insert(find, fresh) if is_known else insert_or_find(fresh, find)
    lead.organization = fresh.organization
    return lead, is_new


def new_lead(*, organization: Organization, email: str, status: Status, source: Source, **names: str) -> Lead:
    """A lead that is not stored yet."""
    return Lead(organization=organization, email=email, status=status, first_source=source, last_source=source, **names)


def first_line(lead: Lead, *, actor: Actor) -> LeadStatusChange:
    """How a new lead's history begins, not stored yet."""
    return status_line(lead, None, lead.status, actor)


def announce(lead: Lead, *, actor: Actor) -> None:
    """Record that the lead is new."""
    record(CREATED, lead, actor=actor)


def fill(lead: Lead, *, source: Source, phone: Phone | None = None, first_name: str = "", last_name: str = "", setter: Membership | None = None) -> None:
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


def point_at(lead: Lead, appointment_at: datetime | None) -> None:
    """Point the lead at its earliest upcoming appointment, or at none (decision 16).

    What staff set stays while it is still to come and earlier. Call it on a locked lead, then `keep`.
    """
    by_hand = lead.next_touch_point_at if lead.next_touch_point_type != TouchPoint.APPOINTMENT else None
    if by_hand and (appointment_at is None or now() < by_hand < appointment_at):
        return
    wanted = (appointment_at, TouchPoint.APPOINTMENT.value if appointment_at else None)
    if wanted == (lead.next_touch_point_at, lead.next_touch_point_type):
        return
    lead.next_touch_point_at, lead.next_touch_point_type = wanted
    lead.updated_at = now()


def keep(lead: Lead) -> None:
    """Store what `fill` and `point_at` have changed of a locked lead."""
    update(lead, *FILLED, *POINTED, "updated_at")


def move_automatically(lead: Lead, to: Status | None, *, actor: Actor) -> None:
    """A step that nobody chose, never out of a paid status (decision 20); `keep` in any case."""
    if to is None or lead.status.role in PAID or not move(lead, to, actor=actor):
        keep(lead)


def move(lead: Lead, to: Status, *, actor: Actor) -> bool:
    """Put a locked lead into a status, with history and event; False, and nothing recorded, if it is there already.

    What else has changed of the lead is stored with it: `keep`.
    """
    before = lead.status
    if before.pk == to.pk:
        return False
    lead.status = to
    lead.updated_at = now()
    update(lead, "status", *FILLED, *POINTED, "updated_at")
    insert(status_line(lead, before, to, actor))
    record(STATUS_CHANGED, lead, actor=actor, previous={"status": {"id": before.pk, "name": before.name, "role": before.role}})
    return True


def status_line(lead: Lead, before: Status | None, to: Status, actor: Actor) -> LeadStatusChange:
    """A line of the history, not stored yet."""
    return LeadStatusChange(organization=lead.organization, lead=lead, from_status=before, to_status=to, **columns(actor))


def change_status(*, organization: Organization, actor: Actor, lead_id: uuid.UUID, status_id: uuid.UUID) -> Lead | None:
    """Move a lead by hand to any status of its board (interface 4.9, decision 18); None if there is no such lead."""

    def attempt() -> Lead | None:
        lead = LEAD.first(organization=organization.pk, id=lead_id)
        if lead is None:
            return None
        lead.organization = organization
        move(lead, status_for(organization, Board.LEAD, status_id), actor=actor)
        return lead

    return settle_race(attempt)


def add_lead(*, organization: Organization, actor: Actor, email: str, **facts: Any) -> Lead:
    """Add a lead by hand (staff); 400 if the e-mail has one already."""

    def attempt() -> Lead:
        known = dict(facts)
        source = source_named(organization=organization, name="MANUAL")
        status = known.pop("status", None) or defaults(organization, (Board.LEAD, Role.NEW_LEAD))[Board.LEAD, Role.NEW_LEAD]
        lead, is_new = find_or_create(new_lead(organization=organization, email=email, status=status, source=source))
        if not is_new:
            raise Invalid({"email": ["belongs to a lead already"]})
        insert(first_line(lead, actor=actor))
        store(lead, known)
        announce(lead, actor=actor)
        return lead

    return settle_race(attempt)


def edit_lead(*, organization: Organization, actor: Actor, lead: Lead, **facts: Any) -> Lead:
    """Change what is known of a lead (staff): names, phone, setter, touch point, status, custom values, e-mail."""

    def attempt() -> Lead:
        changes = dict(facts)
        stored = known_lead(organization=organization, lead_id=lead.pk)
        status = changes.pop("status", stored.status)
        if "email" in changes:
            refuse_taken_email(stored, changes["email"])
        store(stored, changes)
        move(stored, status, actor=actor)
        return stored

    return settle_race(attempt)


def refuse_taken_email(lead: Lead, email: str) -> None:
    """400 if another lead has it."""
    if Lead.objects.of(lead.organization).with_email(lead.organization_id, email).exclude(pk=lead.pk).exists():
        raise Invalid({"email": ["belongs to another lead"]})


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
