"""Deleting an appointment. Only undoing the import that has added it does so; else, appointments are canceled."""

from appointments.models import Appointment, Note
from appointments.notifications import build_participant_notifications
from appointments.services.changes import role_of
from appointments.services.leads import update_lead
from appointments.topics import DELETED
from leads.privacy.traces import forget_traces
from leads.services import get_lead_for_update
from notifications.models import Kind
from notifications.services import insert_notifications
from organizations.actors import Actor
from statuses.models import StatusRole
from webhooks.events import record_event


def delete_appointment(appointment: Appointment, actor: Actor, *, notifies: bool) -> None:
    """Delete an appointment with all that belongs to it, and record the event; earlier events become the same.

    Its lead keeps its status. With `notifies`, who was invited gets a cancellation. The appointment must be locked
    against new references; locks its lead. Runs in the caller's transaction.
    """
    organization = appointment.organization
    lead = get_lead_for_update(organization=organization, lead_id=appointment.lead_id)
    notes = Note.objects.of(organization).filter(appointment=appointment).values_list("pk", flat=True)
    forget_traces(DELETED, appointment, Appointment, [appointment.pk, *notes])
    record_event(DELETED, appointment, actor=actor)
    if notifies and role_of(appointment.outcome) != StatusRole.CANCELED:
        notifications = build_participant_notifications(Kind.CALL_CANCELED, appointment)
        for notification in notifications:
            notification.subject_id = lead.pk  # where erasing the lead finds it
        insert_notifications(notifications)
    appointment.delete()
    update_lead(lead, None, actor)
