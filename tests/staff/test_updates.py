"""Open pages say what others have changed since they were loaded (docs/staff.md, Open pages)."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import Membership, Organization
from staff import updates
from tests.client import ApiClient
from tests.factories import owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client

URL = re.compile(r'id="updates" role="status" data-url="([^"]+)"')
REFRESH = {"Purpose": "refresh"}  # sent by the scripts of open pages
LATER = "2027-05-01T09:00:00Z"


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


def opened(client: Client, page: str) -> str:
    """Load the page, and return the address that it asks for updates."""
    [url] = URL.findall(client.get(page).content.decode())
    return unescape(url)


def ask(client: Client, url: str) -> str:
    response = client.get(url, headers=REFRESH)
    assert response.status_code == 200
    text: str = response.json()["text"]
    return text


def wait(clock: Any) -> None:
    clock.shift(timedelta(seconds=5))


def test_a_list_says_what_others_have_added_and_changed(owner: Client, api: ApiClient, other_api: ApiClient) -> None:
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        api.book(external_reference="r-0")
        wait(clock)
        pages = {
            "appointments": opened(owner, admin_url(Appointment, "changelist")),
            "leads": opened(owner, admin_url(Lead, "changelist")),
            "home": opened(owner, "/admin/"),
        }
        assert {name: ask(owner, url) for name, url in pages.items()} == dict.fromkeys(pages, "")

        wait(clock)
        other_api.book(external_reference="r-1")
        api.book(external_reference="r-1", lead_email="bob@example.com")
        api.book(external_reference="r-2", lead_email="bob@example.com")
        api.cancel(external_reference="r-0")

        assert {name: ask(owner, url) for name, url in pages.items()} == {
            "appointments": "2 new, 1 changed.",
            "leads": "1 new, 1 changed.",
            "home": "3 new, 2 changed.",
        }


def test_a_record_says_who_changed_it(owner: Client, api: ApiClient) -> None:
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        id = api.book().json()["data"]["id"]
        lead_id = api.get_appointment(id)["lead"]["id"]
        wait(clock)
        records = [
            opened(owner, admin_url(Appointment, "change", id)),
            opened(owner, admin_url(Lead, "change", lead_id)),
        ]
        assert [ask(owner, url) for url in records] == ["", ""]

        wait(clock)
        api.post(f"/api/external/appointments/{id}/notes", {"note": "Called back"})

        assert [ask(owner, url) for url in records] == ["Changed just now by Tests."] * 2
        tag = owner.get(records[0]).headers["ETag"]
        assert owner.get(records[0], headers={"If-None-Match": tag}).status_code == 304
        clock.shift(timedelta(minutes=10))
        assert ask(owner, records[0]).startswith("Changed at 10:00")


def test_ones_own_changes_are_not_told_and_asking_is_no_use_of_the_session(
    owner: Client, api: ApiClient, organization: Organization
) -> None:
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        id = api.book().json()["data"]["id"]
        wait(clock)
        url = opened(owner, admin_url(Appointment, "change", id))
        wait(clock)
        cancel = admin_url(Appointment, "cancel", id)
        owner.post(cancel, form_data(owner, cancel))
        used_at = owner.session["usage"]["used_at"]

        clock.shift(timedelta(minutes=10))

        assert ask(owner, url) == ""
        owner.get(admin_url(Appointment, "changelist"), headers=REFRESH)
        assert owner.session["usage"]["used_at"] == used_at
        owner.get(admin_url(Appointment, "changelist"))
        assert owner.session["usage"]["used_at"] > used_at
        assert api.get_appointment(id)["outcome"]["role"] == "CANCELED"


def test_only_reading_by_a_page_that_a_person_has_opened_leaves_no_trace(owner: Client) -> None:
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        owner.get("/admin/", headers=REFRESH)
        first = owner.session["usage"]["used_at"]
        clock.shift(timedelta(minutes=10))
        owner.post("/admin/", headers=REFRESH)

        assert owner.session["usage"]["used_at"] > first


def test_a_page_that_is_read_from_another_address_is_a_use_of_the_session(owner: Client) -> None:
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        owner.get("/admin/")
        clock.shift(timedelta(minutes=10))
        owner.get("/admin/", headers=REFRESH, REMOTE_ADDR="192.0.2.7")

        assert owner.session["usage"]["address"] == "192.0.2.7"
        owner.get("/admin/", REMOTE_ADDR="192.0.2.8")
        assert owner.session["usage"]["address"] == "192.0.2.8"


def test_nobody_hears_of_another_organization(
    owner: Client, api: ApiClient, other_organization: Organization, other_api: ApiClient
) -> None:
    stranger = logged_in_client(owner_of(other_organization))
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        id = api.book().json()["data"]["id"]
        wait(clock)
        record, home = opened(owner, admin_url(Appointment, "change", id)), opened(stranger, "/admin/")
        wait(clock)
        api.cancel()

        assert ask(owner, record) != ""
        assert (ask(stranger, record), ask(stranger, home)) == ("", "")


def test_one_question_reads_a_bounded_number_of_events(
    owner: Client, api: ApiClient, host: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updates, "MAX_EVENTS", 2)
    with time_machine.travel("2026-11-18T10:00:00Z") as clock:
        url = opened(owner, admin_url(Appointment, "changelist"))
        wait(clock)
        for number in range(3):
            api.book(external_reference=f"r-{number}", host_email=host.user.email)

        with CaptureQueriesContext(connection) as captured:
            text = ask(owner, url)

    [statement] = [query["sql"] for query in captured if "webhooks_event" in query["sql"]]
    assert "LIMIT 2" in statement
    assert text == "2+ new."


@pytest.mark.parametrize(
    "query",
    [
        "",
        "page=statuses&since=2026-11-18T10:00:00Z",
        "page=home&since=yesterday",
        "page=lead&since=%00",
        "page=lead&since=2026-11-18T10:00:00Z&id=x",
        "page=home&since=2026-11-18T10:00:00Z&id=01a217a2-f4f9-7643-a298-e2bc315ed9fc",
    ],
)
def test_parameters_that_no_page_sends_are_refused(query: str, owner: Client) -> None:
    assert owner.get(f"/admin/updates/?{query}").status_code == 400
