"""Calendar invitations (RFC 5545, RFC 5546; docs/interface.md, N5).

An appointment has one UID. Every rescheduling and the cancellation have a higher SEQUENCE, so that calendars update the
same entry.
"""

from datetime import datetime, timedelta
from email.utils import parseaddr
from urllib.parse import urlsplit

from django.conf import settings
from icalendar import Calendar, Event, vCalAddress, vText

from notifications.models import Context, Kind

DURATION = timedelta(hours=1)  # appointments have no end, and calendars need one


def build_invitation(kind: str, context: Context, start: datetime) -> tuple[str, bytes]:
    """Return the method (REQUEST or CANCEL) and the calendar as bytes."""
    method = "CANCEL" if kind == Kind.CALL_CANCELED else "REQUEST"
    calendar = Calendar()
    calendar.add("prodid", "-//Pipeline Backend//EN")
    calendar.add("version", "2.0")
    calendar.add("method", method)
    calendar.add_component(build_event(method, context, start))
    return method, calendar.to_ical()


def build_event(method: str, context: Context, start: datetime) -> Event:
    """Return the appointment as a calendar event."""
    event = Event()
    event.add("uid", f"{context['appointment_id']}@{urlsplit(settings.BASE_URL).hostname}")
    event.add("sequence", context["sequence"])
    event.add("dtstamp", datetime.fromisoformat(context["updated_at"]))
    event.add("dtstart", start)
    event.add("dtend", start + DURATION)
    event.add("summary", f"{context['event_type'] or 'Appointment'} with {context['lead_name']}")
    event.add("status", "CANCELLED" if method == "CANCEL" else "CONFIRMED")
    if context["meeting_url"]:
        event.add("location", context["meeting_url"])
        event.add("url", context["meeting_url"])
    event["organizer"] = build_organizer()
    for attendee in context["attendees"]:
        event.add("attendee", build_attendee(attendee), encode=False)
    return event


def build_organizer() -> vCalAddress:
    """Return the sender of our e-mails as the organizer."""
    # Calendars accept updates from the organizer only, so it is the same address for all of them.
    name, email = parseaddr(settings.DEFAULT_FROM_EMAIL)
    organizer = vCalAddress(f"mailto:{email}")
    organizer.params["cn"] = vText(name or email)
    return organizer


def build_attendee(attendee: dict[str, str]) -> vCalAddress:
    """Return a participant as an attendee who is asked to accept."""
    address = vCalAddress(f"mailto:{attendee['email']}")
    address.params["cn"] = vText(attendee["name"])
    address.params["role"] = vText("REQ-PARTICIPANT")
    address.params["partstat"] = vText("NEEDS-ACTION")
    address.params["rsvp"] = vText("TRUE")
    return address
