"""A host or lead with another appointment at the same time: the form warns, and doesn't forbid."""

import pytest
from django.test import Client

from appointments.models import Appointment, EventType
from organizations.models import Membership, Organization
from statuses.models import Status
from tests.factories import make_api, make_event_type, make_member, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors

DAY = "2027-01-05"


@pytest.fixture
def event_type(organization: Organization) -> EventType:
    """An event type of Acme whose calls take half an hour."""
    return make_event_type(organization, "Strategy call", duration_minutes=30)


@pytest.fixture
def booked(event_type: EventType, host: Membership) -> Appointment:
    """Hana's call with Ada from 10:00 to 10:30."""
    response = make_api(event_type.organization).book(
        external_reference="first",
        lead_email="ada@example.com",
        lead_first_name="Ada",
        event_type_name="Strategy call",
        host_email=host.user.email,
        schedule_time=f"{DAY}T10:00:00Z",
    )
    return Appointment.objects.of(event_type.organization).get(pk=response.json()["data"]["id"])


def post_booking(client: Client, event_type: EventType, time: str, **fields: object):
    """Send the booking form for Bob at this time, and return the response."""
    url = admin_url(Appointment, "add")
    values = {"lead_email": "bob@example.com", "event_type": event_type.pk, "schedule_time_0": DAY} | fields
    return client.post(url, form_data(client, url, schedule_time_1=time, **values))


def listed(response) -> str:
    """Return the list of other appointments that the page shows."""
    page = response.content.decode()
    return page[page.index('id="other-appointments"') :].partition("</section>")[0]


@pytest.mark.parametrize(
    ("time", "is_warned"), [("09:30:00", False), ("09:31:00", True), ("10:29:00", True), ("10:30:00", False)]
)
def test_a_booking_that_overlaps_another_call_of_the_host_is_warned_about(
    time: str, is_warned: bool, closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    before = snapshot_of(event_type.organization)

    response = post_booking(closer, event_type, time, host=host.pk)

    assert (response.status_code == 200, snapshot_of(event_type.organization) == before) == (is_warned, is_warned)
    if is_warned:
        assert form_errors(response) == [
            "Another appointment of the host or lead overlaps with this one. Change the time or the people, or tick "
            "this box and save again."
        ]
        assert "10:00–10:30" in listed(response)
        assert "Ada" in listed(response)


def test_a_double_booking_is_possible_after_the_warning(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    warned = post_booking(closer, event_type, "10:15:00", host=host.pk)

    response = post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway="on")

    assert b'type="checkbox" name="book_anyway"' in warned.content
    assert response.status_code == 302
    assert Appointment.objects.of(event_type.organization).filter(host=host).count() == 2


def test_another_host_and_a_canceled_call_are_no_double_booking(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership, organization: Organization
):
    other = make_member(organization, "olga@acme.example")

    with_other_host = post_booking(closer, event_type, "10:00:00", host=other.pk)
    make_api(organization).cancel(external_reference="first")
    after_cancellation = post_booking(closer, event_type, "10:00:00", host=host.pk, lead_email="eve@example.com")

    assert [with_other_host.status_code, after_cancellation.status_code] == [302, 302]


def test_a_lead_with_another_call_at_that_time_is_warned_about(
    closer: Client, event_type: EventType, booked: Appointment
):
    response = post_booking(closer, event_type, "10:00:00", lead_email=" ADA@example.com")

    assert any("overlaps" in message for message in form_errors(response))
    assert "10:00–10:30" in listed(response)


def test_a_move_onto_another_call_of_the_host_is_warned_about(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    post_booking(closer, event_type, "12:00:00", host=host.pk)
    moved = Appointment.objects.of(event_type.organization).exclude(pk=booked.pk).get()
    url = admin_url(Appointment, "change", moved.pk)
    before = snapshot_of(event_type.organization)

    warned = closer.post(url, form_data(closer, url, schedule_time_1="10:15:00"))
    unchanged = snapshot_of(event_type.organization)
    saved = closer.post(url, form_data(closer, url, schedule_time_1="10:15:00", book_anyway="on"))

    assert any("overlaps" in message for message in form_errors(warned))
    assert (unchanged, saved.status_code) == (before, 302)


def test_a_double_booked_call_can_be_edited_and_canceled_without_a_warning(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway="on")
    url = admin_url(Appointment, "change", booked.pk)

    edited = closer.post(url, form_data(closer, url, recording_url="https://rec.example/1"))

    assert edited.status_code == 302, form_errors(edited)


def test_moving_a_canceled_call_books_it_again_and_is_warned_about(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    make_api(event_type.organization).cancel(external_reference="first")
    post_booking(closer, event_type, "12:00:00", host=host.pk)
    url = admin_url(Appointment, "change", booked.pk)

    noted = closer.post(url, form_data(closer, url, host=""))
    warned = closer.post(url, form_data(closer, url, host=host.pk, schedule_time_1="12:15:00"))

    assert noted.status_code == 302, form_errors(noted)
    assert any("overlaps" in message for message in form_errors(warned))


def test_canceling_a_double_booked_call_is_not_warned_about(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway="on")
    url = admin_url(Appointment, "change", booked.pk)
    canceled = Status.objects.of(event_type.organization).get(role="CANCELED")

    response = closer.post(url, form_data(closer, url, outcome=canceled.pk))

    assert response.status_code == 302, form_errors(response)


def test_the_page_of_a_call_lists_the_other_calls_of_the_day_in_the_members_time_zone(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    host.user.time_zone = "Asia/Tokyo"
    host.user.save()
    # 23:00 on 5 January in Tokyo, the same day as the first call there, and 01:00 on the next.
    post_booking(closer, event_type, "23:00:00", host=host.pk)
    post_booking(closer, event_type, "01:00:00", host=host.pk, schedule_time_0="2027-01-06", lead_email="eve@x.example")

    page = closer.get(admin_url(Appointment, "change", booked.pk))

    assert "Tue 5 Jan 2027" in listed(page)
    assert ["23:00–23:30" in listed(page), "01:00–01:30" in listed(page)] == [True, False]
    assert "overlap" not in listed(page).lower()


def test_the_list_can_be_refreshed_without_saving(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    before = snapshot_of(event_type.organization)

    response = post_booking(closer, event_type, "15:00:00", host=host.pk, _preview="1")

    assert "10:00–10:30" in listed(response)
    assert snapshot_of(event_type.organization) == before


def test_calls_of_another_organization_are_not_listed(
    closer: Client, event_type: EventType, booked: Appointment, other_appointment: Appointment, host: Membership
):
    response = post_booking(
        closer, event_type, "10:00:00", host=other_appointment.host_id, lead="", lead_email="zyxwv@leads.example"
    )

    assert "zyxwv" not in listed(response)


def test_the_empty_form_says_what_the_list_will_show(closer: Client, event_type: EventType):
    assert "Choose a time" in listed(closer.get(admin_url(Appointment, "add")))
