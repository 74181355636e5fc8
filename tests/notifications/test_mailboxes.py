"""Each member's calendar has exactly the appointments that they have (docs/interface.md, N2 and N5).

The e-mails of a member are replayed as a calendar does it: an entry is known by its UID, a higher SEQUENCE replaces it,
a lower one is ignored, and CANCEL removes it. E-mails may arrive in any order.
"""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from icalendar import Calendar

from appointments.models import Appointment, EventType
from appointments.services import cancel_appointment, edit_appointment, import_appointment, reschedule
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import deactivate, make_api, make_event_type, make_member, make_note, make_status, owner_of
from tests.jobs import send_notifications
from tests.migrations import run_data_steps
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client
from webhooks.models import Event

TOMORROW = datetime.now(UTC).replace(hour=10, minute=0, second=0, microsecond=0) + timedelta(days=1)


class Entry(NamedTuple):
    """An entry of a calendar, or what it should be."""

    start: datetime
    end: datetime
    link: str | None
    title: str
    host: str | None
    attendees: frozenset[str]


class World:
    """An organization with members, and the e-mails that were sent to them."""

    def __init__(self, organization: Organization, mailoutbox: list[Any]) -> None:
        self.organization = organization
        self.mailoutbox = mailoutbox
        self.canceled = set[UUID]()  # and neither moved nor booked again since
        self.api: ApiClient = make_api(organization)
        self.owner = owner_of(organization)
        names = ["hana", "hugo", "sam", "tri"]
        self.members = {name: self.add_member(name) for name in names}
        self.strategy = make_event_type(organization, "Strategy call", duration_minutes=45)
        self.checkup = make_event_type(organization, "Checkup", duration_minutes=15)

    def add_member(self, name: str, role: str = MemberRole.CLOSER) -> Membership:
        """Add an active member, <name>@<organization>.example, and return them."""
        email = f"{name}@{self.organization.name.lower()}.example"
        return make_member(self.organization, email, role=role, first_name=name.title(), last_name="Member")

    def book(self, reference: str = "ref-1", **fields: Any) -> Appointment:
        """Book an appointment over the API; `host`, `setter` and `triager` are names of members."""
        for role in ("host", "setter", "triager"):
            if name := fields.pop(role, None):
                fields[f"{role}_email"] = self.members[name].user.email
        body = {"schedule_time": TOMORROW.isoformat(), "external_reference": reference, **fields}
        response = self.api.book(**body)
        assert response.status_code == 201, response.content
        return self.appointment(response.json()["data"]["id"])

    def appointment(self, id: Any) -> Appointment:
        """Return the appointment as it is stored now."""
        return Appointment.objects.of(self.organization).get(pk=id)

    def edit(self, appointment: Appointment, **fields: Any) -> None:
        """Change fields of the appointment with the service."""
        edit_appointment(organization=self.organization, actor=SYSTEM, appointment=appointment, **fields)

    def move(self, appointment: Appointment, to: datetime) -> None:
        """Reschedule the appointment with the service."""
        reschedule(organization=self.organization, actor=SYSTEM, appointment=appointment, to=to)
        self.canceled.discard(appointment.pk)

    def cancel(self, appointment: Appointment) -> None:
        """Cancel the appointment with the service."""
        cancel_appointment(organization=self.organization, actor=SYSTEM, appointment=appointment)
        self.canceled.add(appointment.pk)

    def set_outcome(self, appointment: Appointment, role: str) -> None:
        """Set an outcome with this role with the service."""
        status = Status.objects.of(self.organization).get(role=role)
        edit_appointment(organization=self.organization, actor=SYSTEM, appointment=appointment, status_id=status.pk)
        if role == "CANCELED":
            self.canceled.add(appointment.pk)
        if role == "APPOINTMENT_BOOKED":
            self.canceled.discard(appointment.pk)

    def calendar_of(self, member: Membership, rng: random.Random | None = None) -> dict[str, Entry]:
        """Send what waits, and return what the member's calendar has then, by UID. `rng` shuffles the e-mails."""
        send_notifications(str(self.organization.pk))
        emails = [email for email in self.mailoutbox if email.to == [member.user.email]]
        if rng:
            rng.shuffle(emails)
        latest: dict[str, tuple[int, Entry | None]] = {}
        for email in emails:
            for uid, sequence, entry in read_entries(email):
                known = latest.get(uid, (-1, None))[0]
                assert sequence != known, "two e-mails about one entry have the same SEQUENCE"
                if sequence > known:
                    latest[uid] = sequence, entry
        return {uid: entry for uid, (_, entry) in latest.items() if entry}

    def expected_calendar_of(self, member: Membership) -> dict[str, Entry]:
        """Return the entries that the member's calendar should have, from the appointments as they are stored."""
        entries = {}
        # After a cancellation there is none until the call is moved or booked again, whatever other outcomes it gets.
        for appointment in Appointment.objects.of(self.organization).exclude(pk__in=self.canceled):
            roles = [appointment.host, appointment.setter, appointment.triager]
            active = {person for person in roles if person and person.is_active}
            owners = Membership.objects.of(self.organization).filter(role=MemberRole.OWNER, is_active=True)
            attendees = active or set(owners)
            if member in attendees and appointment.source == "MANUAL":
                entries[f"{appointment.pk}@pipeline-backend"] = expected_entry(appointment, attendees)
        return entries

    def subjects(self) -> list[tuple[str, str]]:
        """Send what waits, and return addressee and kind of each e-mail since the last call, sorted."""
        send_notifications(str(self.organization.pk))
        sent = sorted((email.to[0].partition("@")[0], email.subject.partition(":")[0]) for email in self.mailoutbox)
        self.mailoutbox.clear()
        return sent


