"""Books an appointment, written in the most direct way; it writes the same rows as `appointments.services`."""

from datetime import datetime
from typing import Any

from appointments.models import Appointment, EventType, Note, OutcomeChange
from appointments.notifications import notification_context
from benchmarks.plain_drf.events import notify, record_event
from benchmarks.plain_drf.serializers import AppointmentDetailSerializer, LeadDetailSerializer, NoteEventSerializer
from foundation.db.timestamps import now
from leads.models import CustomField, Lead, LeadStatusChange, Source
from notifications.models import Kind
from optins.models import UTM_FIELDS
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from statuses.models import Status


def book(
    organization: Organization, actor: Actor, *, external_reference: str, schedule_time: datetime, **data: Any
) -> Appointment:
    """Create an appointment and return it. Raises ValueError if the reference exists."""
    if Appointment.objects.of(organization).filter(source="MANUAL", external_reference=external_reference).exists():
        raise ValueError(external_reference)
    members = {
        role: get_member(organization, data[f"{role}_email"])
        for role in ("host", "setter", "triager")
        if data.get(f"{role}_email")
    }
    statuses = Status.objects.of(organization).filter(role="APPOINTMENT_BOOKED")
    source = get_or_create_source(organization, "MANUAL")
    lead = get_or_create_lead(organization, actor, data, source, statuses.get(is_lead_default=True))
    event_type = EventType.objects.of(organization).with_name(data["event_type_name"]).first()
    if event_type is None:
        event_type = EventType.objects.create(organization=organization, name=data["event_type_name"])
    latest_opt_in = lead.opt_ins.order_by("-created_at").first()
    appointment = Appointment.objects.create(
        organization=organization,
        lead=lead,
        event_type=event_type,
        call_category=event_type.call_category,
        schedule_time=schedule_time,
        external_reference=external_reference,
        meeting_url=data.get("meeting_url"),
        outcome=statuses.get(is_appointment_default=True),
        first_source=lead.first_source,
        last_source=lead.last_source,
        **members,
        **({name: getattr(latest_opt_in, name) for name in UTM_FIELDS} if latest_opt_in else {}),
    )
    OutcomeChange.objects.create(
        organization=organization, appointment=appointment, to_status=appointment.outcome, **actor_columns(actor)
    )
    update_next_touch_point(lead)

    context = {"custom_fields": custom_fields(organization, CustomField.Entity.APPOINTMENT)}
    body = AppointmentDetailSerializer(appointment, context=context).data
    record_event("appointment.created", appointment, body, actor)
    if data.get("notes"):
        note = Note.objects.create(
            organization=organization, appointment=appointment, note=data["notes"], **actor_columns(actor)
        )
        record_event("note.created", note, NoteEventSerializer(note, context=context).data, actor)
    recipients = find_recipients(organization, appointment)
    notify(Kind.CALL_BOOKED, organization, recipients, notification_context(appointment, data.get("notes", "")))
    return appointment


def get_member(organization: Organization, email: str) -> Membership:
    """Return the active member with this e-mail address. Raises Membership.DoesNotExist."""
    member: Membership = (
        Membership.objects.of(organization)
        .select_related("user")
        .get(user__email__iexact=email, is_active=True, user__is_active=True)
    )
    return member


def get_or_create_source(organization: Organization, name: str) -> Source:
    """Return the source with this name, created if there is none."""
    source: Source | None = Source.objects.of(organization).with_name(name).first()
    return source or Source.objects.create(organization=organization, name=name)


def get_or_create_lead(
    organization: Organization, actor: Actor, data: dict[str, Any], source: Source, status: Status
) -> Lead:
    """Return the lead with the e-mail address in `data`. A new one is created with its history and event."""
    lead: Lead | None = Lead.objects.of(organization).with_email(organization.pk, data["lead_email"]).first()
    if lead is None:
        lead = Lead.objects.create(
            organization=organization,
            email=data["lead_email"],
            first_name=data.get("lead_first_name") or data["lead_email"].partition("@")[0],
            last_name=data.get("lead_last_name", ""),
            status=status,
            first_source=source,
            last_source=source,
        )
        LeadStatusChange.objects.create(organization=organization, lead=lead, to_status=status, **actor_columns(actor))
        record_lead_created(lead, actor)
    return lead


def update_next_touch_point(lead: Lead) -> None:
    """Set the lead's next touch point to its next upcoming appointment."""
    rows = Appointment.objects.of(lead.organization).filter(lead=lead)
    upcoming = rows.upcoming().order_by("schedule_time").first()
    lead.next_touch_point_at = upcoming.schedule_time if upcoming else None
    lead.next_touch_point_type = "APPOINTMENT" if upcoming else None
    lead.updated_at = now()
    lead.save()


def record_lead_created(lead: Lead, actor: Actor) -> None:
    """Save the event of a new lead."""
    context = {"custom_fields": custom_fields(lead.organization, CustomField.Entity.LEAD)}
    record_event("lead.created", lead, LeadDetailSerializer(lead, context=context).data, actor)


def custom_fields(organization: Organization, entity: CustomField.Entity) -> list[CustomField]:
    """Return the organization's custom fields for leads or appointments."""
    return list(CustomField.objects.of(organization).filter(entity=entity).order_by("position", "key"))


def find_recipients(organization: Organization, appointment: Appointment) -> list[Membership]:
    """Return the appointment's active members, or the owners if it has none."""
    members = (
        Membership.objects.of(organization)
        .select_related("user", "mail_preference")
        .filter(is_active=True, user__is_active=True)
    )
    ids = [id for id in (appointment.host_id, appointment.setter_id, appointment.triager_id) if id]
    return list(members.filter(pk__in=ids)) or list(members.filter(role="OWNER"))
