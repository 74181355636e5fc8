"""The service that books appointments."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple, Required, TypedDict, Unpack
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from uuid_utils.compat import uuid7

from appointments.lead_notifications import queue_lead_email, reminder_time
from appointments.models import (
    Appointment,
    AppointmentSource,
    EventType,
    FormerReference,
    Note,
    OutcomeChange,
    Provider,
)
from appointments.notifications import build_appointment_notifications
from appointments.services.changes import replace_outcome, role_of
from appointments.services.configuration import MAX_EVENT_TYPES
from appointments.services.leads import update_lead
from appointments.services.remembering import REFERENCE_LOCK, REMEMBERED_CANCELLATION, cancel_remembered
from appointments.topics import CREATED, NOTE_CREATED
from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.compiled import CombinedQuery, CompiledQuery, Param
from foundation.db.names import fold_name
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_or_get
from leads.custom_values import merge_custom_values
from leads.models import CustomField, Lead, Source, TouchPointType
from leads.phones import parse_phone
from leads.services import (
    SOURCE_BY_NAME,
    LeadValues,
    find_members,
    get_or_create_source,
    normalized_source_name,
    upsert_lead,
)
from notifications.models import Kind, Notification
from notifications.services import insert_notifications
from optins.models import UTM_FIELDS, OptIn
from optins.services import find_setter
from organizations.actors import Actor, ActorKind, actor_columns
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.services import can_add_row
from statuses.models import FINAL_ROLES, RESULT_ROLES, Board, Status, StatusRole
from statuses.services import DEFAULT_STATUS_BY_ROLE, default_status
from webhooks.events import one_statement, record_event

APPOINTMENT_BY_REFERENCE: CompiledQuery[tuple[UUID, datetime, datetime | None]] = CompiledQuery(
    lambda: (
        Appointment.objects.of(Param("organization"))
        .filter(source=Param("source"), external_reference=Param("reference"))
        .values_list("pk", "schedule_time", "booked_for")
    )
)
APPOINTMENT_BY_FORMER_REFERENCE: CompiledQuery[tuple[UUID, datetime, datetime]] = CompiledQuery(
    lambda: (
        FormerReference.objects.of(Param("organization"))
        .filter(source=Param("source"), external_reference=Param("reference"))
        .values_list("appointment_id", "appointment__schedule_time", "booked_for")
    )
)


def opt_ins_with_utm_values() -> QuerySet[OptIn]:
    """Return a lead's opt-ins that say where it came from, newest first.

    The answers of a scheduler's booking don't say that, unless the scheduler does.
    """
    opt_ins = OptIn.objects.of(Param("organization")).filter(lead=Param("lead")).order_by("-created_at", "-id")
    reference = {"source": OuterRef("source"), "external_reference": OuterRef("external_reference")}
    rows = [model.objects.of(Param("organization")).filter(**reference) for model in (Appointment, FormerReference)]
    is_of_booking = Exists(rows[0]) | Exists(rows[1])
    found: QuerySet[OptIn] = opt_ins.exclude(Q(source__in=Provider.values, utm_source=None) & is_of_booking)
    return found


# Compiled for the benchmark "create an appointment of a known lead".
LATEST_UTM_VALUES: CompiledQuery[tuple[str | None, ...]] = CompiledQuery(
    lambda: opt_ins_with_utm_values().values_list(*UTM_FIELDS)[:1]
)
EVENT_TYPE_BY_NAME: CompiledQuery[EventType] = CompiledQuery(
    lambda: EventType.objects.of(Param("organization")).filter(name_key=Param("event_type_key"))
)
# One round trip to the database instead of six (benchmark row "create an appointment").
CONTEXT_QUERY = CombinedQuery(
    APPOINTMENT_BY_REFERENCE,
    APPOINTMENT_BY_FORMER_REFERENCE,
    DEFAULT_STATUS_BY_ROLE[Board.LEAD],
    DEFAULT_STATUS_BY_ROLE[Board.APPOINTMENT],
    SOURCE_BY_NAME,
    EVENT_TYPE_BY_NAME,
    REMEMBERED_CANCELLATION,
    REFERENCE_LOCK,
)


class BookingData(TypedDict, total=False):
    """The fields of `BookingInputSerializer`, and two more.

    The admin's form chooses the `id` of the new appointment. With `fills_names`, as in an import, a known lead gets the
    names that it lacks (L4).
    """

    id: UUID
    fills_names: bool
    external_reference: Required[str | None]
    schedule_time: Required[datetime]
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
    traffic: Mapping[str, str | None]
    duration_minutes: int
    custom_fields: Mapping[str, object]
    notify: bool
    notify_lead: bool | None


class Booking(NamedTuple):
    id: UUID
    schedule_time: datetime
    is_new: bool
    booked_for: datetime | None = None  # the time that its reference was booked for, if it has moved since
    is_over: bool = False  # a new appointment whose call had ended before it was booked
    is_applied: bool = True  # False: a scheduler's state that is older than the stored one


@atomic_with_retry
def book(*, organization: Organization, actor: Actor, **data: Unpack[BookingData]) -> Booking:
    """Book an appointment, and create its lead, source and event type if there are none yet.

    Safe to repeat: a reference first booked for this time, or moved to it, returns its appointment and changes nothing.
    Raises Conflict if it is booked for another time (docs/interface.md, A16); ValidationFailed if a member, lead id or
    event type id is unknown, a custom value is invalid, or the event type is new and the organization has
    `MAX_EVENT_TYPES`. Locks the lead, and for a new event type the organization.
    """
    # An integration has its own e-mails to leads, unless it says otherwise.
    notifies_lead = data.get("notify_lead", actor.kind == ActorKind.STAFF)
    booking = find_or_book(
        organization,
        actor,
        AppointmentSource.MANUAL,
        data,
        invites=data.get("notify", True),
        notifies_lead=bool(notifies_lead),
    )
    if data["schedule_time"] not in (booking.schedule_time, booking.booked_for):
        problem = "already maps to an appointment at a different time; use a new external_reference for a new booking"
        raise Conflict(f"external_reference {data['external_reference']} {problem}")
    return booking


def is_reference_known(organization: Organization, reference: object) -> bool:
    """Return whether a booking with this reference, which is any JSON value, would be a repeat."""
    appointments = Appointment.objects.of(organization).filter(source=AppointmentSource.MANUAL)
    return isinstance(reference, str) and appointments.with_reference(reference).exists()


def find_or_book(
    organization: Organization,
    actor: Actor,
    source: AppointmentSource,
    data: BookingData,
    *,
    invites: bool,
    notifies_lead: bool = False,
    outcome: Status | None = None,
) -> Booking:
    """Return the appointment that has the reference, or book it; `invites` notifies its participants.

    An `outcome` is that of a call that isn't held: the appointment is stored with it, and the lead moves as it says.

    A call that is over notifies no one and leaves the status of its lead (docs/interface.md, A32). One that was
    canceled before it was booked is stored canceled, and notifies no one (A62).
    """
    source_name = normalized_source_name(traffic_of(data).get("utm_source") or source.value)
    # Read without locks, so a missing row can still appear; the functions that insert one handle that.
    known, moved, *context = CONTEXT_QUERY.first(
        organization=organization.pk,
        reference=data["external_reference"],
        role=StatusRole.APPOINTMENT_BOOKED.value,
        source=source.value,
        source_key=fold_name(source_name),
        event_type_key=fold_name(data.get("event_type_name", "")),
    )
    # The reference is checked before the members, so that a retry succeeds even if the host has left since.
    if known := known or moved:
        appointment_id, present_time, booked_for = known
        return Booking(appointment_id, present_time, is_new=False, booked_for=booked_for)
    lead_status, booked, lead_source, event_type, remembered, _ = context
    if source != AppointmentSource.MANUAL:
        remembered = None
    if event_type_id := data.get("event_type_id"):
        event_type = EventType.objects.of(organization).filter(pk=event_type_id).first()

    appointment = build_appointment(organization, source, event_type, booked, data)
    if outcome:
        replace_outcome(appointment, outcome)
        role = StatusRole(outcome.role)
        lead_status = None if role == StatusRole.RESCHEDULED else default_status(organization, Board.LEAD, role)
    members, is_over = resolve_members(organization, data), appointment.is_over
    if remembered:
        remembered.delete()
    lead_source = lead_source or get_or_create_source(organization=organization, name=source_name)
    lead_status, invites = None if is_over else lead_status, invites and not (is_over or remembered)
    notifies_lead = notifies_lead and not remembered
    if notifies_lead:
        appointment.lead_reminder_at = reminder_time(appointment)
    insert_booking(appointment, actor, data, lead_status, lead_source, members, invites)
    if notifies_lead:
        queue_lead_email(Kind.CALL_BOOKED, appointment)
    if remembered:
        cancel_remembered(organization, appointment.pk, remembered, lead_stays=is_over, notifies=False)
    return Booking(appointment.pk, appointment.schedule_time, is_new=True, is_over=is_over)


def build_appointment(
    organization: Organization,
    source: AppointmentSource,
    event_type: EventType | None,
    outcome: Status,
    data: BookingData,
) -> Appointment:
    """Return the unsaved appointment with the values that need no lock. Raises ValidationFailed for custom values."""
    appointment = Appointment(
        id=data.get("id") or uuid7(),
        organization=organization,
        event_type=event_type,
        schedule_time=data["schedule_time"],
        own_duration_minutes=data.get("duration_minutes"),
        source=source,
        external_reference=data["external_reference"],
        meeting_url=data.get("meeting_url"),
        outcome=outcome,
    )
    if custom_values := data.get("custom_fields"):
        appointment.custom_values = merge_custom_values(appointment, CustomField.Entity.APPOINTMENT, custom_values)
    return appointment


@one_statement()  # benchmark row "create an appointment"
def insert_booking(
    appointment: Appointment,
    actor: Actor,
    data: BookingData,
    lead_status: Status | None,
    lead_source: Source,
    members: dict[str, Membership],
    invites: bool,
) -> None:
    """Store an appointment that is not known yet, with its lead and event type, and record the events.

    Without `lead_status`, the lead's stays. Every transaction locks in the same order (source, lead, event type), so
    that no two of them deadlock.
    """
    organization = appointment.organization
    is_to_come = appointment.schedule_time > now() and role_of(appointment.outcome) not in FINAL_ROLES
    lead, is_new_lead = upsert_booked_lead(organization, actor, lead_status, lead_source, data, is_to_come)
    if "setter" not in members and (setter := lead_setter(lead)):
        members["setter"] = setter
    source = AppointmentSource(appointment.source)
    event_type = appointment.event_type or create_event_type(organization, source, data)
    utm_values = traffic_of(data) or ({} if is_new_lead else latest_utm_values(lead))
    values = {"lead": lead, "event_type": event_type, "call_category": event_type.call_category, **members}
    sources = {"first_source_id": lead.first_source_id, "last_source_id": lead.last_source_id}
    for name, value in (values | sources | utm_values).items():
        setattr(appointment, name, value)
    participants = members.values() if invites else None
    note = insert_appointment(appointment, actor, data.get("notes", ""), participants)
    if not is_new_lead:
        # Any status of the role of a result says the same (docs/interface.md, A29).
        has_role = lead_status and lead_status.role in RESULT_ROLES and lead.status.role == lead_status.role
        update_lead(lead, None if has_role else lead_status, actor)
    record_event(CREATED, appointment, actor=actor)
    if note:
        record_event(NOTE_CREATED, note, actor=actor)


def traffic_of(data: BookingData) -> dict[str, str | None]:
    """Return the UTM values of the booking itself; empty if it has none."""
    traffic = data.get("traffic") or {}
    return dict(traffic) if any(traffic.values()) else {}


def upsert_booked_lead(
    organization: Organization, actor: Actor, status: Status | None, source: Source, data: BookingData, is_to_come: bool
) -> tuple[Lead, bool]:
    """Return the lead that the booking names, locked, and whether it is new."""
    email, first_name, time = data.get("lead_email", ""), data.get("lead_first_name"), data["schedule_time"]
    last_name = data.get("lead_last_name", "")
    values: LeadValues = {"phone": parse_phone(data.get("lead_phone", ""), organization.default_country)}
    if data.get("fills_names"):
        values |= {"first_name": first_name or "", "last_name": last_name}
    lead, is_new = upsert_lead(
        organization=organization,
        actor=actor,
        lead_id=data.get("lead_id"),
        email=email,
        create_defaults={
            "status": status or default_status(organization, Board.LEAD, StatusRole.NEW_LEAD),
            "first_source": source,
            "last_source": source,
            "first_name": first_name or email.partition("@")[0],
            "is_first_name_from_email": not first_name,
            "last_name": last_name,
            "setter": find_setter(organization, traffic_of(data).get("utm_content") or ""),
            "next_touch_point_at": time if is_to_come else None,
            "next_touch_point_type": TouchPointType.APPOINTMENT.value if is_to_come else None,
        },
        **values,
    )
    if lead.is_erased:
        raise ValidationFailed({"lead_id" if data.get("lead_id") else "lead_email": ["is that of an erased lead"]})
    return lead, is_new


def resolve_members(organization: Organization, data: BookingData) -> dict[str, Membership]:
    """Return the members by role. Raises ValidationFailed for each e-mail that belongs to no active member."""
    emails = {"host": data.get("host_email"), "setter": data.get("setter_email"), "triager": data.get("triager_email")}
    return find_members(organization, emails)


def lead_setter(lead: Lead) -> Membership | None:
    """Return the lead's setter, or None if bookings can no longer name that member."""
    members = Membership.objects.of(lead.organization).filter(CAN_BE_ASSIGNED, pk=lead.setter_id)
    return members.select_related("user", "mail_preference").first() if lead.setter_id else None


