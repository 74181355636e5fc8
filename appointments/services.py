"""Booking, rescheduling, canceling, outcomes and notes: the only ways in which an appointment changes."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import ProtectedError

from appointments.events import CANCELED, CREATED, OUTCOME_CHANGED, RESCHEDULED
from appointments.models import Appointment, AppointmentSource, CallAnalysis, EventType, Note, OutcomeChange
from appointments.notices import latest_note, notify
from leads.models import Lead
from leads.phones import read_phone
from leads.services import announce, fill, find_or_create, first_line, known_lead, move_automatically, new_lead, point_at, source_named
from notifications.models import Kind
from optins.models import UTM, OptIn
from organizations.actors import Actor, columns
from organizations.models import Membership, Organization
from organizations.services import active_members
from pipeline_backend.api.exceptions import Conflict, Invalid, Missing
from pipeline_backend.moments import now, show
from pipeline_backend.rows import Fixed, Slot, find_or_insert, insert, settle_race
from statuses.models import Board, Role, Status
from statuses.services import defaults, status_for
from webhooks.services import record

BOOKED_LEAD = (Board.LEAD, Role.APPOINTMENT_BOOKED)
BOOKED_CALL = (Board.APPOINTMENT, Role.APPOINTMENT_BOOKED)
CANCELED_LEAD = (Board.LEAD, Role.CANCELED)
CANCELED_CALL = (Board.APPOINTMENT, Role.CANCELED)

BOOKED_AS: Fixed[tuple[UUID, datetime]] = Fixed(
    lambda: Appointment.objects.of(Slot("organization")).manual().filter(external_reference=Slot("reference")).values_list("pk", "schedule_time")
)
EVENT_TYPE: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).filter(pk=Slot("id")))
EVENT_TYPE_NAMED: Fixed[EventType] = Fixed(lambda: EventType.objects.of(Slot("organization")).named(Slot("name", "text")))
LAST_TOUCH: Fixed[tuple[str | None, ...]] = Fixed(
    lambda: OptIn.objects.of(Slot("organization")).filter(lead=Slot("lead")).order_by("-created_at", "-id").values_list(*UTM)[:1]
)
NEXT_CALL: Fixed[tuple[datetime]] = Fixed(
    lambda: (
        Appointment.objects.of(Slot("organization")).filter(lead=Slot("lead")).upcoming(Slot("now")).order_by("schedule_time").values_list("schedule_time")[:1]
    )
)


class ReferenceTaken(Conflict):
    """The reference is booked for another time (interface 4.1, rule 3)."""

    message = "external_reference {reference} already maps to an appointment at a different time; use a new external_reference for a new booking"


class NotBooked(Missing):
    """Nothing to cancel (interface 4.2, rule 3)."""

    message = "No appointment found for external_reference {reference}"


class ManagedElsewhere(Conflict):
    """A provider's appointment (decision 23)."""

    message = "The appointment for external_reference {reference} is managed by {provider}; cancel it there"


class EventTypeInUse(Conflict):
    """Calls were booked with it."""

    message = "Calls are booked as {name}, so it stays"


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


def earliest_upcoming(lead: Lead) -> datetime | None:
    """When the lead's next call is. The lead is locked, so that two changes see each other's calls."""
    found = NEXT_CALL.first(organization=lead.organization_id, lead=lead.pk, now=now())
    return found[0] if found else None


def cancel(*, organization: Organization, actor: Actor, external_reference: str, notes: str = "") -> Appointment:
    """Cancel a booking made through the interface; safe to repeat (interface 4.2)."""

    def attempt() -> Appointment:
        rows = Appointment.objects.of(organization)
        appointment: Appointment | None = rows.manual().locked().filter(external_reference=external_reference).first()
        if appointment is None:
            raise whose(organization, external_reference)
        appointment.organization = organization
        return write_cancellation(appointment, actor, notes)

    return settle_race(attempt)


