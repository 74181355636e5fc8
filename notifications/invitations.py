"""Calendar invitations: one UID for a call's whole life, a higher SEQUENCE for each change (RFC 5546)."""

from datetime import datetime, timedelta
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from icalendar import Calendar, Event, vCalAddress, vText

from notifications.models import Kind

LENGTH = timedelta(hours=1)  # calls have a start alone; an hour is what gets blocked


def invitation(kind: str, facts: dict[str, Any], start: datetime) -> tuple[str, bytes]:
    """Method and bytes: a REQUEST, or the CANCEL of one."""
    method = "CANCEL" if kind == Kind.CALL_CANCELED else "REQUEST"
    calendar = Calendar()
    calendar.add("prodid", "-//Pipeline Backend//EN")
    calendar.add("version", "2.0")
    calendar.add("method", method)
    calendar.add_component(event(method, facts, start))
    return method, calendar.to_ical()


def event(method: str, facts: dict[str, Any], start: datetime) -> Event:
    """The call."""
    call = Event()
    call.add("uid", f"{facts['appointment_id']}@{urlsplit(settings.BASE_URL).hostname}")
    call.add("sequence", facts["sequence"])
    call.add("dtstamp", datetime.fromisoformat(facts["updated_at"]))
    call.add("dtstart", start)
    call.add("dtend", start + LENGTH)
    call.add("summary", f"{facts['event_type'] or 'Call'} with {facts['lead_name']}")
    call.add("status", "CANCELLED" if method == "CANCEL" else "CONFIRMED")
    if facts["meeting_url"]:
        call.add("location", facts["meeting_url"])
        call.add("url", facts["meeting_url"])
    call["organizer"] = organizer()
    for person in facts["attendees"]:
        call.add("attendee", attendee(person), encode=False)
    return call


def organizer() -> vCalAddress:
    """The sender: it alone may change the call."""
    name, address = parseaddr(settings.DEFAULT_FROM_EMAIL)
    person = vCalAddress(f"mailto:{address}")
    person.params["cn"] = vText(name or address)
    return person


def attendee(facts: dict[str, str]) -> vCalAddress:
    """One of the call's people."""
    person = vCalAddress(f"mailto:{facts['email']}")
    person.params["cn"] = vText(facts["name"])
    person.params["role"] = vText("REQ-PARTICIPANT")
    person.params["partstat"] = vText("NEEDS-ACTION")
    person.params["rsvp"] = vText("TRUE")
    return person