def expected_entry(appointment: Appointment, attendees: set[Membership]) -> Entry:
    """Return the entry that an appointment should have."""
    event_type: EventType | None = appointment.event_type
    return Entry(
        start=appointment.schedule_time,
        end=appointment.schedule_time + timedelta(minutes=event_type.duration_minutes if event_type else 60),
        link=appointment.meeting_url,
        title=f"{event_type.name if event_type else 'Appointment'} with ada",
        host=str(appointment.host) if appointment.host else None,
        attendees=frozenset(f"mailto:{person.user.email}" for person in attendees),
    )


def read_entries(email: Any) -> list[tuple[str, int, Entry | None]]:
    """Return UID, SEQUENCE and content of each entry of an e-mail; a cancellation has no content."""
    texts = [part.content for part in email.alternatives if part.mimetype.startswith("text/calendar")]
    entries = []
    for text in texts:
        calendar = Calendar.from_ical(text)
        for event in calendar.walk("VEVENT"):
            attendees = event["ATTENDEE"] if isinstance(event["ATTENDEE"], list) else [event["ATTENDEE"]]
            lines = str(event["DESCRIPTION"]).split("\n")
            entry = Entry(
                event["DTSTART"].dt,
                event["DTEND"].dt,
                str(event["LOCATION"]) if "LOCATION" in event else None,
                str(event["SUMMARY"]),
                next((line.removeprefix("Host: ") for line in lines if line.startswith("Host: ")), None),
                frozenset(map(str, attendees)),
            )
            entries.append((str(event["UID"]), event["SEQUENCE"], None if calendar["METHOD"] == "CANCEL" else entry))
    return entries


@pytest.fixture
def world(organization: Organization, mailoutbox: list[Any]) -> World:
    """Acme with four members and an owner."""
    return World(organization, mailoutbox)


def test_swaps_a_move_another_link_and_a_cancellation_end_with_the_right_calendars(world: World) -> None:
    call = world.book(host="hana", setter="sam", meeting_url="https://meet.example/1")
    other = world.book("ref-2", host="hana", lead_email="ada@example.org")
    hana, hugo, sam = (world.members[name] for name in ("hana", "hugo", "sam"))

    world.edit(call, host=hugo)
    assert (len(world.calendar_of(hana)), len(world.calendar_of(hugo)), len(world.calendar_of(sam))) == (1, 1, 1)
    world.edit(call, host=hana)
    world.move(call, TOMORROW + timedelta(days=2))
    world.edit(call, meeting_url="https://meet.example/2")

    assert world.calendar_of(hugo) == {}
    assert world.calendar_of(hana) == world.expected_calendar_of(hana)
    assert world.calendar_of(sam) == world.expected_calendar_of(sam)
    assert {entry.link for entry in world.calendar_of(sam).values()} == {"https://meet.example/2"}

    world.api.cancel()

    assert list(world.calendar_of(hana)) == [f"{other.pk}@pipeline-backend"]
    assert (world.calendar_of(hugo), world.calendar_of(sam)) == ({}, {})


