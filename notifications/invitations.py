"""Calendar invitations (RFC 5545, RFC 5546; docs/interface.md, N5).

An appointment has one UID. Each later invitation or cancellation has a higher SEQUENCE, so that calendars change the
same entry, in whatever order the e-mails arrive.
"""

from datetime import datetime, timedelta
from email.utils import parseaddr
from urllib.parse import urlsplit

from django.conf import settings
from icalendar import STATUS, Calendar, Event, vCalAddress

from foundation.api.emails import mail_address
from notifications.models import Context, Kind

CANCELLATIONS = [Kind.CALL_CANCELED, Kind.CALL_REASSIGNED, Kind.LEAD_CANCELED]


def build_invitation(kind: str, context: Context, start: datetime) -> tuple[str, bytes]:
    """Return the method (REQUEST or CANCEL) and the calendar as bytes."""
    method = "CANCEL" if kind in CANCELLATIONS else "REQUEST"
    # Not `Calendar.new`, which gives each calendar a random UID.
    calendar = Calendar()
    calendar.add("prodid", "-//Pipeline Backend//EN")
    calendar.add("version", "2.0")
    calendar.add("method", method)
    calendar.add_component(build_event(method, context, start))
    return method, calendar.to_ical()


def build_event(method: str, context: Context, start: datetime) -> Event:
    # Calendars accept updates from the organizer only, so it is the same address for all of them.
    name, email = parseaddr(settings.DEFAULT_FROM_EMAIL)
    name = context.get("sender", name)
    return Event.new(
        # Remove the defaults after 0.3: notifications that version 0.2 has queued have neither UID nor duration.
        uid=context.get("uid", f"{context['appointment_id']}@{urlsplit(settings.BASE_URL).hostname}"),
        sequence=context["sequence"],
        stamp=datetime.fromisoformat(context["updated_at"]),
        start=start,
        end=start + timedelta(minutes=context.get("duration_minutes", 60)),
        # A lead's entry has its own: it names the organization, and shows neither notes nor the admin's links.
        summary=context.get("summary") or f"{context['event_type'] or 'Appointment'} with {context['lead_name']}",
        description=context["description"] if "description" in context else describe(context),
        # Also for a participant who leaves a call that takes place: calendars remove an entry only with this status.
        status=STATUS.CANCELLED if method == "CANCEL" else STATUS.CONFIRMED,
        location=context["meeting_url"] or None,
        url=context["meeting_url"] or None,
        organizer=vCalAddress.new(email, cn=name or email),
        attendees=[build_attendee(**attendee) for attendee in context["attendees"]],
    )


def build_attendee(name: str, email: str) -> vCalAddress:
    # No answer is asked for, because no one reads the organizer's mailbox.
    return vCalAddress.new(mail_address(email), cn=name, role="REQ-PARTICIPANT", partstat="NEEDS-ACTION", rsvp=False)


def describe(context: Context) -> str:
    facts = {
        "E-mail": context["lead_email"],
        "Phone": context["lead_phone"],
        "Host": context["host"],
        "Category": context.get("call_category"),
        "Meeting": context["meeting_url"],
        "Appointment": context["link"],
    }
    lines = [f"{name}: {value}" for name, value in facts.items() if value]
    return "\n".join([*lines, *(["", context["note"]] if context["note"] else [])])
