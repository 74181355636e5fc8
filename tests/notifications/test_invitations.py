"""Invitations keep RFC 5546 (iTIP), RFC 5545 (iCalendar) and RFC 6047 (by mail), rule by rule."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from typing import Any, NamedTuple

import pytest
from ical.calendar_stream import CalendarStream

from appointments.models import Appointment
from appointments.services import reschedule
from notifications.tasks import deliver_due
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, Role
from tests.client import ApiClient
from tests.factories import make_member

LONG = "Ünïcödé and a name, so long; that its line \\ must be folded " * 3


class Line(NamedTuple):
    """A content line, taken apart by hand: the rules are not asked of the library that wrote it."""

    name: str
    parameters: str
    value: str


class Sent(NamedTuple):
    """What one mail carried: its calendar part, its file, and the lines of the calendar."""

    part: Message
    file: Message
    data: bytes
    calendar: list[Line]
    event: list[Line]

    def all(self, name: str) -> list[str]:
        """The event's values of a property."""
        return [line.value for line in self.event if line.name == name]

    def one(self, name: str) -> str:
        """The value of a property that must be there exactly once."""
        [value] = self.all(name)
        return value

    def of_calendar(self, name: str) -> list[str]:
        """The calendar's own values of a property."""
        return [line.value for line in self.calendar if line.name == name]

    def parameters(self, name: str) -> list[str]:
        """The parameters of each of the event's properties of that name."""
        return [line.parameters for line in self.event if line.name == name]


def read(mail: Any) -> Sent:
    """The calendar of a mail as it travels."""
    part, file = (part for part in mail.message().walk() if part.get_content_type() == "text/calendar")
    data = part.get_payload(decode=True)
    lines = [taken_apart(text) for text in data.decode().replace("\r\n ", "").split("\r\n")[:-1]]
    begin, end = (
        next(number for number, line in enumerate(lines) if line == Line(word, "", "VEVENT"))
        for word in ("BEGIN", "END")
    )
    return Sent(part, file, data, lines[:begin] + lines[end + 1 :], lines[begin + 1 : end])


def taken_apart(text: str) -> Line:
    """Name, parameters and value of a line."""
    name, parameters, value = re.fullmatch(r'([A-Z-]+)((?:;[A-Z-]+=(?:"[^"]*"|[^";:,]*))*):(.*)', text).groups()
    return Line(name, parameters, value)


@pytest.fixture
def mails(api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]) -> dict[str, Sent]:
    """What the host is sent about a call: the booking, its move to another day, and its cancellation."""
    setter = make_member(
        organization, "sam@acme.example", role=Role.SETTER, first_name="Sam", last_name='O"Setter; Sam, Jr:'
    )
    people = {"host_email": host.user.email, "setter_email": setter.user.email}
    id = api.book(
        **people, lead_first_name=LONG[:100], event_type_name=LONG[:100], meeting_url="https://meet.example/1"
    ).json()["data"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=id)
    reschedule(
        organization=organization, actor=SYSTEM, appointment=appointment, to=datetime(2027, 1, 6, 11, tzinfo=UTC)
    )
    api.cancel()
    deliver_due(str(organization.pk))
    kinds = {"Call Booked": "booked", "Call Rescheduled": "moved", "Call Canceled": "canceled"}
    return {kinds[mail.subject.split(":")[0]]: read(mail) for mail in mailoutbox if mail.to == [host.user.email]}


METHODS = {"booked": "REQUEST", "moved": "REQUEST", "canceled": "CANCEL"}
UTC_TIME = re.compile(r"\d{8}T\d{6}Z")
ABSENT = ["RECURRENCE-ID", "RRULE", "RDATE", "EXDATE", "REQUEST-STATUS", "DURATION"]

