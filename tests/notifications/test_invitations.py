"""Invitations follow RFC 5545 (iCalendar), RFC 5546 (iTIP) and RFC 6047 (iMIP), rule by rule."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any, NamedTuple

import pytest
from ical.calendar_stream import CalendarStream

from appointments.models import Appointment
from appointments.services import reschedule
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member
from tests.jobs import send_notifications

LONG_NAME = "Ünïcödé and a name, so long; that its line \\ must be folded " * 3


class ContentLine(NamedTuple):
    """A content line of a calendar, parsed here and not by the library that wrote it."""

    name: str
    parameters: str
    value: str


class Invitation(NamedTuple):
    """The calendar part and the file of one e-mail, and the parsed lines of the calendar."""

    part: Message
    file: Message
    data: bytes
    calendar: list[ContentLine]
    event: list[ContentLine]

    def all(self, name: str) -> list[str]:
        """Return the event's values of a property."""
        return [line.value for line in self.event if line.name == name]

    def get(self, name: str) -> str:
        """Return the value of a property that the event must have exactly once."""
        [value] = self.all(name)
        return value

    def calendar_values(self, name: str) -> list[str]:
        """Return the calendar's own values of a property."""
        return [line.value for line in self.calendar if line.name == name]

    def parameters(self, name: str) -> list[str]:
        """Return the parameters of each of the event's properties with this name."""
        return [line.parameters for line in self.event if line.name == name]


def parse_invitation(email: Any) -> Invitation:
    """Return the invitation of an e-mail in the form in which it is sent."""
    part, file = (part for part in email.message().walk() if part.get_content_type() == "text/calendar")
    data = part.get_payload(decode=True)
    lines = [parse_line(text) for text in data.decode().replace("\r\n ", "").split("\r\n")[:-1]]
    begin, end = (
        next(number for number, line in enumerate(lines) if line == ContentLine(word, "", "VEVENT"))
        for word in ("BEGIN", "END")
    )
    return Invitation(part, file, data, lines[:begin] + lines[end + 1 :], lines[begin + 1 : end])


def parse_line(text: str) -> ContentLine:
    """Return the name, the parameters and the value of a line."""
    name, parameters, value = re.fullmatch(r'([A-Z-]+)((?:;[A-Z-]+=(?:"[^"]*"|[^";:,]*))*):(.*)', text).groups()
    return ContentLine(name, parameters, value)


