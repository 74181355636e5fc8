"""Booking a call: everything that goes with it, in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from appointments.members import recipients_for_booking, resolve_members
from appointments.models import Appointment, AppointmentSource, EventType
from appointments.notifications import build_appointment_notifications
from appointments.services._shared import build_note, build_outcome_change, update_lead_after_change
from appointments.topics import CREATED
from leads.models import Lead, Source
from leads.phones import parse_phone
from leads.services import (
    LEAD_ID_BY_EMAIL,
    build_lead,
    get_lead_for_update,
    get_or_create_lead,
    get_or_create_source,
    initial_status_change,
    merge_submission,
    record_lead_created,
    set_next_touch_point,
)
from notifications.models import Kind
from optins.models import UTM_FIELDS, OptIn
from organizations.actors import Actor
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict, ValidationFailed
from pipeline_backend.db.compiled import CombinedQuery, CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all, insert_or_get
from statuses.models import Board, Role, Status
from statuses.services import DEFAULT_STATUS_BY_ROLE
from webhooks.services import record_event

APPOINTMENT_BY_REFERENCE: CompiledQuery[tuple[UUID, datetime]] = CompiledQuery(
    lambda: (
        Appointment.objects.of(Param("organization"))
        .manual()
        .filter(external_reference=Param("reference"))
        .values_list("pk", "schedule_time")
    )
)
EVENT_TYPE: CompiledQuery[EventType] = CompiledQuery(
    lambda: EventType.objects.of(Param("organization")).filter(pk=Param("id"))
)
EVENT_TYPE_BY_NAME: CompiledQuery[EventType] = CompiledQuery(
    lambda: EventType.objects.of(Param("organization")).with_name(Param("name", "text"))
)
MANUAL_SOURCE: CompiledQuery[Source] = CompiledQuery(
    lambda: Source.objects.of(Param("organization")).with_name(AppointmentSource.MANUAL.value)
)
LATEST_OPT_IN_UTM: CompiledQuery[tuple[str | None, ...]] = CompiledQuery(
    lambda: (
        OptIn.objects.of(Param("organization"))
        .filter(lead=Param("lead"))
        .order_by("-created_at", "-id")
        .values_list(*UTM_FIELDS)[:1]
    )
)
CONTEXT_QUERY = CombinedQuery(
    APPOINTMENT_BY_REFERENCE,
    DEFAULT_STATUS_BY_ROLE[Board.LEAD],
    DEFAULT_STATUS_BY_ROLE[Board.APPOINTMENT],
    MANUAL_SOURCE,
    LEAD_ID_BY_EMAIL,
    EVENT_TYPE_BY_NAME,
)


class ReferenceConflict(Conflict):
    """The reference is booked for another time (interface 4.1, rule 3)."""

    message = "external_reference {reference} already maps to an appointment at a different time; use a new external_reference for a new booking"


@dataclass(frozen=True)
class BookingContext:
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


def book(
    *, organization: Organization, actor: Actor, external_reference: str | None, schedule_time: datetime, **wanted: Any
) -> Booking:
    """Book a call; safe to repeat with the same reference and time (interface 4.1).

    `wanted` holds the other fields of `BookingInput`. Raises `ReferenceTaken` for another time, `Invalid` for what the
    organization does not have.
    """

    def attempt() -> Booking:
        there = load_context(organization, external_reference, wanted)
        # A retry must succeed even if the host has left since, so the reference is looked at before anyone else.
        if there.booked:
            return already_booked(there.booked, external_reference, schedule_time)
        appointment = create_appointment(organization, actor, external_reference, schedule_time, wanted, there)
        return Booking(appointment.pk, is_new=True)

    return atomic_with_retry(attempt)


def load_context(organization: Organization, reference: str | None, wanted: dict[str, Any]) -> BookingContext:
    """What is there of it."""
    names = {"email": wanted.get("lead_email"), "name": wanted.get("event_type_name")}
    return BookingContext(
        *CONTEXT_QUERY.first(
            organization=organization.pk, reference=reference, role=Role.APPOINTMENT_BOOKED.value, **names
        )
    )


def already_booked(booked: tuple[UUID, datetime], reference: str | None, schedule_time: datetime) -> Booking:
    """The appointment of this reference, if it is at this time."""
    if booked[1] != schedule_time:
        raise ReferenceConflict(reference=reference)
    return Booking(booked[0], is_new=False)


def create_appointment(
    organization: Organization,
    actor: Actor,
    reference: str | None,
    schedule_time: datetime,
    wanted: dict[str, Any],
    there: BookingContext,
) -> Appointment:
    """The booking and everything that goes with it. Rows are locked in one order (source, lead, event type) by everyone."""
    people = resolve_members(organization, wanted)
    lead, is_new_lead = resolve_lead(organization, wanted, schedule_time, there)
    event_type = resolve_event_type(organization, wanted, there)
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
        **({} if is_new_lead else last_touch_utm(lead)),
    )
    note = wanted.get("notes", "")
    lines = [
        build_outcome_change(appointment, None, there.outcome, actor),
        *([initial_status_change(lead, actor=actor)] if is_new_lead else []),
    ]
    notes = [build_note(appointment, note, actor)] if note else []
    insert_all(
        appointment,
        *lines,
        *notes,
        *build_appointment_notifications(
            Kind.CALL_BOOKED, appointment, note, recipients_for_booking(organization, people)
        ),
    )
    if is_new_lead:
        record_lead_created(lead, actor=actor)
    else:
        update_lead_after_change(lead, there.lead_status, actor)
    record_event(CREATED, appointment, actor=actor)
    return appointment


def resolve_lead(
    organization: Organization, wanted: dict[str, Any], call_at: datetime, there: BookingContext
) -> tuple[Lead, bool]:
    """The booking's lead, locked, with its newest source and phone; `lead_id` wins over the e-mail. A new one is complete."""
    source = there.source or get_or_create_source(organization=organization, name=AppointmentSource.MANUAL.value)
    phone = parse_phone(wanted.get("lead_phone", ""), organization.default_country)
    if wanted.get("lead_id"):
        lead, is_new = get_lead_for_update(organization=organization, lead_id=wanted["lead_id"]), False
    else:
        email = wanted["lead_email"]
        names = {
            "first_name": wanted.get("lead_first_name") or email.partition("@")[0],
            "last_name": wanted.get("lead_last_name", ""),
        }
        fresh = build_lead(organization=organization, email=email, status=there.lead_status, source=source, **names)
        merge_submission(fresh, source=source, phone=phone)
        set_next_touch_point(fresh, call_at if call_at > now() else None)
        lead, is_new = get_or_create_lead(fresh, probably_exists=there.lead_id is not None)
    if not is_new:
        merge_submission(lead, source=source, phone=phone)
    return lead, is_new


def resolve_event_type(organization: Organization, wanted: dict[str, Any], there: BookingContext) -> EventType:
    """The booking's event type, made if its name is new; `event_type_id` wins over the name."""
    if not wanted.get("event_type_id"):
        name = wanted["event_type_name"]
        find = partial(EVENT_TYPE_BY_NAME.first, organization=organization.pk, name=name)
        return there.event_type or insert_or_get(EventType(organization=organization, name=name), find)[0]
    event_type = EVENT_TYPE.first(organization=organization.pk, id=wanted["event_type_id"])
    if event_type is None:
        raise ValidationFailed({"event_type_id": ["is not known in the organization"]})
    return event_type


def last_touch_utm(lead: Lead) -> dict[str, str | None]:
    """The campaign of the lead's latest opt-in (decision 26)."""
    latest = LATEST_OPT_IN_UTM.first(organization=lead.organization_id, lead=lead.pk)
    return dict(zip(UTM_FIELDS, latest, strict=True)) if latest else {}
