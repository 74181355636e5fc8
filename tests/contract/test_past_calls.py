"""A call that is over notifies no one and books no lead, whichever entrance stores it (docs/interface.md, A32)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from appointments.services import book, cancel_appointment, edit_appointment, import_appointment, reschedule
from leads.models import Lead
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from statuses.models import Status, StatusRole
from tests.client import ApiClient
from tests.factories import events_of, make_event_type, make_member, owner_of
from tests.imports.files import Page, csv_file
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

NOW = datetime.now(UTC)
PAST, FUTURE = NOW - timedelta(hours=2), NOW + timedelta(days=60)
BOOKED = ["appointment.created", "lead.created"]


@pytest.fixture
def host(organization: Organization) -> Membership:
    organization.slack_url = "https://hooks.slack.com/services/1"
    organization.save()
    return make_member(organization, "hana@acme.example", first_name="Hana", last_name="Host")


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def only(organization: Organization) -> Appointment:
    found: Appointment = Appointment.objects.of(organization).select_related("lead__status", "outcome").get()
    return found


def notified(organization: Organization) -> int:
    """Return how many e-mails and Slack messages are stored."""
    return int(Notification.objects.of(organization).count())


def over(organization: Organization) -> Appointment:
    """Let the appointment have been booked and have taken place, and return it."""
    Appointment.objects.of(organization).update(schedule_time=PAST, created_at=PAST - timedelta(days=1))
    return only(organization)


Entrance = Callable[[Organization, ApiClient, Client], Any]


def by_api(organization: Organization, api: ApiClient, owner: Client) -> None:
    assert api.book(schedule_time=PAST.isoformat(), host_email="hana@acme.example").status_code == 201


def by_service(organization: Organization, api: ApiClient, owner: Client) -> None:
    names = {"lead_email": "ada@example.com", "event_type_name": "Strategy call", "host_email": "hana@acme.example"}
    book(organization=organization, actor=SYSTEM, external_reference="ref-1", schedule_time=PAST, **names)


def by_admin(organization: Organization, api: ApiClient, owner: Client) -> None:
    event_type, url = make_event_type(organization, "Strategy call"), admin_url(Appointment, "add")
    values = {"lead_email": "ada@example.com", "event_type": event_type.pk, "schedule_time_0": f"{PAST:%Y-%m-%d}"}
    values |= {"host": Membership.objects.of(organization).get(user__email="hana@acme.example").pk}
    values |= {"schedule_time_1": f"{PAST:%H:%M:%S}", "book_anyway": "on"}
    response = owner.post(url, form_data(owner, url, **values))
    assert response.status_code == 302, form_errors(response)


def by_import(organization: Organization, api: ApiClient, owner: Client) -> None:
    row = ["ref-1", "ada@example.com", f"{PAST:%Y-%m-%d %H:%M}Z", "Strategy call", "hana@acme.example"]
    file = csv_file(["Reference", "Lead e-mail", "Time", "Event type", "Host"], row)
    assert Page(owner, organization, file, kind="APPOINTMENTS").run(invitations=True).row.counts == {"NEW": 1}


def by_provider(organization: Organization, api: ApiClient, owner: Client) -> None:
    names = {"lead_email": "ada@example.com", "event_type_name": "Strategy call", "host_email": "hana@acme.example"}
    report = {"organization": organization, "actor": SYSTEM, "provider": "SCHEDULER_A", "external_reference": "ref-1"}
    import_appointment(**report, schedule_time=PAST, **names)


EACH_ENTRANCE = pytest.mark.parametrize("entrance", [by_api, by_service, by_admin, by_import, by_provider])


@EACH_ENTRANCE
def test_booking_a_call_that_is_over_notifies_no_one_and_leaves_a_new_lead_new(
    organization: Organization, api: ApiClient, owner: Client, host: Membership, entrance: Entrance
) -> None:
    entrance(organization, api, owner)

    booked = only(organization)
    assert notified(organization) == 0
    assert (booked.outcome.role, booked.invitation_sequence, booked.invited) == ("APPOINTMENT_BOOKED", 0, None)
    assert (booked.lead.status.role, booked.lead.next_touch_point_at) == ("NEW_LEAD", None)
    assert events_of(organization) == BOOKED


@EACH_ENTRANCE
def test_a_call_that_was_entered_late_books_its_lead_when_it_is_moved_to_a_day_to_come(
    organization: Organization, api: ApiClient, owner: Client, host: Membership, entrance: Entrance
) -> None:
    entrance(organization, api, owner)
    moves = {"organization": organization, "actor": SYSTEM, "appointment": only(organization)}

    reschedule(**moves, to=PAST - timedelta(days=1))
    still_over = only(organization).lead.status.role
    reschedule(**moves, to=FUTURE)

    assert (still_over, only(organization).lead.status.role) == ("NEW_LEAD", "APPOINTMENT_BOOKED")


@EACH_ENTRANCE
@pytest.mark.parametrize("role", ["NEW_LEAD", "CANCELED", "LOST"])
def test_booking_a_call_that_is_over_leaves_the_status_of_a_known_lead(
    organization: Organization, api: ApiClient, owner: Client, host: Membership, entrance: Entrance, role: str
) -> None:
    api.submit()
    Lead.objects.of(organization).update(status=Status.objects.of(organization).get(role=role))

    entrance(organization, api, owner)

    assert only(organization).lead.status.role == role
    assert events_of(organization) == ["appointment.created", "lead.created", "opt_in.created"]


def test_a_call_in_progress_is_booked_like_one_that_is_to_come(
    organization: Organization, api: ApiClient, host: Membership
) -> None:
    start = datetime.now(UTC) - timedelta(minutes=30)

    api.book(schedule_time=start.isoformat(), host_email="hana@acme.example")

    assert notified(organization) == 2
    assert only(organization).lead.status.role == "APPOINTMENT_BOOKED"


@pytest.mark.parametrize("minutes", [20, 40])
def test_the_duration_of_the_event_type_says_when_a_call_is_over(
    organization: Organization, api: ApiClient, host: Membership, minutes: int
) -> None:
    event_type = make_event_type(organization, "Short call", duration_minutes=30)
    start = datetime.now(UTC) - timedelta(minutes=minutes)

    api.book(schedule_time=start.isoformat(), event_type_id=str(event_type.pk), host_email="hana@acme.example")

    assert bool(notified(organization)) == (minutes == 20)
    assert only(organization).lead.status.role == ("APPOINTMENT_BOOKED" if minutes == 20 else "NEW_LEAD")


CANCELLATIONS: dict[str, Entrance] = {
    "API": lambda organization, api, owner: api.cancel(),
    "admin": lambda organization, api, owner: owner.post(admin_url(Appointment, "cancel", only(organization).pk)),
    "admin, by the outcome": lambda organization, api, owner: owner.post(
        url := admin_url(Appointment, "change", only(organization).pk),
        form_data(owner, url, outcome=Status.objects.of(organization).get(role="CANCELED").pk, book_anyway="on"),
    ),
    "service": lambda organization, api, owner: cancel_appointment(
        organization=organization, actor=SYSTEM, appointment=only(organization)
    ),
    "import": lambda organization, api, owner: Page(
        owner, organization, csv_file(["Reference", "Outcome"], ["ref-1", "Canceled"]), kind="APPOINTMENTS"
    ).run(invitations=True),
}


@pytest.mark.parametrize("entrance", CANCELLATIONS.values(), ids=CANCELLATIONS.keys())
def test_canceling_a_call_that_is_over_notifies_no_one_and_records_the_event(
    organization: Organization, api: ApiClient, owner: Client, host: Membership, entrance: Entrance
) -> None:
    api.book(schedule_time=FUTURE.isoformat(), host_email="hana@acme.example")
    over(organization)
    before = notified(organization)

    entrance(organization, api, owner)

    canceled = only(organization)
    assert notified(organization) == before
    assert (canceled.outcome.role, canceled.lead.status.role) == ("CANCELED", "CANCELED")
    assert events_of(organization) == ["appointment.canceled", *BOOKED, "lead.status_changed"]


def test_a_call_that_is_moved_into_the_past_notifies_no_one_and_one_that_is_moved_back_does(
    organization: Organization, api: ApiClient, host: Membership
) -> None:
    api.book(schedule_time=FUTURE.isoformat(), host_email="hana@acme.example")
    common: dict[str, Any] = {"organization": organization, "actor": SYSTEM, "appointment": only(organization)}
    before = notified(organization)

    reschedule(**common, to=PAST)
    after_the_first_move = notified(organization)
    reschedule(**common, to=FUTURE)

    assert after_the_first_move == before
    assert notified(organization) == before + 2
    assert events_of(organization).count("appointment.rescheduled") == 2


@pytest.mark.parametrize("change", ["time", "outcome"])
def test_a_canceled_call_that_is_booked_again_in_the_past_leaves_its_lead(
    organization: Organization, api: ApiClient, host: Membership, change: str
) -> None:
    api.book(schedule_time=FUTURE.isoformat(), host_email="hana@acme.example")
    api.cancel()
    before = notified(organization)
    booked = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED").pk
    if change == "outcome":
        over(organization)
    fields: dict[str, Any] = {"time": {"schedule_time": PAST}, "outcome": {"status_id": booked}}[change]

    edit_appointment(organization=organization, actor=SYSTEM, appointment=only(organization), **fields)

    assert (only(organization).outcome.role, only(organization).lead.status.role) == ("APPOINTMENT_BOOKED", "CANCELED")
    assert notified(organization) == before


def test_imported_old_calls_send_nothing_and_move_no_lead(
    owner: Client, organization: Organization, api: ApiClient, host: Membership
) -> None:
    api.submit(email="lead-1@example.com")
    header = ["Reference", "Lead e-mail", "Time", "Event type", "Host", "Outcome"]
    outcomes = ["", "Won", "Canceled", "No-show"]
    rows = [
        [f"old-{n}", f"lead-{n % 7}@example.com", "2025-03-03 10:00", "Call", "hana@acme.example", outcomes[n % 4]]
        for n in range(52)  # more than a batch
    ]

    page = Page(owner, organization, csv_file(header, *rows), kind="APPOINTMENTS").run(invitations=True)

    assert page.row.counts == {"NEW": 52}
    assert notified(organization) == 0
    assert set(Lead.objects.of(organization).values_list("status__role", flat=True)) == {"NEW_LEAD"}


def test_an_old_call_that_its_provider_reports_as_canceled_moves_no_lead(
    organization: Organization, host: Membership
) -> None:
    report: dict[str, Any] = {"organization": organization, "actor": SYSTEM, "provider": "SCHEDULER_A"}
    report |= {"external_reference": "sync-1", "lead_email": "ada@example.com", "event_type_name": "Call"}

    import_appointment(**report, schedule_time=PAST, outcome=StatusRole.CANCELED)

    assert (only(organization).outcome.role, only(organization).lead.status.role) == ("CANCELED", "NEW_LEAD")
    assert notified(organization) == 0
