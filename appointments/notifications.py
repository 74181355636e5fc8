"""Notifications about appointments. They are rendered when they are sent, from the context stored with them."""

from appointments.members import recipients
from appointments.models import Appointment
from notifications.models import Kind, Notification
from notifications.services import build_notifications
from organizations.models import Membership
from pipeline_backend.db.timestamps import isoformat_z
from pipeline_backend.db.writes import insert_all


def notify_participants(kind: Kind, appointment: Appointment, note: str) -> None:
    """Store one notification for each recipient of the appointment."""
    insert_all(*build_appointment_notifications(kind, appointment, note, recipients(appointment)))


def build_appointment_notifications(
    kind: Kind, appointment: Appointment, note: str, members: list[Membership]
) -> list[Notification]:
    """Return one notification for each of these members, unsaved."""
    return build_notifications(
        organization=appointment.organization,
        kind=kind,
        recipients=members,
        context=notification_context(appointment, note),
    )


def latest_note(appointment: Appointment) -> str:
    """Return the text of the newest note, or an empty string."""
    note = appointment.notes.first()
    return note.note if note else ""


def notification_context(appointment: Appointment, note: str) -> dict[str, object]:
    """Return the values that mails, invitations and Slack messages are rendered from."""
    # Copied, not looked up when sending: a notification describes the appointment as it was after the change.
    lead = appointment.lead
    return {
        "appointment_id": str(appointment.pk),
        "sequence": appointment.invitation_sequence,
        "schedule_time": isoformat_z(appointment.schedule_time),
        "updated_at": isoformat_z(appointment.updated_at),
        "event_type": appointment.event_type.name if appointment.event_type else "",
        "lead_name": str(lead),
        "lead_email": lead.email,
        "lead_phone": lead.phone_e164 or "",
        "host": str(appointment.host or ""),
        "meeting_url": appointment.meeting_url or "",
        "note": note,
        "organization": appointment.organization.name,
    }
