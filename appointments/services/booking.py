"""Booking a call: everything that goes with it, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from appointments.events import CREATED
from appointments.models import Appointment, AppointmentSource, EventType
from appointments.notices import notify
from appointments.services.steps import BOOKED_CALL, BOOKED_LEAD, note_of, outcome_line, settle_lead
from leads.models import Lead
from leads.phones import read_phone
from leads.services import announce, fill, find_or_create, first_line, known_lead, new_lead, point_at, source_named
from notifications.models import Kind
from optins.models import UTM, OptIn
from organizations.actors import Actor
from organizations.models import Membership, Organization
from organizations.services import active_members
from pipeline_backend.api.exceptions import Conflict, Invalid
from pipeline_backend.moments import now
from pipeline_backend.rows import Fixed, Slot, find_or_insert, insert, settle_race
from statuses.models import Status
from statuses.services import defaults
from webhooks.services import record

BOOKED_AS: Fixed[tuple[UUID, datetime]] = Fixed(
    lambda: Appointment.objects.of(Slot("organization")).manual().filter(external_reference=Slot("reference")).values_list("pk", "schedule_time")
)
EVENT_TYPE: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).filter(pk=Slot("id")))
EVENT_TYPE_NAMED: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).named(Slot("name", "text")))
LAST_TOUCH: Fixed[tuple[str | None, ...]] = Fixed(
    lambda: OptIn.objects.of(Slot("organization")).filter(lead=Slot("lead")).order_by("-created_at", "-id").values_list(*UTM)[:1]
)


class ReferenceTaken(Conflict):
    """The reference is booked for another time (interface 4.1, rule 3)."""

    message = "external_reference {reference} already maps to an appointment at a different time; use a new external_reference for a new booking"


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
        # A retry must succeed even if the host has left since, so the reference is looked up before anyone else.
        known = already_booked(organization, external_reference, schedule_time)
        if known:
            return known
        appointment = write_booking(organization, actor, external_reference, schedule_time, wanted)
        return Booking(appointment.pk, is_new=True)

    return settle_race(attempt)


def already_booked(organization: Organization, reference: str | None, schedule_time: datetime) -> Booking | None:
    """The appointment of this reference, if it is at this time."""
    if reference is None:
        return None
    found = BOOKED_AS.first(organization=organization.pk, reference=reference)
    if found is None:
        return None
    if found[1] != schedule_time:
        raise ReferenceTaken(reference=reference)
    return Booking(found[0], is_new=False)


def write_booking(organization: Organization, actor: Actor, reference: str | None, schedule_time: datetime, wanted: dict[str, Any]) -> Appointment:
    """The booking and everything that goes with it. Rows are locked in one order (source, lead, event type) by everyone."""
    people = members_of(organization, wanted)
    statuses = defaults(organization, BOOKED_LEAD, BOOKED_CALL)
    lead, is_new_lead = lead_of(organization, wanted, statuses[BOOKED_LEAD], schedule_time)
    event_type = event_type_of(organization, wanted)
    appointment = Appointment(
        organization=organization,
        lead=lead,
        event_type=event_type,
        call_category=event_type.call_category,
        schedule_time=schedule_time,
        external_reference=reference,
        meeting_url=wanted.get("meeting_url"),
        outcome=statuses[BOOKED_CALL],
        first_source_id=lead.first_source_id,
        last_source_id=lead.last_source_id,
        **people,
        **({} if is_new_lead else last_touch(lead)),
    )
    note = wanted.get("notes", "")
    lines = [outcome_line(appointment, None, statuses[BOOKED_CALL], actor), *([first_line(lead, actor=actor)] if is_new_lead else [])]
    insert(appointment, *lines, *([note_of(appointment, note, actor)] if note else []))
    if is_new_lead:
        announce(lead, actor=actor)
    else:
        settle_lead(lead, statuses[BOOKED_LEAD], actor)
    record(CREATED, appointment, actor=actor)
    notify(Kind.CALL_BOOKED, appointment, note)
    return appointment


def members_of(organization: Organization, wanted: dict[str, Any]) -> dict[str, Membership]:
    """Host, setter and triager by their e-mails."""
    fields = {f"{role}_email": wanted[f"{role}_email"] for role in ("host", "setter", "triager") if wanted.get(f"{role}_email")}
    return {field.removesuffix("_email"): member for field, member in active_members(organization, fields).items()}


def lead_of(organization: Organization, wanted: dict[str, Any], status: Status, call_at: datetime) -> tuple[Lead, bool]:
    """The booking's lead, locked, with its newest source and phone; `lead_id` wins over the e-mail. A new one is complete."""
    source = source_named(organization=organization, name=AppointmentSource.MANUAL.value)
    phone = read_phone(wanted.get("lead_phone", ""), organization.default_country)
    if wanted.get("lead_id"):
        lead, is_new = known_lead(organization=organization, lead_id=wanted["lead_id"]), False
    else:
        email = wanted["lead_email"]
        names = {"first_name": wanted.get("lead_first_name") or email.partition("@")[0], "last_name": wanted.get("lead_last_name", "")}
        fresh = new_lead(organization=organization, email=email, status=status, source=source, **names)
        fill(fresh, source=source, phone=phone)
        point_at(fresh, call_at if call_at > now() else None)
        lead, is_new = find_or_create(fresh)
    if not is_new:
        fill(lead, source=source, phone=phone)
    return lead, is_new


def event_type_of(organization: Organization, wanted: dict[str, Any]) -> EventType:
    """The booking's event type, made if its name is new; `event_type_id` wins over the name."""
    if not wanted.get("event_type_id"):
        name = wanted["event_type_name"]
        find = partial(EVENT_TYPE_NAMED.first, organization=organization.pk, name=name)
        return find_or_insert(find, EventType(organization=organization, name=name))[0]
    event_type = EVENT_TYPE.first(organization=organization.pk, id=wanted["event_type_id"])
    if event_type is None:
        raise Invalid({"event_type_id": ["is not known in the organization"]})
    return event_type


def last_touch(lead: Lead) -> dict[str, str | None]:
    """The campaign of the lead's latest opt-in (decision 26)."""
    latest = LAST_TOUCH.first(organization=lead.organization_id, lead=lead.pk)
    return dict(zip(UTM, latest, strict=True)) if latest else {}