def whose(organization: Organization, reference: str) -> Conflict | Missing:
    """Why there is nothing here to cancel: a provider has it, or nobody."""
    elsewhere = Appointment.objects.of(organization).filter(external_reference=reference).exclude(source=AppointmentSource.MANUAL).first()
    if elsewhere is None:
        return NotBooked(reference=reference)
    return ManagedElsewhere(reference=reference, provider=elsewhere.source)


def cancel_appointment(*, organization: Organization, actor: Actor, appointment: Appointment, notes: str = "") -> Appointment:
    """Cancel any appointment by hand (staff), with the same effects."""

    def attempt() -> Appointment:
        return write_cancellation(locked(organization, appointment), actor, notes)

    return settle_race(attempt)


def write_cancellation(appointment: Appointment, actor: Actor, notes: str, outcome: Status | None = None) -> Appointment:
    """The cancellation of a locked appointment; events and mails only if something changes (decision 28)."""
    statuses = defaults(appointment.organization, CANCELED_LEAD, CANCELED_CALL)
    add_note(appointment, notes, actor=actor)
    is_canceled = appointment.outcome is not None and appointment.outcome.role == Role.CANCELED and outcome in (None, appointment.outcome)
    if is_canceled and appointment.meeting_url is None:
        return appointment
    previous = changed(outcome=None if is_canceled else brief(appointment.outcome), meeting_url=appointment.meeting_url)
    appointment.meeting_url = None
    appointment.invitation_sequence += 1
    set_outcome(appointment, appointment.outcome if is_canceled else outcome or statuses[CANCELED_CALL], actor)
    appointment.lead = known_lead(organization=appointment.organization, lead_id=appointment.lead_id)
    settle_lead(appointment.lead, statuses[CANCELED_LEAD], actor)
    record(CANCELED, appointment, actor=actor, previous=previous)
    notify(Kind.CALL_CANCELED, appointment, latest_note(appointment))
    return appointment


def settle_lead(lead: Lead, status: Status | None, actor: Actor) -> None:
    """Point a locked lead at its next call and move it, all in one write; to a canceled status only without a next call (decision 20)."""
    upcoming = earliest_upcoming(lead)
    point_at(lead, upcoming)
    is_kept = upcoming is not None and status is not None and status.role == Role.CANCELED
    move_automatically(lead, None if is_kept else status, actor=actor)


def reschedule(*, organization: Organization, actor: Actor, appointment: Appointment, to: datetime) -> Appointment:
    """Move a call to another time (staff). A canceled or missed call is booked again by it."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        if stored.schedule_time != to:
            write_move(stored, to, actor)
        return stored

    return settle_race(attempt)


def write_move(appointment: Appointment, to: datetime, actor: Actor) -> None:
    """The move of a locked appointment."""
    statuses = defaults(appointment.organization, BOOKED_LEAD, BOOKED_CALL)
    previous = {"schedule_time": show(appointment.schedule_time)}
    appointment.schedule_time = to
    appointment.invitation_sequence += 1
    is_over = appointment.outcome is None or appointment.outcome.role in (Role.CANCELED, Role.NO_SHOW)
    set_outcome(appointment, statuses[BOOKED_CALL] if is_over else appointment.outcome, actor)
    appointment.lead = known_lead(organization=appointment.organization, lead_id=appointment.lead_id)
    settle_lead(appointment.lead, statuses[BOOKED_LEAD] if is_over else None, actor)
    record(RESCHEDULED, appointment, actor=actor, previous=previous)
    notify(Kind.CALL_RESCHEDULED, appointment, latest_note(appointment))


def change_outcome(*, organization: Organization, actor: Actor, appointment: Appointment, status_id: UUID) -> Appointment:
    """Move an appointment to any status of its board (staff, decision 21); to a canceled one, it is canceled."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        status = status_for(organization, Board.APPOINTMENT, status_id)
        if status == stored.outcome:
            return stored
        if status.role == Role.CANCELED:
            return write_cancellation(stored, actor, "", outcome=status)
        previous = {"outcome": brief(stored.outcome), "no_show": stored.no_show}
        set_outcome(stored, status, actor)
        stored.lead = known_lead(organization=organization, lead_id=stored.lead_id)
        settle_lead(stored.lead, None, actor)
        record(OUTCOME_CHANGED, stored, actor=actor, previous=previous)
        return stored

    return settle_race(attempt)


