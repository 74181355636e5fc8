"""E-mails to leads about bookings, moves and cancellations by staff, or by the API on request, and reminders.

docs/interface.md, N10 to N16 and A76.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, QuerySet

from accounts.time_zone import describe_zone, known_zone
from appointments.models import Appointment
from appointments.notifications import is_about_missing_entry, stays_called_off
from foundation.db.timestamps import get_zone, isoformat_z, now
from foundation.metrics.definitions import LIMITS_EXCEEDED
from foundation.outbox import State
from leads.models import Lead
from leads.phones import time_zones_by_country
from leads.services import get_lead_for_update
from notifications.daily_limit import LEAD_MAILS_PER_DAY, is_used_up
from notifications.lead_messages import fill_in_message, plain_name
from notifications.models import LEAD_KINDS, Context, Kind, LeadMessage, Notification
from notifications.services import insert_notifications
from organizations.models import IS_ACTIVE_MEMBER, MemberRole, Membership
from statuses.models import FINAL_ROLES, StatusRole

MAILS_PER_DAY = 20  # to one lead
# The message to the lead about a change that participants are notified of.
LEAD_KIND = {
    Kind.CALL_BOOKED: Kind.LEAD_INVITED,
    Kind.CALL_RESCHEDULED: Kind.LEAD_RESCHEDULED,
    Kind.CALL_CANCELED: Kind.LEAD_CANCELED,
}


def accepts_mail(lead: Lead) -> bool:
    return lead.unsubscribed_at is None and not lead.is_erased


def find_message(change: Kind, appointment: Appointment) -> LeadMessage | None:
    """Return the message to the lead about a change of the appointment; None if there is none."""
    return active_message(LEAD_KIND[change], appointment) if can_notify_lead(change, appointment) else None


def can_notify_lead(change: Kind, appointment: Appointment) -> bool:
    """Return whether the lead gets the organization's message about the change, if it has one."""
    if change not in LEAD_KIND or appointment.is_over or is_about_missing_entry(change, appointment):
        return False
    return not appointment.organization.is_test and accepts_mail(appointment.lead)


def leads_to_notify(change: Kind, appointments: Iterable[Appointment]) -> list[Lead]:
    """Return the leads who get a message about this change. Takes three statements for each organization."""
    rows = [row for row in appointments if can_notify_lead(change, row)]
    by_organization = {row.organization_id: row for row in rows}
    notifying = {id for id, row in by_organization.items() if active_message(LEAD_KIND[change], row)}
    notifying -= {id for id in notifying if is_used_up(id, "lead")}
    leads = {row.lead_id: row.lead for row in rows if row.organization_id in notifying}
    limited = {id for organization in notifying for id in ids_beyond_limit(organization, leads)}
    return [lead for id, lead in leads.items() if id not in limited]


def active_message(kind: Kind, appointment: Appointment) -> LeadMessage | None:
    rows = LeadMessage.objects.of(appointment.organization).filter(kind=kind, is_active=True)
    message: LeadMessage | None = rows.first()
    return message


def queue_lead_email(change: Kind | None, appointment: Appointment) -> None:
    """Queue the lead's e-mail about a stored change of the appointment, if the lead gets one.

    It is stored as refused if the lead got `MAILS_PER_DAY` within a day: a booking page takes the address of anybody.
    Locks the lead, so that a simultaneous unsubscription either cancels this e-mail or prevents it.
    """
    if change is None or not find_message(change, appointment):
        return
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    if message := find_message(change, appointment):
        notification, is_refused = build_lead_notification(message, appointment), has_reached_limit(appointment.lead)
        insert_notifications([notification])
        if is_refused:
            LIMITS_EXCEEDED.labels("lead_emails").inc()
            stored = Notification.objects.of(appointment.organization).filter(pk=notification.pk)
            stored.update(state=State.DEAD, last_error="lead_limit", next_attempt_at=None, finished_at=now())


def reason_for_no_mail(organization: UUID, lead: Lead | None) -> str:
    """Return why a lead, or a new one, gets no more e-mails for now, or ""."""
    if lead and has_reached_limit(lead):
        return f"we send one lead at most {MAILS_PER_DAY} e-mails in 24 hours"
    if is_used_up(organization, "lead"):
        return f"your organization has sent its {LEAD_MAILS_PER_DAY:,} e-mails to leads of today (UTC)"
    return ""


def has_reached_limit(lead: Lead) -> bool:
    return bool(ids_beyond_limit(lead.organization_id, [lead.pk]))


def ids_beyond_limit(organization: UUID, lead_ids: Iterable[UUID]) -> set[UUID]:
    """Return the leads who got `MAILS_PER_DAY` within a day, or are to get them. What was never sent doesn't count."""
    rows = Notification.objects.of(organization).exclude(last_error="lead_limit").exclude(state=State.CANCELED)
    mails = rows.filter(lead_id__in=[*lead_ids], created_at__gt=now() - timedelta(days=1))
    counts = mails.exclude(kind=Kind.LEAD_REMINDED).order_by().values_list("lead_id").annotate(Count("pk"))
    return {id for id, count in counts if count >= MAILS_PER_DAY}