@pytest.fixture
def invitations(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> dict[str, Invitation]:
    """The host's invitations of one appointment: its booking, its rescheduling and its cancellation."""
    setter = make_member(
        organization, "sam@acme.example", role=MemberRole.SETTER, first_name="Sam", last_name='O"Setter; Sam, Jr:'
    )
    response = api.book(
        host_email=host.user.email,
        setter_email=setter.user.email,
        lead_first_name=LONG_NAME[:100],
        event_type_name=LONG_NAME[:100],
        meeting_url="https://meet.example/1",
    )
    appointment = Appointment.objects.of(organization).get(pk=response.json()["data"]["id"])
    reschedule(
        organization=organization, actor=SYSTEM, appointment=appointment, to=datetime(2027, 1, 6, 11, tzinfo=UTC)
    )
    api.cancel()
    send_notifications(str(organization.pk))
    changes = {"Call Booked": "booked", "Call Rescheduled": "rescheduled", "Call Canceled": "canceled"}
    return {
        changes[email.subject.split(":")[0]]: parse_invitation(email)
        for email in mailoutbox
        if email.to == [host.user.email]
    }


METHODS = {"booked": "REQUEST", "rescheduled": "REQUEST", "canceled": "CANCEL"}
STATUSES = {"REQUEST": "CONFIRMED", "CANCEL": "CANCELLED"}
UTC_TIME = re.compile(r"\d{8}T\d{6}Z")
FORBIDDEN = ["RECURRENCE-ID", "RRULE", "RDATE", "EXDATE", "REQUEST-STATUS", "DURATION"]

# Each rule, and whether an invitation that should have the method `method` follows it.
RULES: dict[str, Callable[[Invitation, str], bool]] = {
    "METHOD appears once and fits the change": lambda invite, method: invite.calendar_values("METHOD") == [method],
    "PRODID appears once": lambda invite, method: len(invite.calendar_values("PRODID")) == 1,
    "VERSION is 2.0": lambda invite, method: invite.calendar_values("VERSION") == ["2.0"],
    "the calendar has one event and nothing else": lambda invite, method: (
        invite.calendar_values("BEGIN") == invite.calendar_values("END") == ["VCALENDAR"]
    ),
    "the event has no alarm": lambda invite, method: invite.all("BEGIN") == [],
    "ORGANIZER appears once and is a mail address": lambda invite, method: invite.get("ORGANIZER").startswith(
        "mailto:"
    ),
    "every participant is an ATTENDEE once, with a mail address": lambda invite, method: (
        sorted(invite.all("ATTENDEE")) == ["mailto:hana@acme.example", "mailto:sam@acme.example"]
    ),
    "no ATTENDEE is asked to answer": lambda invite, method: all(
        {"ROLE=REQ-PARTICIPANT", "PARTSTAT=NEEDS-ACTION", "RSVP=FALSE"} <= set(parameters.split(";"))
        for parameters in invite.parameters("ATTENDEE")
    ),
    "the ORGANIZER has no PARTSTAT": lambda invite, method: "PARTSTAT" not in invite.parameters("ORGANIZER")[0],
    "DTSTAMP appears once, in UTC": lambda invite, method: bool(UTC_TIME.fullmatch(invite.get("DTSTAMP"))),
    "DTSTART appears once, in UTC": lambda invite, method: bool(UTC_TIME.fullmatch(invite.get("DTSTART"))),
    "no time in UTC has a TZID": lambda invite, method: all("TZID" not in line.parameters for line in invite.event),
    "DTEND is after DTSTART, in UTC": lambda invite, method: (
        bool(UTC_TIME.fullmatch(invite.get("DTEND"))) and invite.get("DTEND") > invite.get("DTSTART")
    ),
    "UID appears once and is globally unique": lambda invite, method: bool(
        re.fullmatch(r"[0-9a-f-]{36}@[\w.-]+", invite.get("UID"))
    ),
    "SEQUENCE appears once and is a number": lambda invite, method: invite.get("SEQUENCE").isdecimal(),
    "SUMMARY appears once": lambda invite, method: len(invite.all("SUMMARY")) == 1,
    "DESCRIPTION appears once": lambda invite, method: len(invite.all("DESCRIPTION")) == 1,
    "STATUS fits the METHOD": lambda invite, method: invite.get("STATUS") == STATUSES[method],
    "there is no recurrence and no reply": lambda invite, method: (
        [name for name in FORBIDDEN if invite.all(name)] == []
    ),
    "the calendar part has a method and a charset": lambda invite, method: (
        [invite.part.get_content_type(), invite.part.get_param("method"), invite.part.get_content_charset()]
        == ["text/calendar", method, "utf-8"]
    ),
    "the calendar part is not an attachment": lambda invite, method: invite.part.get_content_disposition() is None,
    "the file has a name and the same content": lambda invite, method: (
        [invite.file.get_payload(decode=True), invite.file.get_filename(), invite.file.get_param("method")]
        == [invite.data, "invite.ics", method]
    ),
    "every line ends with CRLF": lambda invite, method: (
        invite.data.endswith(b"\r\n")
        and invite.data.count(b"\r\n") == invite.data.count(b"\n") == invite.data.count(b"\r")
    ),
    "no line is longer than 75 octets": lambda invite, method: max(map(len, invite.data.split(b"\r\n"))) <= 75,
    "folding splits no character": lambda invite, method: all(
        line.decode() is not None for line in invite.data.split(b"\r\n")
    ),
    "commas, semicolons and backslashes in text are escaped": lambda invite, method: (
        not re.search(r"(?<!\\)(?:\\\\)*[,;]", invite.get("SUMMARY"))
    ),
}


@pytest.mark.parametrize("change", METHODS)
def test_every_invitation_follows_every_rule(change: str, invitations: dict[str, Invitation]) -> None:
    invitation = invitations[change]

    broken = [rule for rule, is_followed in RULES.items() if not is_followed(invitation, METHODS[change])]

    assert broken == [], invitation.data.decode()


def test_uid_and_organizer_stay_the_same_and_the_sequence_rises(invitations: dict[str, Invitation]) -> None:
    booked, rescheduled, canceled = (invitations[change] for change in METHODS)

    assert booked.get("UID") == rescheduled.get("UID") == canceled.get("UID")
    assert booked.get("ORGANIZER") == rescheduled.get("ORGANIZER") == canceled.get("ORGANIZER")
    assert int(booked.get("SEQUENCE")) < int(rescheduled.get("SEQUENCE")) < int(canceled.get("SEQUENCE"))
    assert booked.get("DTSTAMP") <= rescheduled.get("DTSTAMP") <= canceled.get("DTSTAMP")


def test_a_cancellation_has_the_time_of_the_last_request(invitations: dict[str, Invitation]) -> None:
    starts = [invitations[change].get("DTSTART") for change in METHODS]

    assert starts == ["20270105T100000Z", "20270106T110000Z", "20270106T110000Z"]


def test_all_invitations_of_an_appointment_have_the_same_attendees(invitations: dict[str, Invitation]) -> None:
    booked, rescheduled, canceled = (set(invitations[change].all("ATTENDEE")) for change in METHODS)

    assert booked == rescheduled == canceled


@pytest.mark.parametrize("change", METHODS)
def test_another_library_reads_the_same_values(change: str, invitations: dict[str, Invitation]) -> None:
    invitation, method = invitations[change], METHODS[change]
    start = datetime(2027, 1, 5, 10, tzinfo=UTC) if change == "booked" else datetime(2027, 1, 6, 11, tzinfo=UTC)

    [calendar] = CalendarStream.from_ics(invitation.data.decode()).calendars

    [event] = calendar.events
    assert (calendar.method, calendar.version) == (method, "2.0")
    assert (event.dtstart, event.dtend, event.uid) == (start, start + timedelta(hours=1), invitation.get("UID"))
    assert (event.sequence, event.status.value) == (int(invitation.get("SEQUENCE")), STATUSES[method])
    assert event.summary.startswith(LONG_NAME[:100].strip())
    assert sorted(attendee.uri for attendee in event.attendees) == [
        "mailto:hana@acme.example",
        "mailto:sam@acme.example",
    ]
