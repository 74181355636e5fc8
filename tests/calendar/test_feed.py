"""The secret iCalendar address of a member: their own calls, read-only, until it is revoked."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import time_machine
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from icalendar import Calendar

from appointments.models import Appointment
from appointments.services import edit_appointment
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization, SecurityEvent
from organizations.services import add_member, change_member, issue_calendar_secret, leave_organization
from tests.client import ApiClient
from tests.factories import deactivate
from tests.staff.home_data import NOW, Week, create_week
from tests.staff.pages import admin_url, logged_in_client


@pytest.fixture
def week(organization: Organization, other_organization: Organization) -> Iterator[Week]:
    with time_machine.travel(NOW, tick=False):
        create_week(other_organization)
        yield create_week(organization)


def new_address(member: Membership) -> str:
    """Let the member create their address on their page, and return its path."""
    response = logged_in_client(member).post(admin_url(Membership, "calendar_address", member.pk), {"state": "None"})
    assert response.status_code == 200, response.status_code
    assert "no-store" in response.headers["Cache-Control"]
    return urlsplit(response.context["secret"]).path


def calls(path: str) -> list[str]:
    """Return the summaries of the calendar, as a stranger gets it."""
    response = Client().get(path)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    return [str(event["summary"]) for event in Calendar.from_ical(response.content).walk("VEVENT")]


def test_an_address_has_the_members_own_calls_but_not_canceled_ones(week: Week):
    path = new_address(week.hana)

    summaries = calls(path)

    hosted = {name for name, row in week.appointments.items() if row.host == week.hana}
    assert "Canceled" in hosted
    assert [text.rpartition(" ")[2] for text in summaries if text.endswith(("Today", "Tomorrow"))] == [
        "Today",
        "Tomorrow",
    ]
    assert len(summaries) == len(hosted - {"Canceled"})


@pytest.mark.parametrize(("later", "is_shown"), [("LOST", False), ("NO_SHOW", False), ("APPOINTMENT_BOOKED", True)])
def test_a_canceled_call_is_shown_again_once_it_is_booked_again(week: Week, later: str, is_shown: bool):
    call, path = week.appointments["Tomorrow"], new_address(week.hana)
    for role in ("CANCELED", later):
        values = {"appointment": call, "status_id": week.status(role).pk}
        edit_appointment(organization=week.organization, actor=SYSTEM, **values)

    assert any(text.endswith(" Tomorrow") for text in calls(path)) == is_shown


def test_of_too_many_calls_those_that_are_still_to_come_are_shown(week: Week, monkeypatch: pytest.MonkeyPatch):
    path = new_address(week.hana)
    everything = calls(path)
    hosted = [row for row in week.appointments.values() if row.host == week.hana]
    upcoming = [row for row in hosted if row.schedule_time >= NOW and row.outcome.role != "CANCELED"]
    monkeypatch.setattr("appointments.calendar_feed.MAX_CALLS", len(upcoming) + 1)

    few = calls(path)

    assert 0 < len(upcoming) < len(everything) - 1
    assert few == everything[-len(upcoming) - 1 :]


def test_a_call_has_the_uid_of_its_invitation_so_calendars_show_it_once(
    api: ApiClient, organization: Organization, host: Membership
):
    id = api.book(host_email=host.user.email).json()["data"]["id"]
    with override_settings(BASE_URL="https://moved.example"):
        response = Client().get(calendar_path(host))

    [event] = Calendar.from_ical(response.content).walk("VEVENT")
    [uid] = {row.context["uid"] for row in Notification.objects.of(organization).filter(kind="CALL_BOOKED")}
    assert (str(event["uid"]), uid.partition("@")[0]) == (uid, id)


def test_calendars_are_told_that_nothing_has_changed(week: Week):
    path = new_address(week.hana)
    first = Client().get(path)

    second = Client().get(path, headers={"if-none-match": first.headers["ETag"]})

    assert (second.status_code, second.content) == (304, b"")
    assert first.headers["Cache-Control"] == "private, max-age=300"


def test_no_page_of_many_calls_reads_the_custom_values_of_each(week: Week):
    client, appointments = logged_in_client(week.hana), admin_url(Appointment, "changelist")
    urls = [
        new_address(week.hana),
        f"{appointments}?view=all&layout=calendar&days=7",
        f"{appointments}?view=all&layout=board",
    ]

    with CaptureQueriesContext(connection) as captured:
        statuses = [client.get(url).status_code for url in urls]

    assert statuses == [200, 200, 200]
    assert [query["sql"] for query in captured if 'custom_values"' in query["sql"]] == []


def test_a_new_address_replaces_the_former_and_a_revoked_one_is_unknown(week: Week):
    former = new_address(week.hana)
    present = calendar_path(week.hana)
    replaced = [Client().get(path).status_code for path in (former, present)]
    week.hana.refresh_from_db()

    logged_in_client(week.mia).post(admin_url(Membership, "revoke_calendar_address", week.hana.pk))

    events = SecurityEvent.objects.filter(user=week.hana.user).order_by("created_at", "id")
    assert replaced == [404, 200]
    assert Client().get(present).status_code == 404
    assert [event.kind for event in events if "calendar" in event.kind] == [
        "calendar_address_issued",
        "calendar_address_issued",
        "calendar_address_revoked",
    ]


def test_a_calendar_that_asks_without_end_is_told_to_wait_and_no_other_is(week: Week):
    greedy, other = calendar_path(week.hana), calendar_path(week.mia)

    answers = [Client().get(greedy) for _ in range(11)]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert "max-age" not in answers[-1].headers.get("Cache-Control", "")
    assert Client().get(other).status_code == 200


def calendar_path(member: Membership) -> str:
    return f"/calendar/{member.organization_id}/{issue_calendar_secret(member=member)}.ics"


def test_a_calendar_waits_while_its_organization_is_moved_and_its_secret_is_not_logged(
    week: Week, caplog: pytest.LogCaptureFixture
):
    path = new_address(week.hana)
    Organization.objects.filter(pk=week.hana.organization_id).update(move="OUT", is_active=False)

    response = Client().get(path)

    assert (response.status_code, response["Content-Type"], response["Retry-After"]) == (503, "text/plain", "5")
    assert caplog.messages == ["Service Unavailable: calendar/<uuid:organization_id>/<str:secret>.ics"]


def test_only_the_members_own_organization_answers_and_only_while_they_are_active(
    week: Week, other_organization: Organization
):
    path = calendar_path(week.hana)
    elsewhere = Client().get(path.replace(str(week.organization.pk), str(other_organization.pk)))
    deactivate(week.hana)

    assert elsewhere.status_code == 404
    assert Client().get(path).status_code == 404
    assert Client().post(path).status_code == 405


@pytest.mark.parametrize("leaves", [True, False])
def test_a_member_who_comes_back_needs_a_new_address(week: Week, leaves: bool):
    path, member = calendar_path(week.hana), week.hana
    if leaves:
        leave_organization(member=member)
    else:
        values = {"role": member.role, "is_active": False, "wants_mail": True}
        change_member(actor=SYSTEM, member=member, **values)

    returned = add_member(organization=week.organization, user=member.user)

    assert (returned.is_active, Client().get(path).status_code) == (True, 404)


def test_nobody_else_creates_a_members_address(week: Week):
    response = logged_in_client(week.mia).post(admin_url(Membership, "calendar_address", week.hana.pk))

    week.hana.refresh_from_db()
    assert (response.status_code, week.hana.calendar_secret_hash) == (403, None)
