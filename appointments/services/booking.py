"""The service that books appointments."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypedDict, Unpack
from uuid import UUID

from django.conf import settings

from appointments.members import recipients_for_booking, resolve_members
from appointments.models import Appointment, AppointmentSource, EventType, Provider
from appointments.notifications import build_appointment_notifications
from appointments.services._shared import build_note, build_outcome_change, update_lead_after_change
from appointments.topics import CREATED
from leads.models import Lead, Source
from leads.phones import parse_phone
from leads.services import (
    LEAD_ID_BY_EMAIL,
    SOURCE_BY_NAME,
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
from organizations.limits import can_add_row
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict, ValidationFailed
from pipeline_backend.db.compiled import CombinedQuery, CompiledQuery, Param
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all, insert_or_get
from statuses.models import Board, Status, StatusRole
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
EVENT_TYPE_BY_NAME: CompiledQuery[EventType] = CompiledQuery(
    lambda: EventType.objects.of(Param("organization")).with_name(Param("event_type_name", "text"))
)
# One round trip to the database instead of six. The columns are the fields of `BookingContext`. Compiled for the
# benchmark "create an appointment".
CONTEXT_QUERY = CombinedQuery(
    APPOINTMENT_BY_REFERENCE,
    DEFAULT_STATUS_BY_ROLE[Board.LEAD],
    DEFAULT_STATUS_BY_ROLE[Board.APPOINTMENT],
    SOURCE_BY_NAME,
    LEAD_ID_BY_EMAIL,
    EVENT_TYPE_BY_NAME,
)


class ReferenceConflict(Conflict):
    """The reference is booked for another time (docs/interface.md, A16)."""

    message = (
        "external_reference {reference} already maps to an appointment at a different time; "
        "use a new external_reference for a new booking"
    )


class BookingData(TypedDict, total=False):
    """The fields of a booking request except reference and time. `BookingInputSerializer` describes them."""

    lead_id: UUID
    lead_email: str
    lead_first_name: str
    lead_last_name: str
    lead_phone: str
    event_type_id: UUID
    event_type_name: str
    host_email: str
    setter_email: str
    triager_email: str
    meeting_url: str | None
    notes: str


@dataclass(frozen=True)
class BookingContext:
    """Existing rows that a booking refers to.

    They are read without locks, so a missing row can still appear; the functions that insert one handle that.
    """

    appointment: tuple[UUID, datetime] | None  # id and time of the appointment with the reference
    lead_status: Status
    outcome: Status
    source: Source | None
    lead_id: tuple[UUID] | None
    event_type: EventType | None


@dataclass(frozen=True)
class Booking:
    """The result of `book`."""

    id: UUID
    is_new: bool


def book(
    *,
    organization: Organization,
    actor: Actor,
    external_reference: str | None,
    schedule_time: datetime,
    **data: Unpack[BookingData],
) -> Booking:
    """Book an appointment, and create its lead, source and event type if there are none yet.

    Safe to repeat: if the reference is booked for the same time, returns that appointment and changes nothing.
    Raises ReferenceConflict if it is booked for another time, and ValidationFailed if a member, the lead id or the
    event type id is unknown, or if the event type is new and the organization has `MAX_EVENT_TYPES`. Locks the lead,
    and for a new event type the organization.
    """

    def attempt() -> Booking:
        source = AppointmentSource.MANUAL
        context = load_context(organization, source, external_reference, data)
        # The reference is checked before the members, so that a retry succeeds even if the host has left since.
        if context.appointment:
            appointment_id, booked_time = context.appointment
            if booked_time != schedule_time:
                raise ReferenceConflict(reference=external_reference)
            return Booking(appointment_id, is_new=False)
        appointment = create_appointment(organization, actor, source, external_reference, schedule_time, data, context)
        return Booking(appointment.pk, is_new=True)

    return atomic_with_retry(attempt)


def load_context(
    organization: Organization, source: AppointmentSource, reference: str | None, data: BookingData
) -> BookingContext:
    """Return the rows that the booking refers to, read in one query."""
    return BookingContext(
        *CONTEXT_QUERY.first(
            organization=organization.pk,
            reference=reference,
            role=StatusRole.APPOINTMENT_BOOKED.value,
            name=source.value,
            email=data.get("lead_email"),
            event_type_name=data.get("event_type_name"),
        )
    )


def create_appointment(
    organization: Organization,
    actor: Actor,
    source: AppointmentSource,
    reference: str | None,
    schedule_time: datetime,
    data: BookingData,
    context: BookingContext,
) -> Appointment:
    """Insert the appointment with its history, note and notifications; update or create its lead; record the events.

    Nobody is notified about an appointment of a provider, which sends invitations of its own.
    """
    # Every transaction locks in the same order (source, lead, event type), so that no two of them deadlock.
    members = resolve_members(organization, data)
    lead, is_new_lead = resolve_lead(organization, source, data, schedule_time, context)
    event_type = resolve_event_type(organization, source, data, context)

    appointment = Appointment(
        organization=organization,
        lead=lead,
        event_type=event_type,
        call_category=event_type.call_category,
        schedule_time=schedule_time,
        source=source,
        external_reference=reference,
        meeting_url=data.get("meeting_url"),
        outcome=context.outcome,
        first_source_id=lead.first_source_id,
        last_source_id=lead.last_source_id,
        **members,
        **({} if is_new_lead else last_touch_utm(lead)),
    )
    note = data.get("notes", "")
    notifications = []
    if source == AppointmentSource.MANUAL:
        recipients = recipients_for_booking(organization, members.values())
        notifications = build_appointment_notifications(Kind.CALL_BOOKED, appointment, note, recipients)
    # All rows in one statement: each further one would cost a round trip.
    insert_all(
        appointment,
        build_outcome_change(appointment, None, context.outcome, actor),
        *([initial_status_change(lead, actor=actor)] if is_new_lead else []),
        *([build_note(appointment, note, actor)] if note else []),
        *notifications,
    )
    if is_new_lead:
        record_lead_created(lead, actor=actor)
    else:
        update_lead_after_change(lead, context.lead_status, actor)
    record_event(CREATED, appointment, actor=actor)
    return appointment


def resolve_lead(
    organization: Organization,
    appointment_source: AppointmentSource,
    data: BookingData,
    schedule_time: datetime,
    context: BookingContext,
) -> tuple[Lead, bool]:
    """Return the booking's lead, locked, and whether it is new. `lead_id` takes precedence over the e-mail.

    Phone and source are merged into it. A new lead is inserted; the caller saves the changes to an existing one.
    """
    source = context.source or get_or_create_source(organization=organization, name=appointment_source.value)
    phone = parse_phone(data.get("lead_phone", ""), organization.default_country)
    if lead_id := data.get("lead_id"):
        lead, is_new = get_lead_for_update(organization=organization, lead_id=lead_id), False
    else:
        email = data["lead_email"]
        new_lead = build_lead(
            organization=organization,
            email=email,
            status=context.lead_status,
            source=source,
            first_name=data.get("lead_first_name") or email.partition("@")[0],
            last_name=data.get("lead_last_name", ""),
        )
        merge_submission(new_lead, source=source, phone=phone)
        set_next_touch_point(new_lead, schedule_time if schedule_time > now() else None)
        lead, is_new = get_or_create_lead(new_lead, probably_exists=context.lead_id is not None)
    if not is_new:
        merge_submission(lead, source=source, phone=phone)
    return lead, is_new


def resolve_event_type(
    organization: Organization, source: AppointmentSource, data: BookingData, context: BookingContext
) -> EventType:
    """Return the booking's event type, created if its name is new. `event_type_id` takes precedence over the name.

    Raises ValidationFailed if the id is unknown, or if the name is new and the organization has `MAX_EVENT_TYPES`.
    """
    if event_type_id := data.get("event_type_id"):
        known: EventType | None = EventType.objects.of(organization).filter(pk=event_type_id).first()
        if known is None:
            raise ValidationFailed({"event_type_id": ["is not known in the organization"]})
        return known
    if context.event_type:
        return context.event_type
    name = data["event_type_name"]
    find = partial(EVENT_TYPE_BY_NAME.first, organization=organization.pk, event_type_name=name)
    event_types = EventType.objects.of(organization)
    if not can_add_row(organization=organization, rows=event_types, limit=settings.MAX_EVENT_TYPES):
        # Another booking may have created this event type while we waited for the lock.
        event_type = find()
        if event_type is None:
            problem = f"is new, but an organization can have at most {settings.MAX_EVENT_TYPES} event types"
            raise ValidationFailed({"event_type_name": [f"{problem}; use one that exists"]})
        return event_type
    provider = source if source in Provider.values else None
    return insert_or_get(EventType(organization=organization, name=name, provider=provider), find)[0]


def last_touch_utm(lead: Lead) -> dict[str, str | None]:
    """Return the UTM fields of the lead's latest opt-in, or an empty dict without one."""
    opt_ins = OptIn.objects.of(lead.organization_id).filter(lead=lead).order_by("-created_at", "-id")
    return opt_ins.values(*UTM_FIELDS).first() or {}