def test_who_joins_is_invited_who_leaves_gets_a_cancellation_and_who_stays_an_update(world: World) -> None:
    call = world.book(host="hana", setter="sam", meeting_url="https://meet.example/1")
    world.subjects()

    world.edit(call, host=world.members["hugo"], triager=world.members["tri"])

    send_notifications(str(world.organization.pk))
    [reassigned] = [email for email in world.mailoutbox if email.to == ["hana@acme.example"]]
    assert "You no longer take part in this call. Its entry in your calendar is removed." in reassigned.body
    assert "because you were invited to the call before" in reassigned.body
    assert "https://meet.example/1" not in reassigned.message().as_string()
    assert world.subjects() == [
        ("hana", "Call Reassigned"),
        ("hugo", "Call Booked"),
        ("sam", "Call Updated"),
        ("tri", "Call Booked"),
    ]


def test_a_member_who_leaves_one_of_two_roles_stays(world: World) -> None:
    call = world.book(host="hana", setter="hana")
    world.subjects()

    world.edit(call, setter=None)

    assert [address for address, kind in world.subjects() if kind != "Call Updated"] == []
    assert world.expected_calendar_of(world.members["hana"]) != {}


def test_owners_have_the_entry_only_while_nobody_is_assigned(world: World) -> None:
    call = world.book()
    owner, hana = world.owner, world.members["hana"]
    assert world.calendar_of(owner) == world.expected_calendar_of(owner) != {}

    world.edit(call, host=hana)
    assert (world.calendar_of(owner), world.calendar_of(hana)) == ({}, world.expected_calendar_of(hana))

    world.edit(call, host=None)
    assert (world.calendar_of(owner), world.calendar_of(hana)) == (world.expected_calendar_of(owner), {})


def test_an_owner_who_became_one_after_the_booking_gets_no_cancellation(world: World) -> None:
    call = world.book()
    world.subjects()
    world.add_member("new", role=MemberRole.OWNER)

    world.edit(call, host=world.members["hana"])

    assert world.subjects() == [("hana", "Call Booked"), ("owner", "Call Reassigned")]


def test_a_deactivated_member_gets_no_mail_and_the_owners_no_cancellation_of_what_they_never_had(world: World) -> None:
    call = world.book(host="hana")
    world.subjects()
    deactivate(world.members["hana"])

    world.edit(call, host=world.members["hugo"])

    assert world.subjects() == [("hugo", "Call Booked")]


def test_who_was_invited_before_the_upgrade_gets_a_cancellation(world: World) -> None:
    hosted, unassigned, canceled = world.book("ref-1", host="hana"), world.book("ref-2"), world.book("ref-3")
    world.cancel(canceled)
    world.subjects()
    Appointment.objects.of(world.organization).update(invited=None)
    run_data_steps("appointments", "0007_who_is_invited")

    world.edit(hosted, host=world.members["hugo"])
    world.edit(unassigned, host=world.members["tri"])
    world.edit(canceled, host=world.members["sam"])

    assert world.subjects() == [
        ("hana", "Call Reassigned"),
        ("hugo", "Call Booked"),
        ("owner", "Call Reassigned"),
        ("tri", "Call Booked"),
    ]


@pytest.mark.parametrize("role", ["CANCELED", "NO_SHOW"])
def test_an_appointment_that_is_booked_again_invites_again(role: str, world: World) -> None:
    call = world.book(host="hana")
    world.set_outcome(call, role)
    world.subjects()

    world.set_outcome(call, "APPOINTMENT_BOOKED")

    assert world.subjects() == [("hana", "Call Booked")]
    hana = world.members["hana"]
    send_notifications(str(world.organization.pk))
    assert Notification.objects.of(world.organization).filter(kind="CALL_BOOKED", recipient=hana).count() == 2


