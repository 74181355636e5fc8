"""What people are told about a call: plain facts, from which notifications are rendered later (decision 34)."""

from typing import Any

from appointments.models import Appointment
from appointments.people import recipients
from notifications.models import Kind, Notification
from notifications.services import messages
from organizations.models import Membership
from pipeline_backend.moments import show
from pipeline_backend.rows import insert


def notify(kind: Kind, appointment: Appointment, note: str) -> None:
    """One notification for each of the call's people, with the call's latest note."""
    insert(*notices(kind, appointment, note, recipients(appointment)))


def notices(kind: Kind, appointment: Appointment, note: str, people: list[Membership]) -> list[Notification]:
    """The same for these people, not stored yet."""
    return messages(organization=appointment.organization, kind=kind, recipients=people, facts=facts_of(appointment, note))


def latest_note(appointment: Appointment) -> str:
    """The note that was added last, or nothing."""
    note = appointment.notes.first()
    return note.note if note else ""


def facts_of(appointment: Appointment, note: str) -> dict[str, Any]:
    """What the call is: who, when, where; enough to render without reading it again."""
    lead = appointment.lead
    return {
        "appointment_id": str(appointment.pk),
        "sequence": appointment.invitation_sequence,
        "schedule_time": show(appointment.schedule_time),
        "updated_at": show(appointment.updated_at),
        "event_type": appointment.event_type.name if appointment.event_type else "",
        "lead_name": str(lead),
        "lead_email": lead.email,
        "lead_phone": lead.phone_e164 or "",
        "host": str(appointment.host or ""),
        "meeting_url": appointment.meeting_url or "",
        "note": note,
        "organization": appointment.organization.name,
    }
