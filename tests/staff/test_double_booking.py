"""A host or lead with another appointment at the same time: the form warns, and doesn't forbid."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment, EventType
from leads.services import add_lead
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from organizations.services import set_working_hours
from staff.appointments import schedule
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_api, make_event_type, make_member, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, shown_messages

DAY = "2027-01-05"
BOX = re.compile(r'<input type="checkbox" name="book_anyway" value="([^"]+)"')


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


def times(client: Client, organization: Organization, time: str = "10:00", **fields: object) -> str:
    """Return what the control shows beside a day and a time, without markup."""
    names = {"schedule_time_0": DAY, "schedule_time_1": time, "field": "schedule_time", "host": ""}
    response = client.post(admin_url(Appointment, "times"), {"organization": organization.pk, **names, **fields})
    assert response.status_code == 200, response.status_code
    return " ".join(re.sub("<[^>]*>", " ", response.content.decode()).split())


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
        link = f'<a class="underline" href="{admin_url(Appointment, "change", booked.pk)}" target="_blank">'
        assert form_errors(response) == [
            f"Overlaps with {link}10:00–10:30 Ada, Strategy call (Hana Host)</a>. "
            "Choose another time, or tick this box."
        ]
        assert link in response.content.decode()


def test_a_double_booking_is_possible_after_the_warning(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    warned = post_booking(closer, event_type, "10:15:00", host=host.pk)

    response = post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway="on")

    assert b'type="checkbox" name="book_anyway"' in warned.content
    assert response.status_code == 302
    assert Appointment.objects.of(event_type.organization).filter(host=host).count() == 2


def test_a_tick_for_one_double_booking_makes_no_other(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership, api: ApiClient
):
    warned = post_booking(closer, event_type, "10:15:00", host=host.pk)
    [value] = BOX.findall(warned.content.decode())
    times = {"schedule_time": booked.schedule_time.isoformat(), "host_email": host.user.email}
    api.book(external_reference="meanwhile", lead_email="meanwhile@example.com", **times)

    warned_again = post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway=value)
    [new_value] = BOX.findall(warned_again.content.decode())
    response = post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway=new_value)

    assert "10:00–10:30 meanwhile, Strategy call (Hana Host)" in " ".join(form_errors(warned_again))
    assert (new_value != value, response.status_code) == (True, 302)


def test_another_host_and_a_canceled_call_are_no_double_booking(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership, organization: Organization
):
    other = make_member(organization, "olga@acme.example")

    with_other_host = post_booking(closer, event_type, "10:00:00", host=other.pk)
    api = make_api(organization)
    api.cancel(external_reference="first")
    after_cancellation = post_booking(closer, event_type, "10:00:00", host=host.pk, lead_email="eve@example.com")
    for body in ({"outcome_role": "CANCELED"}, {"outcome_role": "LOST"}):
        for row in Appointment.objects.of(organization).filter(host=host):
            api.patch(f"/api/external/appointments/{row.pk}", body)
    after_another_outcome = post_booking(closer, event_type, "10:00:00", host=host.pk, lead_email="flo@example.com")

    responses = [with_other_host, after_cancellation, after_another_outcome]
    assert [response.status_code for response in responses] == [302, 302, 302]


def test_a_lead_with_another_call_at_that_time_is_warned_about(
    closer: Client, event_type: EventType, booked: Appointment
):
    response = post_booking(closer, event_type, "10:00:00", lead_email=" ADA@example.com")

    assert any("Overlaps with" in message for message in form_errors(response))


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

    assert any("Overlaps with" in message for message in form_errors(warned))
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
    assert any("Overlaps with" in message for message in form_errors(warned))


def test_canceling_a_double_booked_call_is_not_warned_about(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    post_booking(closer, event_type, "10:15:00", host=host.pk, book_anyway="on")
    url = admin_url(Appointment, "change", booked.pk)
    canceled = Status.objects.of(event_type.organization).get(role="CANCELED")

    response = closer.post(url, form_data(closer, url, outcome=canceled.pk))

    assert response.status_code == 302, form_errors(response)


# What stands beside the time


def test_a_typed_time_is_read_as_people_write_it(closer: Client, event_type: EventType, host: Membership):
    for number, (day, time) in enumerate([("5.1.2027", "5pm"), ("2027-01-05", "17.30"), ("5 Jan 2027", "1800")]):
        values = {"lead_email": f"lead{number}@example.com", "host": ""}
        post_booking(closer, event_type, time, schedule_time_0=day, **values)
    refused = post_booking(closer, event_type, "later", schedule_time_0="01/02/2027")

    booked = Appointment.objects.of(event_type.organization).order_by("schedule_time")
    assert [f"{row.schedule_time:%Y-%m-%d %H:%M}" for row in booked] == [
        "2027-01-05 17:00",
        "2027-01-05 17:30",
        "2027-01-05 18:00",
    ]
    assert form_errors(refused) == [
        "Enter a date such as 25.11.2026 or 2026-11-25.",
        "Enter a time such as 17:30 or 5pm.",
    ]


def test_seconds_are_neither_shown_nor_lost(closer: Client, booked: Appointment):
    exact = booked.schedule_time.replace(second=31, microsecond=5000)
    Appointment.objects.of(booked.organization).filter(pk=booked.pk).update(schedule_time=exact)
    url = admin_url(Appointment, "change", booked.pk)
    form = form_data(closer, url)

    closer.post(url, form | {"recording_url": "https://rec.example/1"})

    booked.refresh_from_db()
    assert form["schedule_time_1"] == "10:00"
    assert (booked.schedule_time, booked.recording_url) == (exact, "https://rec.example/1")


def test_the_control_names_overlaps_and_the_other_calls_of_the_day(
    closer: Client, event_type: EventType, booked: Appointment, host: Membership
):
    organization, before = event_type.organization, snapshot_of(event_type.organization)

    overlapping = times(closer, organization, "10:15", host=host.pk, event_type=event_type.pk)
    later = times(closer, organization, "15:00", lead_email="ADA@example.com", event_type=event_type.pk)
    own = times(closer, organization, "10:00", appointment=booked.pk, host=host.pk)

    assert "Overlaps with 10:00–10:30 Ada, Strategy call (Hana Host)" in overlapping
    assert "Other calls that day: 10:00–10:30 Ada, Strategy call (Hana Host) Choose a host" in later
    assert ["10:00–10:30" in text for text in (own,)] == [False]
    assert snapshot_of(organization) == before


def test_the_control_shows_the_clocks_of_host_and_lead_and_warns_outside_working_hours(
    closer: Client, organization: Organization
):
    seoul = make_member(organization, "min@acme.example", first_name="Min", time_zone="Asia/Seoul")
    add = partial(add_lead, organization=organization, actor=SYSTEM)
    lead = add(email="paula@example.com", first_name="Paula", phone_e164="+4915112345678", phone_country="DE")
    unclear = add(email="sue@example.com", first_name="Sue", phone_e164="+61491570085", phone_country="AU")
    set_working_hours(member=seoul, hours=None, days_off=[["2027-01-05", "2027-01-05"]], buffer_minutes=0)

    off, morning = (times(closer, organization, time, host=seoul.pk, lead=lead.pk) for time in ("13:00", "23:00"))
    australian = times(closer, organization, "06:00", lead=unclear.pk)

    assert "Min: Tue 5 Jan, 22:00, Seoul time (GMT+9) Paula: Tue 5 Jan, 14:00, Berlin time (GMT+1)" in off
    assert "Min is off that day." in off
    assert "Outside Min’s working hours: Mon to Fri 09:00–18:00, Seoul time (GMT+9)." in morning
    assert "Sue: between Tue 5 Jan, 14:00 and Tue 5 Jan, 17:00, by the country of the phone" in australian


@pytest.mark.parametrize("minutes", ["01440" + "9" * 30, "00001" + "9" * 5000, "00001999999", "0", "-5"])
def test_the_minutes_of_the_control_are_those_of_a_day_at_most(
    closer: Client, booked: Appointment, host: Membership, minutes: str
):
    page = times(closer, booked.organization, host=host.pk, minutes=minutes)

    assert "Hana Host is free on Tue 5 Jan" in page
    assert page == times(closer, booked.organization, host=host.pk)


def test_the_control_offers_the_free_times_of_the_day_or_of_the_next_one(
    closer: Client, booked: Appointment, host: Membership
):
    set_working_hours(member=host, hours=[[["09:00", "12:00"]]] * 5 + [[], []], days_off=None, buffer_minutes=10)
    names = {"host": host.pk, "event_type": booked.event_type_id}

    tuesday = times(closer, booked.organization, "9", **names)
    saturday = times(closer, booked.organization, "", **names, schedule_time_0="2027-01-09")
    moved = times(closer, booked.organization, "10:00", appointment=booked.pk, **names)

    assert "Hana Host is free on Tue 5 Jan: 09:00 11:00 11:30" in tuesday  # a pause before and after the call at 10
    assert "No free time that day. Hana Host is free on Mon 11 Jan: 09:00 09:30 10:00" in saturday
    assert "Hana Host is free on Tue 5 Jan: 09:00 09:30 10:00 10:30 11:00 11:30" in moved


def test_the_control_offers_calls_that_end_after_the_users_midnight(closer: Client, organization: Organization):
    seoul = make_member(organization, "min@acme.example", first_name="Min", time_zone="Asia/Seoul")
    hour = make_event_type(organization, "Strategy call", duration_minutes=60)
    set_working_hours(member=seoul, hours=[[["08:30", "10:30"]]] * 7, days_off=None, buffer_minutes=0)

    page = times(closer, organization, "", host=seoul.pk, event_type=hour.pk)

    assert page.endswith("Min is free on Tue 5 Jan: 00:00 00:30 23:30")


def test_the_control_of_a_next_step_is_about_ones_own_day(closer: Client, booked: Appointment):
    values = {"organization": booked.organization_id, "lead": booked.lead_id, "minutes": 15, "field": "at"}

    response = closer.post(admin_url(Appointment, "times"), {**values, "at_0": DAY, "at_1": "10:15"})

    page = response.content.decode()
    assert "Overlaps with" in page
    assert 'data-start="2027-01-05 09:45"' in page
    assert 'data-start="2027-01-05 10:00"' not in page


def test_calls_of_another_organization_are_not_shown(
    closer: Client, organization: Organization, other_appointment: Appointment
):
    names = {"host": other_appointment.host_id, "lead": other_appointment.lead_id, "appointment": other_appointment.pk}
    url = admin_url(Appointment, "times")

    page = times(closer, organization, **names, lead_email="zyxwv@leads.example")
    strange = closer.post(url, {"organization": other_appointment.organization_id, **names, "field": "x"})

    assert page == "The lead isn&#x27;t notified. Choose a host to see their free times."
    assert strange.status_code == 404


def test_a_form_for_a_known_lead_begins_with_the_choices_of_the_last_call(
    owner: Client, booked: Appointment, host: Membership
):
    url = f"{admin_url(Appointment, 'add')}?lead={booked.lead_id}"
    page = owner.get(url)
    form = form_data(owner, url)

    response = owner.post(url, {**form, "schedule_time_0": DAY, "schedule_time_1": "11:00"})

    assert (form["host"], form["event_type"]) == (str(host.pk), str(booked.event_type_id))
    assert "lead_email" not in form
    assert "timestamp-about" in page.content.decode()
    assert response.status_code == 302, form_errors(response)
    assert Appointment.objects.of(booked.organization).filter(lead=booked.lead_id).count() == 2


# Without a form of its own


def book_beside(organization: Organization, host: Membership | None, *times: str) -> list[Appointment]:
    """Book these times of the day for other leads, each with an hour."""
    api, email = make_api(organization), {"host_email": host.user.email} if host else {}
    bodies = [
        api.book(
            external_reference=time, lead_email=f"lead-{time[:2]}@example.com", schedule_time=f"{DAY}T{time}Z", **email
        ).json()
        for time in times
    ]
    return [Appointment.objects.of(organization).get(pk=body["data"]["id"]) for body in bodies]


def run_on_selected(client: Client, action: str, rows: list[Appointment], value: object) -> list[str]:
    """Run an action on rows of the list, and return the messages, without markup."""
    data = {"action": action, "_selected_action": [str(row.pk) for row in rows], "index": "0", "confirmed": "yes"}
    response = client.post(f"{admin_url(Appointment, 'changelist')}?view=all", {**data, "value": str(value)})
    return [re.sub("<button.*", "[Undo]", message) for message in shown_messages(response)]


def link_to(row: Appointment) -> str:
    return f'<a class="underline" href="{admin_url(Appointment, "change", row.pk)}">{row}</a>'


def test_setting_the_host_of_several_calls_says_which_overlap(
    owner: Client, booked: Appointment, host: Membership, organization: Organization
):
    before, at_half_past, later = book_beside(organization, None, "09:00:00", "10:29:00", "12:00:00")

    messages = run_on_selected(owner, "set_host_selected", [before, at_half_past, later], host.pk)
    other = run_on_selected(owner, "set_setter_selected", [before, at_half_past, later], host.pk)

    assert messages == [
        f"1 of these calls overlaps with another appointment of Hana Host: {link_to(at_half_past)}.",
        "3 appointments now have Hana Host as host.",
    ]
    assert other[2:] == ["3 appointments now have Hana Host as setter."]


def test_calls_that_are_given_to_one_host_can_overlap_with_each_other(
    owner: Client, host: Membership, organization: Organization, django_assert_num_queries: Callable[..., Any]
):
    rows = book_beside(organization, None, "13:00:00", "13:15:00", "13:30:00", "13:45:00")

    (warning, _) = run_on_selected(owner, "set_host_selected", rows, host.pk)

    names = "; ".join(link_to(row) for row in rows[:3])
    assert warning == f"4 of these calls overlap with another appointment of Hana Host: {names} …."
    with django_assert_num_queries(1):
        assert schedule.overlap_warning(Appointment.unscoped.filter(host=host), "", "host")


def test_a_canceled_call_takes_no_time_of_its_new_host(
    owner: Client, booked: Appointment, host: Membership, organization: Organization
):
    rows = book_beside(organization, None, "10:00:00", "15:00:00", "15:30:00")
    for reference in ("10:00:00", "15:30:00"):
        make_api(organization).cancel(external_reference=reference)

    assert run_on_selected(owner, "set_host_selected", rows, host.pk) == ["3 appointments now have Hana Host as host."]


def test_many_overlaps_are_not_counted_to_the_end(
    owner: Client, host: Membership, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(schedule, "MAX_LISTED", 2)
    rows = book_beside(organization, None, "13:00:00", "13:15:00", "13:30:00")

    (warning, _) = run_on_selected(owner, "set_host_selected", rows, host.pk)

    assert warning.startswith("More than 2 of these calls overlap with another appointment of Hana Host: ")


def test_an_overlap_is_asked_about_however_many_calls_are_before_it(
    owner: Client, event_type: EventType, host: Membership, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(schedule, "MAX_LISTED", 2)
    book_beside(organization, host, "08:00:00", "09:00:00", "10:00:00", "15:00:00")

    response = post_booking(owner, event_type, "15:15", host=host.pk)
    beside = times(owner, organization, "15:15", host=host.pk, event_type=event_type.pk)

    assert "Overlaps with" in str(form_errors(response))
    assert "15:00" in beside


@pytest.fixture
def given_away(booked: Appointment, host: Membership, organization: Organization) -> Appointment:
    """Hana's canceled call, whose hour she has given to another lead since."""
    make_api(organization).cancel(external_reference="first")
    book_beside(organization, host, "10:15:00")
    return booked


