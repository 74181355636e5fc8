"""What members are told (decision 34)."""

from datetime import datetime
from typing import Any

import pytest
from icalendar import Calendar

from appointments.models import Appointment
from appointments.services import reschedule
from notifications.models import Notification
from notifications.tasks import deliver_due
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, Role
from organizations.services import change_member
from pipeline_backend.outbox import State
from tests.client import ApiClient
from tests.factories import make_member


@pytest.fixture
def setter(organization: Organization) -> Membership:
    return make_member(
        organization,
        "sam@acme.example",
        role=Role.SETTER,
        first_name="Sam",
        last_name="Setter",
        time_zone="America/New_York",
    )


def send(organization: Organization) -> None:
    deliver_due(str(organization.pk))


def recipients(mailoutbox: list[Any]) -> set[str]:
    return {address for mail in mailoutbox for address in mail.to}


def part(mail: Any, kind: str) -> str:
    """The content of the first part of this type."""
    if kind == "text/plain":
        return mail.body
    return next(
        content
        for content, mimetype in [(one.content, one.mimetype) for one in mail.alternatives]
        if mimetype.startswith(kind)
    )


def invitation(mail: Any) -> Any:
    """The calendar and its one event."""
    calendar = Calendar.from_ical(part(mail, "text/calendar"))
    return calendar, calendar.walk("VEVENT")[0]


def test_a_booking_is_mailed_to_its_host_and_setter(
    api: ApiClient, organization: Organization, host: Membership, setter: Membership, mailoutbox: list[Any]
) -> None:
    api.book(
        host_email=host.user.email, setter_email=setter.user.email, lead_first_name="Ada", lead_last_name="Lovelace"
    )

    send(organization)

    assert recipients(mailoutbox) == {"hana@acme.example", "sam@acme.example"}
    assert all(mail.subject.startswith("Call Booked: Ada Lovelace, ") for mail in mailoutbox)


def test_a_booking_of_nobodys_goes_to_the_owners(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book()

    send(organization)

    assert recipients(mailoutbox) == {"owner@acme.example"}


def test_the_mail_says_who_when_where_and_why_in_text_and_html(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    id = api.book(
        host_email=host.user.email,
        meeting_url="https://meet.example/1",
        notes="Asked twice about prices",
        lead_phone="+14155552671",
    )

    send(organization)

    link = f"http://testserver/admin/appointments/appointment/{id.json()['data']['id']}/change/"
    wanted = [
        "ada",
        "Strategy call",
        "Hana Host",
        "https://meet.example/1",
        "Asked twice about prices",
        "+14155552671",
        link,
    ]
    for kind in ("text/plain", "text/html"):
        assert [word for word in wanted if word not in part(mailoutbox[0], kind)] == [], kind


def test_times_are_shown_in_the_readers_zone(
    api: ApiClient, organization: Organization, host: Membership, setter: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, setter_email=setter.user.email)

    send(organization)

    times = {mail.to[0]: mail.subject.split(", ", 1)[1] for mail in mailoutbox}
    assert times == {
        "hana@acme.example": "Tuesday, 05 January 2027, 10:00 (UTC)",
        "sam@acme.example": "Tuesday, 05 January 2027, 05:00 (America/New_York)",
    }


def test_a_cancellation_is_mailed_too_and_takes_the_call_off_calendars(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email)
    send(organization)
    api.cancel(notes="Found another coach")

    send(organization)

    booked, canceled = mailoutbox
    assert canceled.subject.startswith("Call Canceled: ada, ")
    assert "Found another coach" in canceled.body
    (first, request), (second, cancellation) = invitation(booked), invitation(canceled)
    assert (first["METHOD"], second["METHOD"]) == ("REQUEST", "CANCEL")
    assert request["UID"] == cancellation["UID"]
    assert (request["SEQUENCE"], cancellation["SEQUENCE"]) == (0, 1)
    assert (request["STATUS"], cancellation["STATUS"]) == ("CONFIRMED", "CANCELLED")


def test_the_invitation_has_what_calendars_need(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, meeting_url="https://meet.example/1")

    send(organization)

    calendar, event = invitation(mailoutbox[0])
    assert (calendar["VERSION"], "PRODID" in calendar) == ("2.0", True)
    assert event["DTSTART"].dt == datetime.fromisoformat("2027-01-05T10:00:00Z")
    assert event["DTEND"].dt > event["DTSTART"].dt
    assert event["DTSTAMP"].dt.tzinfo is not None
    assert event["ORGANIZER"].startswith("mailto:")
    assert event["ATTENDEE"] == "mailto:hana@acme.example"
    assert event["LOCATION"] == "https://meet.example/1"


def test_rescheduling_updates_the_same_invitation(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    id = api.book(host_email=host.user.email).json()["data"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=id)
    reschedule(
        organization=organization,
        actor=SYSTEM,
        appointment=appointment,
        to=datetime.fromisoformat("2027-01-06T11:00:00Z"),
    )

    send(organization)

    before, after = (invitation(mail)[1] for mail in mailoutbox)
    assert after["UID"] == before["UID"]
    assert (before["SEQUENCE"], after["SEQUENCE"]) == (0, 1)
    assert after["DTSTART"].dt == datetime.fromisoformat("2027-01-06T11:00:00Z")


def test_a_member_can_switch_them_off(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    change_member(member=host, role=host.role, is_active=True, wants_mail=False)
    api.book(host_email=host.user.email)

    send(organization)

    assert mailoutbox == []


def test_a_repeated_booking_or_cancellation_tells_nobody_again(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    for _ in range(3):
        api.book(host_email=host.user.email)
    for _ in range(3):
        api.cancel()

    send(organization)

    assert [mail.subject.split(":")[0] for mail in mailoutbox] == ["Call Booked", "Call Canceled"]


def test_no_name_can_write_into_the_mails_head(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, lead_first_name="Ada\r\nBcc: all@example.com", lead_last_name="<b>Bold</b>")

    send(organization)

    message = mailoutbox[0].message()
    assert message["Bcc"] is None
    assert "\n" not in mailoutbox[0].subject
    assert "<b>Bold</b>" not in part(mailoutbox[0], "text/html")


def test_a_mail_server_that_fails_is_tried_again(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    api.book(host_email=host.user.email)
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", fail)
        send(organization)
    waiting = Notification.objects.of(organization).get()
    Notification.objects.of(organization).update(next_attempt_at=datetime.fromisoformat("2026-01-01T00:00:00Z"))

    send(organization)

    assert (waiting.state, waiting.last_error, waiting.attempt_count) == (State.PENDING, "mail_server", 1)
    assert len(mailoutbox) == 1
    assert Notification.objects.of(organization).get().state == State.DONE


def fail(*_: object) -> None:
    raise ConnectionRefusedError