def test_the_same_values_again_send_nothing(world: World) -> None:
    call = world.book(host="hana", meeting_url="https://meet.example/1")
    world.subjects()

    world.edit(call, host=world.members["hana"], meeting_url="https://meet.example/1", event_type=call.event_type)

    assert world.subjects() == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("meeting_url", "https://meet.example/9"), ("event_type", "checkup"), ("call_category", "TRIAGE_CALL")],
)
def test_a_change_of_what_an_entry_shows_updates_it(field: str, value: str, world: World) -> None:
    call = world.book(host="hana", setter="sam")
    world.subjects()

    world.edit(call, **{field: world.checkup if value == "checkup" else value})

    assert world.subjects() == [("hana", "Call Updated"), ("sam", "Call Updated")]


def test_values_that_no_entry_shows_send_nothing(world: World) -> None:
    call = world.book(host="hana")
    world.subjects()

    world.edit(call, recording_url="https://recordings.example/1")

    assert world.subjects() == []


def test_a_call_that_is_over_is_in_the_calendars_as_it_took_place(world: World) -> None:
    call = world.book(host="hana")
    Appointment.objects.of(world.organization).update(schedule_time=datetime.now(UTC) - timedelta(days=1))
    world.subjects()

    world.edit(call, host=world.members["hugo"], meeting_url="https://meet.example/2")
    world.set_outcome(call, "NO_SHOW")
    world.set_outcome(call, "APPOINTMENT_BOOKED")
    assert world.subjects() == []

    world.move(call, TOMORROW)

    assert world.subjects() == [("hana", "Call Reassigned"), ("hugo", "Call Booked")]


def test_a_call_in_progress_is_not_over(world: World) -> None:
    call = world.book(host="hana", schedule_time=(datetime.now(UTC) - timedelta(minutes=20)).isoformat())
    world.subjects()

    world.edit(call, meeting_url="https://meet.example/2")

    assert world.subjects() == [("hana", "Call Updated")]


def test_another_duration_is_for_entries_that_are_sent_from_then_on(world: World) -> None:
    call = world.book(host="hana")
    hana = world.members["hana"]
    before = world.calendar_of(hana)
    world.strategy.duration_minutes = 90
    world.strategy.save()
    assert world.calendar_of(hana) == before

    world.edit(call, meeting_url="https://meet.example/2")

    [entry] = world.calendar_of(hana).values()
    assert entry.end - entry.start == timedelta(minutes=90)


def test_a_schedulers_appointment_sends_no_entry_and_edits_notify_nobody(world: World) -> None:
    booking = import_appointment(
        organization=world.organization,
        actor=SYSTEM,
        provider="SCHEDULER_A",
        external_reference="theirs-1",
        schedule_time=TOMORROW,
        lead_email="ada@example.com",
        event_type_name="Strategy call",
        host_email="hana@acme.example",
    )
    call = world.appointment(booking.id)

    world.edit(call, host=world.members["hugo"], meeting_url="https://meet.example/2")
    assert world.subjects() == []
    world.move(call, TOMORROW + timedelta(days=1))
    world.cancel(call)

    assert world.calendar_of(world.members["hugo"]) == {}
    assert [read_entries(email) for email in world.mailoutbox] == [[], []]
    assert world.subjects() == [("hugo", "Call Canceled"), ("hugo", "Call Rescheduled")]


def test_the_admins_form_sends_one_email_to_each_member(world: World) -> None:
    call = world.book(host="hana", setter="sam")
    world.subjects()
    client = logged_in_client(world.owner)
    url = admin_url(Appointment, "change", call.pk)

    data = form_data(client, url, host=str(world.members["hugo"].pk), meeting_url="https://meet.example/2")
    response = client.post(url, data)

    assert response.status_code == 302, form_errors(response)
    assert world.subjects() == [("hana", "Call Reassigned"), ("hugo", "Call Booked"), ("sam", "Call Updated")]


def test_slack_hears_of_a_booking_again_and_not_of_an_edit(world: World) -> None:
    world.organization.slack_url = "https://hooks.slack.example/1"
    world.organization.save()
    call = world.book(host="hana")
    world.edit(call, host=world.members["hugo"])
    world.cancel(call)
    world.set_outcome(call, "APPOINTMENT_BOOKED")

    messages = Notification.objects.of(world.organization).filter(medium="SLACK").order_by("id")
    assert list(messages.values_list("kind", flat=True)) == ["CALL_BOOKED", "CALL_CANCELED", "CALL_BOOKED"]