# Each rule as a sentence, and whether a mail (`sent`, whose method is `method`) keeps it.
RULES: dict[str, Callable[[Sent, str], bool]] = {
    "METHOD is there once and names the act": lambda sent, method: sent.of_calendar("METHOD") == [method],
    "PRODID is there once": lambda sent, method: len(sent.of_calendar("PRODID")) == 1,
    "VERSION is 2.0": lambda sent, method: sent.of_calendar("VERSION") == ["2.0"],
    "the calendar holds one event and nothing else": lambda sent, method: (
        sent.of_calendar("BEGIN") == sent.of_calendar("END") == ["VCALENDAR"]
    ),
    "the event has no alarm": lambda sent, method: sent.all("BEGIN") == [],
    "there is one ORGANIZER, a mail address": lambda sent, method: sent.one("ORGANIZER").startswith("mailto:"),
    "every ATTENDEE is a mail address, each once": lambda sent, method: (
        sorted(sent.all("ATTENDEE")) == ["mailto:hana@acme.example", "mailto:sam@acme.example"]
    ),
    "each ATTENDEE is asked to take part": lambda sent, method: all(
        {"ROLE=REQ-PARTICIPANT", "PARTSTAT=NEEDS-ACTION", "RSVP=TRUE"} <= set(parameters.split(";"))
        for parameters in sent.parameters("ATTENDEE")
    ),
    "the ORGANIZER has no PARTSTAT": lambda sent, method: "PARTSTAT" not in sent.parameters("ORGANIZER")[0],
    "DTSTAMP is there once, in UTC": lambda sent, method: bool(UTC_TIME.fullmatch(sent.one("DTSTAMP"))),
    "DTSTART is there once, in UTC": lambda sent, method: bool(UTC_TIME.fullmatch(sent.one("DTSTART"))),
    "no TZID stands beside a time in UTC": lambda sent, method: all(
        "TZID" not in line.parameters for line in sent.event
    ),
    "DTEND is after DTSTART, in UTC": lambda sent, method: (
        bool(UTC_TIME.fullmatch(sent.one("DTEND"))) and sent.one("DTEND") > sent.one("DTSTART")
    ),
    "UID is there once, and globally unique": lambda sent, method: bool(
        re.fullmatch(r"[0-9a-f-]{36}@[\w.]+", sent.one("UID"))
    ),
    "SEQUENCE is a number, there once": lambda sent, method: sent.one("SEQUENCE").isdecimal(),
    "SUMMARY is there once": lambda sent, method: len(sent.all("SUMMARY")) == 1,
    "STATUS fits the METHOD": lambda sent, method: (
        sent.one("STATUS") == {"REQUEST": "CONFIRMED", "CANCEL": "CANCELLED"}[method]
    ),
    "nothing recurs, and nothing answers": lambda sent, method: [name for name in ABSENT if sent.all(name)] == [],
    "the part says its method and charset": lambda sent, method: (
        [sent.part.get_content_type(), sent.part.get_param("method"), sent.part.get_content_charset()]
        == ["text/calendar", method, "utf-8"]
    ),
    "the part is shown, not attached": lambda sent, method: sent.part.get_content_disposition() is None,
    "the file is the same, by a name": lambda sent, method: (
        [sent.file.get_payload(decode=True), sent.file.get_filename(), sent.file.get_param("method")]
        == [sent.data, "invite.ics", method]
    ),
    "every line ends with CRLF": lambda sent, method: (
        sent.data.endswith(b"\r\n") and sent.data.count(b"\r\n") == sent.data.count(b"\n") == sent.data.count(b"\r")
    ),
    "no line is longer than 75 octets": lambda sent, method: max(map(len, sent.data.split(b"\r\n"))) <= 75,
    "folding cuts no character": lambda sent, method: all(
        line.decode() is not None for line in sent.data.split(b"\r\n")
    ),
    "commas, semicolons and backslashes in text are escaped": lambda sent, method: (
        not re.search(r"(?<!\\)(?:\\\\)*[,;]", sent.one("SUMMARY"))
    ),
}


@pytest.mark.parametrize("act", METHODS)
def test_every_invitation_keeps_every_rule(act: str, mails: dict[str, Sent]) -> None:
    assert [rule for rule, is_kept in RULES.items() if not is_kept(mails[act], METHODS[act])] == [], mails[
        act
    ].data.decode()


def test_one_call_keeps_its_uid_and_its_organizer_and_its_sequence_rises(mails: dict[str, Sent]) -> None:
    booked, moved, canceled = (mails[act] for act in METHODS)

    assert booked.one("UID") == moved.one("UID") == canceled.one("UID")
    assert booked.one("ORGANIZER") == moved.one("ORGANIZER") == canceled.one("ORGANIZER")
    assert int(booked.one("SEQUENCE")) < int(moved.one("SEQUENCE")) < int(canceled.one("SEQUENCE"))
    assert booked.one("DTSTAMP") <= moved.one("DTSTAMP") <= canceled.one("DTSTAMP")


def test_a_cancellation_names_the_time_that_stands_in_calendars(mails: dict[str, Sent]) -> None:
    assert [mails[act].one("DTSTART") for act in METHODS] == [
        "20270105T100000Z",
        "20270106T110000Z",
        "20270106T110000Z",
    ]


def test_whoever_gets_a_request_gets_its_cancellation_too(mails: dict[str, Sent]) -> None:
    assert (
        set(mails["canceled"].all("ATTENDEE"))
        == set(mails["booked"].all("ATTENDEE"))
        == set(mails["moved"].all("ATTENDEE"))
    )


@pytest.mark.parametrize("act", METHODS)
def test_another_library_reads_the_same(act: str, mails: dict[str, Sent]) -> None:
    [calendar] = CalendarStream.from_ics(mails[act].data.decode()).calendars
    [event] = calendar.events

    start = datetime(2027, 1, 5, 10, tzinfo=UTC) if act == "booked" else datetime(2027, 1, 6, 11, tzinfo=UTC)
    assert (calendar.method, calendar.version) == (METHODS[act], "2.0")
    assert (event.dtstart, event.dtend, event.uid) == (start, start + timedelta(hours=1), mails[act].one("UID"))
    assert (event.sequence, event.status.value) == (
        int(mails[act].one("SEQUENCE")),
        {"REQUEST": "CONFIRMED", "CANCEL": "CANCELLED"}[METHODS[act]],
    )
    assert event.summary.startswith(LONG[:100].strip())
    assert sorted(person.uri for person in event.attendees) == ["mailto:hana@acme.example", "mailto:sam@acme.example"]