def edit_appointment(*, organization: Organization, actor: Actor, appointment: Appointment, **facts: Any) -> Appointment:
    """Change people, addresses, type or custom values (staff); time and outcome have their own services."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        for name, value in facts.items():
            setattr(stored, name, value)
        stored.updated_at = now()
        stored.save(update_fields=[*facts, "updated_at"])
        return stored

    return settle_race(attempt)


def locked(organization: Organization, appointment: Appointment) -> Appointment:
    """The organization's appointment as it is now, for a change."""
    stored: Appointment = Appointment.objects.of(organization).locked().get(pk=appointment.pk)
    stored.organization = organization
    return stored


def set_outcome(appointment: Appointment, status: Status | None, actor: Actor) -> None:
    """Write the outcome, what follows from it, and the other changes made so far on a locked appointment."""
    before = appointment.outcome
    appointment.outcome = status
    appointment.no_show = status is not None and status.role == Role.NO_SHOW
    appointment.updated_at = now()
    appointment.save(update_fields=["outcome", "no_show", "meeting_url", "schedule_time", "invitation_sequence", "updated_at"])
    if status is not None and status != before:
        insert(outcome_line(appointment, before, status, actor))


def outcome_line(appointment: Appointment, before: Status | None, to: Status, actor: Actor) -> OutcomeChange:
    """A line of the history, not stored yet."""
    return OutcomeChange(organization=appointment.organization, appointment=appointment, from_status=before, to_status=to, **columns(actor))


def add_note(appointment: Appointment, text: str, *, actor: Actor, mentions: list[Membership] | None = None) -> None:
    """Store a note, unless the appointment has the same one already: a retry adds nothing."""
    notes = Note.objects.of(appointment.organization).filter(appointment=appointment, note=text)
    if not text or notes.exists():
        return
    note = note_of(appointment, text, actor)
    insert(note)
    note.mention_users.set(mentions or [])


def note_of(appointment: Appointment, text: str, actor: Actor) -> Note:
    """A note, not stored yet."""
    return Note(organization=appointment.organization, appointment=appointment, note=text, **columns(actor))


def changed(**old: Any) -> dict[str, Any]:
    """`previous` of a cancellation: the old values of what it takes away."""
    return {name: value for name, value in old.items() if value is not None}


@transaction.atomic
def write_note(*, organization: Organization, actor: Actor, appointment: Appointment, text: str, mentions: list[Membership]) -> None:
    """Add a note by hand (staff)."""
    add_note(locked(organization, appointment), text, actor=actor, mentions=mentions)


@transaction.atomic
def save_event_type(*, organization: Organization, event_type: EventType) -> EventType:
    """Store a new or changed event type (staff); calls that are booked keep their category."""
    event_type.organization = organization
    event_type.save()
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, event_type: EventType) -> None:
    """Delete an event type that no call has."""
    try:
        EventType.objects.of(organization).get(pk=event_type.pk).delete()
    except ProtectedError:
        raise EventTypeInUse(name=event_type.name) from None


@transaction.atomic
def save_analysis(*, organization: Organization, analysis: CallAnalysis) -> CallAnalysis:
    """Store what the analysis platform made of a call (staff)."""
    analysis.organization = organization
    analysis.save()
    return analysis


def brief(status: Status | None) -> dict[str, Any] | None:
    """A status in `previous`."""
    return {"id": status.pk, "name": status.name, "role": status.role} if status else None
