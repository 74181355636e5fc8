"""Deleting appointments. Only undoing the import that has added them does so; else, appointments are canceled."""

from collections.abc import Sequence
from uuid import UUID

from appointments.models import Appointment, DeletedNote, Note
from appointments.notifications import build_participant_notifications
from appointments.services.leads import update_leads
from appointments.topics import DELETED
from leads.models import Lead
from leads.privacy.traces import forget_traces
from notifications.models import Kind
from notifications.services import insert_notifications
from organizations.actors import Actor
from organizations.models import Organization
from webhooks.events import record_events


def delete_appointments(
    organization: Organization, appointments: Sequence[Appointment], actor: Actor, *, notifies: bool
) -> None:
    """Delete appointments with all that belongs to them, and record the events; earlier events become the same.

    Their leads keep their statuses. With `notifies`, who was invited gets a cancellation. The appointments must be
    locked against new references; locks their leads. Runs in the caller's transaction.
    """
    ids = [appointment.pk for appointment in appointments]
    lead_ids = {appointment.lead_id for appointment in appointments}
    leads = list(Lead.objects.of(organization).for_update().filter(pk__in=lead_ids).order_by("pk"))
    subjects: dict[UUID, UUID] = {id: id for id in ids}
    for model in (Note, DeletedNote):
        subjects |= dict(model.objects.of(organization).filter(appointment__in=ids).values_list("pk", "appointment"))
    forget_traces(DELETED, organization, subjects)
    record_events(DELETED, organization, ids, actor=actor)
    for appointment in appointments if notifies else ():
        if not appointment.is_called_off:
            notifications = build_participant_notifications(Kind.CALL_CANCELED, appointment)
            for notification in notifications:
                notification.subject_id = appointment.lead_id  # where erasing the lead finds it
            insert_notifications(notifications)
    Appointment.objects.of(organization).filter(pk__in=ids).delete()
    update_leads(organization, leads, actor)
