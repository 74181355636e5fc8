"""Notifications about appointments. They are rendered when they are sent, from the context stored with them."""

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import QuerySet

from appointments.conditions import BOOKED_ROLES
from appointments.models import Appointment, Note
from foundation.db.timestamps import isoformat_z
from notifications.models import ChannelKind, Context, Kind, Notification
from notifications.services import build_notifications, insert_notifications
from organizations.actors import Actor
from organizations.models import IS_ACTIVE_MEMBER, MemberRole, Membership, Organization
from statuses.models import StatusRole


def active_members(organization: Organization) -> QuerySet[Membership]:
    members: QuerySet[Membership] = Membership.objects.of(organization).filter(IS_ACTIVE_MEMBER)
    return members.select_related("user", "mail_preference")


def notify_participants(change: Kind, appointment: Appointment) -> None:
    """Store the notifications about a locked appointment's change, and its invited members (docs/interface.md, N2)."""
    rows = build_participant_notifications(change, appointment)
    appointment.save_columns()
    insert_notifications(rows)


def build_participant_notifications(change: Kind, appointment: Appointment) -> list[Notification]:
    """Return the unsaved notifications about a stored appointment's change; set its sequence and invited members.

    No one is notified about a call that is over. `CALL_BOOKED` and `CALL_UPDATED` also notify no one if the call stays
    called off, or if a scheduler, which sends invitations of its own, manages it.
    """
    if appointment.is_over or is_about_missing_entry(change, appointment):
        return []
    # A higher sequence tells calendars that this supersedes the entry they have (RFC 5546).
    appointment.invitation_sequence += 1
    members = {*appointment.participant_ids, *(appointment.invited or [])}
    note = appointment.notes.first()
    recipients = active_members(appointment.organization).filter(pk__in=members)
    return build_appointment_notifications(change, appointment, recipients, note.note if note else "")


def is_about_missing_entry(change: Kind, appointment: Appointment) -> bool:
    """Return whether the change is about an entry in calendars, and the appointment has none."""
    has_none = appointment.is_scheduled_elsewhere or stays_called_off(appointment)
    return change in (Kind.CALL_BOOKED, Kind.CALL_UPDATED) and has_none


def stays_called_off(appointment: Appointment) -> bool:
    """Return whether it is called off with its present outcome, which may not be stored yet."""
    role = appointment.outcome and appointment.outcome.role
    return role == StatusRole.CANCELED or (appointment.is_called_off and role not in BOOKED_ROLES)


def build_appointment_notifications(
    change: Kind, appointment: Appointment, members: Iterable[Membership], note: str
) -> list[Notification]:
    """Return the unsaved notifications about a change, and set `invited`, which the caller stores with them.

    `members` are participants and members invited before. Active participants are invited, or else the owners; members
    who are no longer invited get a cancellation. Slack gets one message, except about `CALL_UPDATED`.
    """
    organization, is_canceled = appointment.organization, change == Kind.CALL_CANCELED
    before = appointment.invited or []
    active = [member for member in dict.fromkeys(members) if member.is_active]
    participants = [member for member in active if member.pk in appointment.participant_ids]
    attending = participants or list(active_members(organization).filter(role=MemberRole.OWNER))

    recipients: dict[Kind, list[Membership]] = defaultdict(list)
    for member in attending:
        # After a cancellation, and for a scheduler's appointment, no calendar has an entry.
        had_entries = change == Kind.CALL_UPDATED or (change == Kind.CALL_RESCHEDULED and before)
        is_new = had_entries and member.pk not in before
        recipients[Kind.CALL_BOOKED if is_new else change].append(member)
    leaving = [member for member in active if member.pk in before and member not in attending]
    recipients[Kind.CALL_CANCELED if is_canceled else Kind.CALL_REASSIGNED] += leaving
    has_entries = not is_canceled and not appointment.is_scheduled_elsewhere
    appointment.invited = [member.pk for member in attending] if has_entries else []

    context = notification_context(appointment, note) | {"is_unassigned": not participants}
    rows: list[Notification] = []
    if organization.slack_url and change != Kind.CALL_UPDATED:
        fields = {"kind": change, "medium": ChannelKind.SLACK, "subject_id": context["appointment_id"]}
        rows.append(Notification(organization=organization, context=context, **fields))
    for kind, group in recipients.items():
        # Everyone is an attendee in the entry, also members who get no e-mail.
        listed = group if kind in (Kind.CALL_CANCELED, Kind.CALL_REASSIGNED) else attending
        attendees = [{"name": str(member), "email": member.user.email} for member in listed]
        rows += build_notifications(
            organization=organization, kind=kind, recipients=group, context=context | {"attendees": attendees}
        )
    return rows


def notify_mentioned(note: Note, members: Iterable[Membership], actor: Actor) -> None:
    organization, mentioned = note.organization, [member.pk for member in members]
    recipients = list(active_members(organization).filter(pk__in=mentioned).exclude(user_id=actor.id))
    context = notification_context(note.appointment, note.note) | {"author": actor.name}
    insert_notifications(
        build_notifications(organization=organization, kind=Kind.MENTIONED, recipients=recipients, context=context)
    )


def notification_context(appointment: Appointment, note: str) -> Context:
    # Copied, not looked up when sending: a notification describes the appointment as it was after the change.
    lead = appointment.lead
    return {
        "appointment_id": str(appointment.pk),
        # Empty without an entry in calendars: a scheduler sends its own.
        "uid": "" if appointment.is_scheduled_elsewhere else f"{appointment.pk}@{appointment.calendar_domain}",
        "sequence": appointment.invitation_sequence,
        "schedule_time": isoformat_z(appointment.schedule_time),
        "duration_minutes": appointment.duration_minutes,
        "updated_at": isoformat_z(appointment.updated_at),
        "event_type": appointment.event_type.name if appointment.event_type else "",
        "call_category": appointment.get_call_category_display(),
        "lead_name": str(lead),
        "lead_email": lead.email,
        "lead_phone": lead.phone_e164 or "",
        "host": str(appointment.host or ""),
        "meeting_url": appointment.meeting_url or "",
        "note": note,
        "organization": appointment.organization.name,
    }
