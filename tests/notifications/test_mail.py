"""E-mail notifications about appointments (docs/interface.md, N1 to N5 and N7)."""

from datetime import datetime
from typing import Any

import pytest
from django.core.mail import BadHeaderError
from icalendar import Calendar, Event

from appointments.models import Appointment
from appointments.services import reschedule
from foundation.outbox import State
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from organizations.services import change_member
from tests.client import ApiClient
from tests.factories import make_member
from tests.jobs import send_notifications


@pytest.fixture
def setter(organization: Organization) -> Membership:
    """A setter of Acme in New York, sam@acme.example."""
    return make_member(
        organization,
        "sam@acme.example",
        role=MemberRole.SETTER,
        first_name="Sam",
        last_name="Setter",
        time_zone="America/New_York",
    )


def send_emails(organization: Organization) -> None:
    send_notifications(str(organization.pk))


def recipients(mailoutbox: list[Any]) -> set[str]:
    return {address for email in mailoutbox for address in email.to}


def get_part(email: Any, content_type: str) -> str:
    """Return the content of the first part with this content type."""
    if content_type == "text/plain":
        return email.body
    return next(part.content for part in email.alternatives if part.mimetype.startswith(content_type))


def get_invitation(email: Any) -> tuple[Calendar, Event]:
    """Return the calendar of an e-mail and its event."""
    calendar = Calendar.from_ical(get_part(email, "text/calendar"))
    return calendar, calendar.walk("VEVENT")[0]


def test_the_host_and_the_setter_get_an_email_about_a_booking(
    api: ApiClient, organization: Organization, host: Membership, setter: Membership, mailoutbox: list[Any]
) -> None:
    api.book(
        host_email=host.user.email, setter_email=setter.user.email, lead_first_name="Ada", lead_last_name="Lovelace"
    )

    send_emails(organization)

    assert recipients(mailoutbox) == {"hana@acme.example", "sam@acme.example"}
    assert all(email.subject.startswith("Call Booked: Ada Lovelace, ") for email in mailoutbox)


def test_the_owners_get_the_email_about_a_booking_without_members(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book()

    send_emails(organization)

    assert recipients(mailoutbox) == {"owner@acme.example"}


def test_text_and_html_have_the_lead_the_host_the_meeting_the_note_and_a_link(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    response = api.book(
        host_email=host.user.email,
        meeting_url="https://meet.example/1",
        notes="Asked twice about prices",
        lead_phone="+14155552671",
    )

    send_emails(organization)

    link = f"http://testserver/admin/appointments/appointment/{response.json()['data']['id']}/change/"
    expected = [
        "ada",
        "Strategy call",
        "Hana Host",
        "https://meet.example/1",
        "Asked twice about prices",
        "+14155552671",
        link,
    ]
    for content_type in ("text/plain", "text/html"):
        content = get_part(mailoutbox[0], content_type)
        assert [text for text in expected if text not in content] == [], content_type


def test_times_are_shown_in_the_recipients_time_zone(
    api: ApiClient, organization: Organization, host: Membership, setter: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, setter_email=setter.user.email)

    send_emails(organization)

    times = {email.to[0]: email.subject.split(", ", 1)[1] for email in mailoutbox}
    assert times == {
        "hana@acme.example": "Tuesday, 05 January 2027, 10:00 (UTC)",
        "sam@acme.example": "Tuesday, 05 January 2027, 05:00 (America/New_York)",
    }


def test_a_cancellation_is_sent_with_its_note_and_cancels_the_invitation(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email)
    send_emails(organization)
    api.cancel(notes="Found another coach")

    send_emails(organization)

    booked_email, canceled_email = mailoutbox
    assert canceled_email.subject.startswith("Call Canceled: ada, ")
    assert "Found another coach" in canceled_email.body
    request, booked_event = get_invitation(booked_email)
    cancellation, canceled_event = get_invitation(canceled_email)
    assert (request["METHOD"], cancellation["METHOD"]) == ("REQUEST", "CANCEL")
    assert booked_event["UID"] == canceled_event["UID"]
    assert (booked_event["SEQUENCE"], canceled_event["SEQUENCE"]) == (0, 1)
    assert (booked_event["STATUS"], canceled_event["STATUS"]) == ("CONFIRMED", "CANCELLED")


def test_the_invitation_has_the_properties_that_calendars_need(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, meeting_url="https://meet.example/1")

    send_emails(organization)

    calendar, event = get_invitation(mailoutbox[0])
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

    send_emails(organization)

    before, after = (get_invitation(email)[1] for email in mailoutbox)
    assert after["UID"] == before["UID"]
    assert (before["SEQUENCE"], after["SEQUENCE"]) == (0, 1)
    assert after["DTSTART"].dt == datetime.fromisoformat("2027-01-06T11:00:00Z")


def test_a_member_can_switch_off_all_emails(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    change_member(actor=SYSTEM, member=host, role=host.role, is_active=True, wants_mail=False)
    api.book(host_email=host.user.email)

    send_emails(organization)

    assert mailoutbox == []


def test_a_repeated_booking_or_cancellation_sends_no_further_email(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    for _ in range(3):
        api.book(host_email=host.user.email)
    for _ in range(3):
        api.cancel()

    send_emails(organization)

    assert [email.subject.split(":")[0] for email in mailoutbox] == ["Call Booked", "Call Canceled"]


def test_a_leads_name_cannot_add_headers_or_html(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    api.book(host_email=host.user.email, lead_first_name="Ada\r\nBcc: all@example.com", lead_last_name="<b>Bold</b>")

    send_emails(organization)

    message = mailoutbox[0].message()
    assert message["Bcc"] is None
    assert "\n" not in mailoutbox[0].subject
    assert "<b>Bold</b>" not in get_part(mailoutbox[0], "text/html")


@pytest.mark.parametrize(
    ("error", "name"), [(ConnectionRefusedError(), "mail_server"), (BadHeaderError("a bug"), "internal_error")]
)
def test_an_email_that_could_not_be_sent_is_retried_and_holds_no_place_until_then(
    error: Exception,
    name: str,
    api: ApiClient,
    organization: Organization,
    host: Membership,
    mailoutbox: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    api.book(host_email=host.user.email)
    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", fail)
        send_emails(organization)
    failed = Notification.objects.of(organization).get()
    Notification.objects.of(organization).update(next_attempt_at=datetime.fromisoformat("2026-01-01T00:00:00Z"))

    send_emails(organization)

    assert (failed.state, failed.last_error, failed.attempt_count) == (State.PENDING, name, 1)
    assert failed.lease_token is None
    assert len(mailoutbox) == 1
    assert Notification.objects.of(organization).get().state == State.DONE