def create_event_type(organization: Organization, source: AppointmentSource, data: BookingData) -> EventType:
    """Create it by name. Raises ValidationFailed for an id, which is unknown then, or at `MAX_EVENT_TYPES`."""
    if data.get("event_type_id"):
        raise ValidationFailed({"event_type_id": ["is not known in the organization"]})
    name = data["event_type_name"]
    event_types = EventType.objects.of(organization)
    with_name = event_types.with_name(name)
    if not can_add_row(organization=organization, rows=event_types, limit=MAX_EVENT_TYPES):
        # Another booking may have created this event type while we waited for the lock.
        event_type: EventType | None = with_name.first()
        if event_type is None:
            problem = f"is new, but an organization can have at most {MAX_EVENT_TYPES} event types"
            raise ValidationFailed({"event_type_name": [f"{problem}; use one that exists"]})
        return event_type
    provider = source.value if source != AppointmentSource.MANUAL else None
    new = EventType(organization=organization, name=name, name_key=fold_name(name), provider=provider)
    return insert_or_get(new, lambda: with_name.all().first())[0]


def latest_utm_values(lead: Lead) -> dict[str, object]:
    found = LATEST_UTM_VALUES.first(organization=lead.organization_id, lead=lead.pk)
    return dict(zip(UTM_FIELDS, found, strict=True)) if found else {}


def insert_appointment(
    appointment: Appointment, actor: Actor, text: str, participants: Iterable[Membership] | None
) -> Note | None:
    columns = {"organization": appointment.organization, "appointment": appointment, **actor_columns(actor)}
    note = Note(note=text, **columns) if text else None
    notifications: list[Notification] = []
    if participants is not None:
        notifications = build_appointment_notifications(Kind.CALL_BOOKED, appointment, participants, text)
    change = OutcomeChange(to_status=appointment.outcome, **columns)
    insert_notifications(notifications, appointment, change, *filter(None, [note]))
    return note
