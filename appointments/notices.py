"""What people are told about a call: plain facts, from which notifications are rendered later (decision 34)."""

from typing import Any

from django.db.models import Q

from appointments.models import Appointment
from notifications.models import Kind
from notifications.services import queue
from organizations.models import Membership, Role
from pipeline_backend.moments import show
from pipeline_backend.rows import Fixed, Slot

PEOPLE: Fixed[Membership] = Fixed(
    lambda: (
        Membership.objects.of(Slot("organization"))
        .filter(Q(pk__any=Slot("ids")) | Q(role=Role.OWNER), is_active=True, user__is_active=True)
        .select_related("user", "mail_preference")
    )
)


def notify(kind: Kind, appointment: Appointment, note: str) -> None:
    """One notification for each of the call's people, with the call's latest note."""
    people = recipients(appointment)
    queue(organization=appointment.organization, kind=kind, recipients=people, facts=facts_of(appointment, note))


def latest_note(appointment: Appointment) -> str:
    """The note that was added last, or nothing."""
    note = appointment.notes.first()
    return note.note if note else ""


def recipients(appointment: Appointment) -> list[Membership]:
    """The active among host, setter and triager; the owners if there is none."""
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    members = PEOPLE.all(organization=appointment.organization_id, ids=list(ids))
    involved = [member for member in members if member.pk in ids]
    return involved or [member for member in members if member.role == Role.OWNER]


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
