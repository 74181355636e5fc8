"""Notifications about appointments. They are rendered when they are sent, from the context stored with them."""

from collections.abc import Iterable

from django.db.models import QuerySet

from appointments.models import Appointment
from notifications.models import Context, Kind, Notification
from notifications.services import build_notifications
from organizations.models import MemberRole, Membership, Organization
from pipeline_backend.db.compiled import Param
from pipeline_backend.db.timestamps import isoformat_z
from pipeline_backend.db.writes import insert_all


def active_members(organization: Organization | Param) -> QuerySet[Membership]:
    """Return the query for the organization's active members, joined with the rows that a notification reads."""
    members: QuerySet[Membership] = Membership.objects.of(organization).filter(is_active=True, user__is_active=True)
    return members.select_related("user", "mail_preference")


def notify_participants(kind: Kind, appointment: Appointment) -> None:
    """Store the notifications about a change of the appointment, for those of its participants who are active."""
    participants = active_members(appointment.organization).filter(
        pk__in=[appointment.host_id, appointment.setter_id, appointment.triager_id]
    )
    latest_note = appointment.notes.first()
    note = latest_note.note if latest_note else ""
    insert_all(*build_appointment_notifications(kind, appointment, participants, note))


def build_appointment_notifications(
    kind: Kind, appointment: Appointment, participants: Iterable[Membership], note: str
) -> list[Notification]:
    """Return the unsaved notifications to those who are active or, without any, to the owners (docs/interface.md, N2).

    A member who is named twice is notified once.
    """
    organization = appointment.organization
    active = [member for member in dict.fromkeys(participants) if member.is_active]
    recipients = active or list(active_members(organization).filter(role=MemberRole.OWNER))
    context = notification_context(appointment, note)
    return build_notifications(organization=organization, kind=kind, recipients=recipients, context=context)


def notification_context(appointment: Appointment, note: str) -> Context:
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
