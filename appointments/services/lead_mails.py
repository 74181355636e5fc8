"""Reminders to leads, unsubscribing leads, and test messages (docs/interface.md, N14 and N16)."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from appointments.lead_notifications import (
    accepts_mail,
    active_message,
    build_lead_notification,
    describe_time,
    lead_context,
    may_be_held,
)
from appointments.models import Appointment, EventType
from appointments.services.leads import cancel_mails_to
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.models import Lead
from leads.services import get_lead_for_update, is_being_erased, lock_lead
from notifications.lead_messages import fill_in_message, sample_values
from notifications.models import Kind, LeadMessage, Notification
from notifications.services import insert_notifications
from organizations.models import Membership, Organization

BATCH = 50


def remind_leads(*, organization: Organization) -> int:
    """Queue the reminders that are due, up to `BATCH`; return how many were looked at."""
    due = Appointment.objects.of(organization).filter(lead_reminder_at__lte=now()).order_by("lead_reminder_at")
    ids = list(due.values_list("pk", flat=True)[:BATCH])
    for id in ids:
        remind_lead(organization, id)
    return len(ids)


@atomic_with_retry
def remind_lead(organization: Organization, appointment_id: UUID) -> None:
    """Queue the reminder of an appointment and clear its time, once. Locks the appointment, then its lead.

    Nothing is queued if the call has begun or is not held, if the lead gets no e-mails, if the message is
    switched off, or for an organization for tests.
    """
    rows = Appointment.objects.of(organization).for_update().filter(pk=appointment_id, lead_reminder_at__lte=now())
    appointment: Appointment | None = rows.first()
    if appointment is None:
        return  # another worker has done it, or the call was moved
    appointment.organization = organization
    appointment.lead_reminder_at = None
    appointment.save_columns()
    if not may_be_held(appointment) or appointment.schedule_time <= now() or organization.is_test:
        return
    appointment.lead = get_lead_for_update(organization=organization, lead_id=appointment.lead_id)
    message = active_message(Kind.LEAD_REMINDED, appointment)
    if message and accepts_mail(appointment.lead) and not is_being_erased(appointment.lead):
        insert_notifications([build_lead_notification(message, appointment)])


@transaction.atomic
def unsubscribe_lead(*, organization: Organization, lead_id: UUID) -> None:
    """End the e-mails to a lead, or to the one it was merged into, and cancel waiting ones. Locks the lead.

    Does nothing for an unknown or erased lead. Repeating it keeps the first time, unless another lead was merged into
    this one: a time after the merge unsubscribes both if the merge is undone, because the e-mail can have been about
    either.
    """
    lead = lock_lead(organization, lead_id)
    if lead is None or lead.is_erased or (lead.unsubscribed_at and not lead.merges.exists()):
        return
    lead.unsubscribed_at = now()
    lead.save_columns()
    cancel_mails_to(lead)


def send_test_message(*, organization: Organization, member: Membership, message: LeadMessage, at: datetime) -> None:
    """Queue the message with sample values, about a call at this time, to the member."""
    lead = Lead(organization=organization, first_name="Elif", email=member.user.email)
    sample = Appointment(
        id=uuid7(),
        organization=organization,
        lead=lead,
        host=member,
        event_type=EventType(organization=organization, name="Strategy call"),
        schedule_time=at,
    )
    values = sample_values(organization, host=str(member), when=describe_time(at, member.user.time_zone))
    subject, body = fill_in_message(message, values)
    own = {"lead_id": "", "subject": subject, "body": body}
    context = lead_context(message, sample) | own
    columns = {"organization": organization, "kind": message.kind, "recipient": member, "context": context}
    insert_notifications([Notification(**columns)])
