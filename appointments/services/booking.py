"""Booking a call: everything that goes with it, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from appointments.events import CREATED
from appointments.models import Appointment, AppointmentSource, EventType
from appointments.notices import notices
from appointments.people import invited, told
from appointments.services.steps import note_of, outcome_line, settle_lead
from leads.models import Lead, Source
from leads.phones import read_phone
from leads.services import LEAD_ID, announce, fill, find_or_create, first_line, known_lead, new_lead, point_at, source_named
from notifications.models import Kind
from optins.models import UTM, OptIn
from organizations.actors import Actor
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict, Invalid
from pipeline_backend.moments import now
from pipeline_backend.rows import Fixed, Slot, Together, insert, insert_or_find, settle_race
from statuses.models import Board, Role, Status
from statuses.services import DEFAULT_ON
from webhooks.services import record

BOOKED_AS: Fixed[tuple[UUID, datetime]] = Fixed(
    lambda: Appointment.objects.of(Slot("organization")).manual().filter(external_reference=Slot("reference")).values_list("pk", "schedule_time")
)
EVENT_TYPE: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).filter(pk=Slot("id")))
EVENT_TYPE_NAMED: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).named(Slot("name", "text")))
MANUAL: Fixed[Source] = Fixed(lambda: Source.objects.of(Slot("organization")).named(AppointmentSource.MANUAL.value))
LAST_TOUCH: Fixed[tuple[str | None, ...]] = Fixed(
    lambda: OptIn.objects.of(Slot("organization")).filter(lead=Slot("lead")).order_by("-created_at", "-id").values_list(*UTM)[:1]
)
THERE = Together(BOOKED_AS, DEFAULT_ON[Board.LEAD], DEFAULT_ON[Board.APPOINTMENT], MANUAL, LEAD_ID, EVENT_TYPE_NAMED)


class ReferenceTaken(Conflict):
    """The reference is booked for another time (interface 4.1, rule 3)."""

    message = "external_reference {reference} already maps to an appointment at a different time; use a new external_reference for a new booking"


@dataclass(frozen=True)
class There:
    """What the organization has of what a booking needs, as `THERE` finds it. Nothing is locked: what is not there may come, and is found then."""

    booked: tuple[UUID, datetime] | None
    lead_status: Status
    outcome: Status
    source: Source | None
    lead_id: tuple[UUID] | None
    event_type: EventType | None


@dataclass(frozen=True)
class Booking:
    """What became of a booking request."""

    id: UUID
    is_new: bool


def book(*, organization: Organization, actor: Actor, external_reference: str | None, schedule_time: datetime, **wanted: Any) -> Booking:
    """Book a call; safe to repeat with the same reference and time (interface 4.1).

    `wanted` holds the other fields of `BookingInput`. Raises `ReferenceTaken` for another time, `Invalid` for what the
    organization does not have.
    """

    def attempt() -> Booking:
        there = look(organization, external_reference, wanted)
        # A retry must succeed even if the host has left since, so the reference is looked at before anyone else.
        if there.booked:
            return already_booked(there.booked, external_reference, schedule_time)
        appointment = write_booking(organization, actor, external_reference, schedule_time, wanted, there)
        return Booking(appointment.pk, is_new=True)

    return settle_race(attempt)


def look(organization: Organization, reference: str | None, wanted: dict[str, Any]) -> There:
    """What is there of it."""
    names = {"email": wanted.get("lead_email"), "name": wanted.get("event_type_name")}
    return There(*THERE.first(organization=organization.pk, reference=reference, role=Role.APPOINTMENT_BOOKED.value, **names))


def already_booked(booked: tuple[UUID, datetime], reference: str | None, schedule_time: datetime) -> Booking:
    """The appointment of this reference, if it is at this time."""
    if booked[1] != schedule_time:
        raise ReferenceTaken(reference=reference)
    return Booking(booked[0], is_new=False)


def write_booking(
    organization: Organization, actor: Actor, reference: str | None, schedule_time: datetime, wanted: dict[str, Any], there: There
) -> Appointment:
    """The booking and everything that goes with it. Rows are locked in one order (source, lead, event type) by everyone."""
    people = invited(organization, wanted)
    lead, is_new_lead = lead_of(organization, wanted, schedule_time, there)
    event_type = event_type_of(organization, wanted, there)
    appointment = Appointment(
        organization=organization,
        lead=lead,
        event_type=event_type,
        call_category=event_type.call_category,
        schedule_time=schedule_time,
        external_reference=reference,
        meeting_url=wanted.get("meeting_url"),
        outcome=there.outcome,
        first_source_id=lead.first_source_id,
        last_source_id=lead.last_source_id,
        **people,
        **({} if is_new_lead else last_touch(lead)),
    )
    note = wanted.get("notes", "")
    lines = [outcome_line(appointment, None, there.outcome, actor), *([first_line(lead, actor=actor)] if is_new_lead else [])]
    notes = [note_of(appointment, note, actor)] if note else []
    insert(appointment, *lines, *notes, *notices(Kind.CALL_BOOKED, appointment, note, told(organization, people)))
    if is_new_lead:
        announce(lead, actor=actor)
    else:
        settle_lead(lead, there.lead_status, actor)
    record(CREATED, appointment, actor=actor)
    return appointment


def lead_of(organization: Organization, wanted: dict[str, Any], call_at: datetime, there: There) -> tuple[Lead, bool]:
    """The booking's lead, locked, with its newest source and phone; `lead_id` wins over the e-mail. A new one is complete."""
    source = there.source or source_named(organization=organization, name=AppointmentSource.MANUAL.value)
    phone = read_phone(wanted.get("lead_phone", ""), organization.default_country)
    if wanted.get("lead_id"):
        lead, is_new = known_lead(organization=organization, lead_id=wanted["lead_id"]), False
    else:
        email = wanted["lead_email"]
        names = {"first_name": wanted.get("lead_first_name") or email.partition("@")[0], "last_name": wanted.get("lead_last_name", "")}
        fresh = new_lead(organization=organization, email=email, status=there.lead_status, source=source, **names)
        fill(fresh, source=source, phone=phone)
        point_at(fresh, call_at if call_at > now() else None)
        lead, is_new = find_or_create(fresh, is_known=there.lead_id is not None)
    if not is_new:
        fill(lead, source=source, phone=phone)
    return lead, is_new


def event_type_of(organization: Organization, wanted: dict[str, Any], there: There) -> EventType:
    """The booking's event type, made if its name is new; `event_type_id` wins over the name."""
    if not wanted.get("event_type_id"):
        name = wanted["event_type_name"]
        find = partial(EVENT_TYPE_NAMED.first, organization=organization.pk, name=name)
        return there.event_type or insert_or_find(EventType(organization=organization, name=name), find)[0]
    event_type = EVENT_TYPE.first(organization=organization.pk, id=wanted["event_type_id"])
    if event_type is None:
        raise Invalid({"event_type_id": ["is not known in the organization"]})
    return event_type


def last_touch(lead: Lead) -> dict[str, str | None]:
    """The campaign of the lead's latest opt-in (decision 26)."""
    latest = LAST_TOUCH.first(organization=lead.organization_id, lead=lead.pk)
    return dict(zip(UTM, latest, strict=True)) if latest else {}