# Random walks


def random_member(world: World, rng: random.Random) -> Membership | None:
    """Return one of the members, the owner or nobody."""
    return rng.choice([*world.members.values(), world.owner, None, None])


def random_link(rng: random.Random) -> str | None:
    return rng.choice([None, "https://meet.example/1", "https://meet.example/2"])


def random_time(rng: random.Random) -> datetime:
    """Return a time in the next weeks."""
    return TOMORROW + timedelta(days=rng.randrange(20), minutes=15 * rng.randrange(20))


def swap_somebody(world: World, call: Appointment, rng: random.Random) -> None:
    world.edit(call, **{rng.choice(["host", "setter", "triager"]): random_member(world, rng)})


def swap_everybody(world: World, call: Appointment, rng: random.Random) -> None:
    world.edit(call, **{role: random_member(world, rng) for role in ("host", "setter", "triager")})


def change_link(world: World, call: Appointment, rng: random.Random) -> None:
    world.edit(call, meeting_url=random_link(rng))


def change_event_type(world: World, call: Appointment, rng: random.Random) -> None:
    world.edit(call, event_type=rng.choice([world.strategy, world.checkup, None]))


def move(world: World, call: Appointment, rng: random.Random) -> None:
    world.move(call, random_time(rng))


def cancel(world: World, call: Appointment, rng: random.Random) -> None:
    world.cancel(call)


def set_outcome(world: World, call: Appointment, rng: random.Random) -> None:
    world.set_outcome(call, rng.choice(["APPOINTMENT_BOOKED", "APPOINTMENT_BOOKED", "NO_SHOW", "CANCELED", "WON"]))


def add_note(world: World, call: Appointment, rng: random.Random) -> None:
    make_note(world.organization, str(call.pk), f"Note {rng.random()}")


def send(world: World, call: Appointment, rng: random.Random) -> None:
    send_notifications(str(world.organization.pk))


ACTS: list[Callable[[World, Appointment, random.Random], None]] = [
    swap_somebody,
    swap_somebody,
    swap_everybody,
    change_link,
    change_event_type,
    move,
    cancel,
    set_outcome,
    set_outcome,
    add_note,
    send,
]


def not_over(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Return the entries of calls that have not ended. Calendars keep the others as they were."""
    return {uid: entry for uid, entry in entries.items() if entry.end > datetime.now(UTC)}


@pytest.mark.parametrize("seed", range(15))
def test_after_any_changes_every_calendar_is_right(seed: int, world: World) -> None:
    rng = random.Random(seed)
    second_owner = world.add_member("olga", role=MemberRole.OWNER)
    calls = [
        world.book(f"ref-{number}", meeting_url=random_link(rng), **({role: "hana"} if role else {}))
        for number, role in enumerate(["host", "setter", None])
    ]

    walk = []
    for _ in range(20):
        act, call = rng.choice(ACTS), rng.choice(calls)
        walk.append(f"{act.__name__} {calls.index(call)}")
        act(world, world.appointment(call.pk), rng)

    for member in [*world.members.values(), world.owner, second_owner]:
        expected = not_over(world.expected_calendar_of(member))
        assert not_over(world.calendar_of(member, rng)) == expected, f"seed {seed}, {member}: {walk}"


def test_another_canceled_status_cancels_nothing_again(world: World) -> None:
    other = make_status(world.organization, "Canceled by us", role="CANCELED")
    appointment = world.book(host="hana")
    world.cancel(appointment)
    world.subjects()

    edit_appointment(organization=world.organization, actor=SYSTEM, appointment=appointment, status_id=other.pk)

    assert world.subjects() == []
    assert Event.objects.of(world.organization).order_by("id").last().type == "appointment.outcome_changed"


def test_a_canceled_status_at_another_time_invites_nobody(world: World) -> None:
    other = make_status(world.organization, "Canceled by us", role="CANCELED")
    appointment = world.book(host="hana")
    world.cancel(appointment)
    world.subjects()

    world.edit(appointment, status_id=other.pk, schedule_time=TOMORROW + timedelta(hours=1))

    assert world.subjects() == []
    assert Event.objects.of(world.organization).order_by("id").last().type == "appointment.rescheduled"