def build_lead_notification(message: LeadMessage, appointment: Appointment) -> Notification:
    return Notification(
        organization=appointment.organization,
        kind=message.kind,
        subject_id=appointment.pk,
        lead_id=appointment.lead_id,
        context=lead_context(message, appointment),
    )


def lead_context(message: LeadMessage, appointment: Appointment) -> Context:
    lead, host, organization = appointment.lead, appointment.host, appointment.organization
    event_type = appointment.event_type.name if appointment.event_type else "Call"
    meeting_url = appointment.meeting_url or ""
    values = {
        "first_name": plain_name(lead.first_name) or "there",
        "organization": organization.name,
        "host": str(host or organization),
        "event_type": event_type,
        "when": describe_time(appointment.schedule_time, lead_zone(appointment)),
        "meeting_link": meeting_url,
    }
    subject, body = fill_in_message(message, values)
    answerer = find_answerer(appointment)
    return {
        "appointment_id": str(appointment.pk),
        "lead_id": str(appointment.lead_id),
        "to": lead.email,
        "reply_to": {"name": str(answerer), "email": answerer.user.email} if answerer else None,
        "organization": organization.name,
        "subject": subject,
        "body": body,
        # The rest is for the entry in the lead's calendar. Not the participants' UID: theirs has notes about the lead.
        "uid": "" if appointment.is_scheduled_elsewhere else f"{appointment.pk}-lead@{appointment.calendar_domain}",
        "sequence": appointment.invitation_sequence,
        "schedule_time": isoformat_z(appointment.schedule_time),
        "duration_minutes": appointment.duration_minutes,
        "updated_at": isoformat_z(appointment.updated_at),
        "sender": organization.name,
        "summary": f"{event_type} with {organization.name}",
        "meeting_url": meeting_url,
        "attendees": [{"name": plain_name(str(lead)), "email": lead.email}],
    }


def find_answerer(appointment: Appointment) -> Membership | None:
    """Return who gets the lead's answers: the host; without an active one setter, triager or an owner."""
    for name in ("host", "setter", "triager"):
        member: Membership | None = getattr(appointment, name)
        if member and member.is_active and member.user.is_active:
            return member
    owners = Membership.objects.of(appointment.organization).filter(IS_ACTIVE_MEMBER, role=MemberRole.OWNER)
    return owners.select_related("user").order_by("created_at", "pk").first()


def lead_zone(appointment: Appointment) -> str:
    """Return the zone of the lead's phone if its country has one clock then; else the host's, or the organization's."""
    lead, host, at = appointment.lead, appointment.host, appointment.schedule_time
    zones = [zone for name in time_zones_by_country().get(lead.phone_country or "", []) if (zone := known_zone(name))]
    if zones and len({at.astimezone(get_zone(zone)).utcoffset() for zone in zones}) == 1:
        return zones[0]
    return host.user.time_zone if host else appointment.organization.time_zone


def describe_time(at: datetime, zone: str) -> str:
    return f"{at.astimezone(get_zone(zone)):%A, %d %B %Y, %H:%M}, {describe_zone(zone, at)}"


def reminder_time(appointment: Appointment) -> datetime | None:
    """Return when the lead is to be reminded.

    None if the event type has no reminder, its time has passed, or the call is not held.
    """
    hours = appointment.event_type.reminder_hours if appointment.event_type else 0
    at = appointment.schedule_time - timedelta(hours=hours)
    return at if hours and at > now() and may_be_held(appointment) else None


def awaits_reminder(appointment: Appointment) -> bool:
    """Return whether the lead was last written to about the booking or its new time, and not reminded since."""
    last = mails_to_lead(appointment).values_list("kind", flat=True).first()
    return last in (Kind.LEAD_INVITED, Kind.LEAD_RESCHEDULED)


def was_reminded(appointment: Appointment) -> bool:
    """Return whether the lead got a reminder of the call at this time, or one is to be sent."""
    at = isoformat_z(appointment.schedule_time)
    return mails_to_lead(appointment).filter(kind=Kind.LEAD_REMINDED, context__schedule_time=at).exists()


def mails_to_lead(appointment: Appointment) -> QuerySet[Notification]:
    """Return the e-mails to the lead about the appointment that were sent or wait, newest first."""
    rows: QuerySet[Notification] = Notification.objects.of(appointment.organization).filter(recipient=None)
    return rows.filter(subject_id=appointment.pk, kind__in=LEAD_KINDS, state__in=[State.PENDING, State.DONE])


def may_be_held(appointment: Appointment) -> bool:
    """Return whether the outcome leaves open that the call takes place, as a follow-up does that is moved."""
    role = appointment.outcome and appointment.outcome.role
    return role not in (*FINAL_ROLES, StatusRole.RESCHEDULED) and not stays_called_off(appointment)
