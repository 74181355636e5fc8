"""What people are told about a call: plain facts, from which notifications are rendered later (decision 34)."""

from typing import Any

from appointments.models import Appointment
from notifications.models import Kind
from notifications.services import queue
from organizations.models import Membership, Role
from pipeline_backend.moments import show


def notify(kind: Kind, appointment: Appointment) -> None:
    """One notification for each of the call's people."""
    people = recipients(appointment)
    queue(organization=appointment.organization, kind=kind, recipients=people, facts=facts_of(appointment))


def recipients(appointment: Appointment) -> list[Membership]:
    """The active among host, setter and triager; the owners if there is none."""
    members = Membership.objects.of(appointment.organization).filter(is_active=True, user__is_active=True).select_related("user", "mail_preference")
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    involved = list(members.filter(pk__in=ids)) if ids else []
    return involved or list(members.filter(role=Role.OWNER))


def facts_of(appointment: Appointment) -> dict[str, Any]:
    """What the call is: who, when, where; enough to render without reading it again."""
    lead, note = appointment.lead, appointment.notes.first()
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
        "note": note.note if note else "",
        "organization": appointment.organization.name,
    }