@pytest.mark.parametrize("role", ["APPOINTMENT_BOOKED", "RESCHEDULED"])
def test_a_canceled_call_is_booked_again_in_a_taken_hour_only_after_a_question(
    role: str, owner: Client, given_away: Appointment, organization: Organization
):
    status = Status.objects.of(organization).get(role=role)
    url, before = admin_url(Appointment, "set_outcome", given_away.pk), snapshot_of(organization)

    warned = owner.post(url, form_data(owner, url, outcome=status.pk))
    unchanged = snapshot_of(organization) == before
    ticked = owner.post(url, form_data(owner, url, outcome=status.pk, book_anyway="on"))

    given_away.refresh_from_db()
    assert [error.partition(" <a")[0] for error in form_errors(warned)] == ["Overlaps with"]
    assert b'type="checkbox" name="book_anyway"' in warned.content
    assert (unchanged, ticked.status_code, given_away.outcome) == (True, 302, status)


def test_an_outcome_that_books_nothing_again_asks_nothing_about_overlaps(
    owner: Client, given_away: Appointment, organization: Organization
):
    lost = Status.objects.of(organization).get(role="LOST")
    url = admin_url(Appointment, "set_outcome", given_away.pk)

    assert owner.post(url, form_data(owner, url, outcome=lost.pk)).status_code == 302


def test_booking_several_canceled_calls_again_says_which_overlap(
    owner: Client, given_away: Appointment, organization: Organization
):
    statuses, (other,) = Status.objects.of(organization), book_beside(organization, None, "17:00:00")
    make_api(organization).cancel(external_reference="17:00:00")

    messages = run_on_selected(
        owner, "set_outcome_selected", [given_away, other], statuses.get(role="APPOINTMENT_BOOKED").pk
    )

    assert messages == [
        f"1 of these calls overlaps with another appointment of the host or the lead: {link_to(given_away)}.",
        "2 marked as Appointment booked. [Undo]",
    ]


def test_handing_calls_over_says_which_overlap(
    owner: Client, booked: Appointment, host: Membership, organization: Organization
):
    tom = make_member(organization, "tom@acme.example", first_name="Tom")
    book_beside(organization, tom, "10:15:00", "18:00:00")
    book_beside(organization, host, "16:00:00")
    url = admin_url(Membership, "hand_over", host.pk)

    response = owner.post(url, form_data(owner, url, calls=tom.pk))

    assert shown_messages(response)[-1] == (
        f"Handed over: 2 calls. 1 of these calls overlaps with another appointment of Tom: {link_to(booked)}."
    )
