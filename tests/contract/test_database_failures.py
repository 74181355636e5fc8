"""A database that is full, locked, too slow or read-only: 503, nothing is stored, and reads still work
(docs/interface.md, G7).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from psycopg import sql

from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import events_of, make_api, owner_of, snapshot_of, summary_of

pytestmark = pytest.mark.django_db(transaction=True)

SQLSTATES = {
    "disk full": "53100",
    "out of memory": "53200",
    "I/O error": "58030",
    "admin shutdown": "57P01",
    "lock timeout": "55P03",
    "statement timeout": "57014",
    "a deadlock, each time": "40P01",
    "a serialization failure, each time": "40001",
    "read-only transaction": "25006",
    "idle in transaction timeout": "25P03",
}
# SECURITY DEFINER, because the database role that serves requests has no right on the sequence.
FAIL_ALWAYS = """
    CREATE FUNCTION fail_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        RAISE EXCEPTION 'simulated failure' USING ERRCODE = '{sqlstate}';
    END $$
"""
FAIL_FIRST = """
    CREATE FUNCTION fail_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        IF nextval('failures') <= {count} THEN
            RAISE EXCEPTION 'simulated failure' USING ERRCODE = '{sqlstate}';
        END IF;
        RETURN NEW;
    END $$
"""
SLEEP = """
    CREATE FUNCTION fail_insert() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        PERFORM pg_sleep(5);
        RETURN NEW;
    END $$
"""
# Each request sets the time limit of statements itself, so it is lowered during the request: when the lead is inserted.
SHORTEN_TIMEOUT = """
    CREATE FUNCTION shorten_timeout() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('statement_timeout', '100ms', true);
        RETURN NEW;
    END $$;
    CREATE TRIGGER shorten_timeout BEFORE INSERT ON leads_lead FOR EACH ROW EXECUTE FUNCTION shorten_timeout()
"""
# A sequence, because it keeps its value when the failed transaction is rolled back.
CREATE_SEQUENCE = "CREATE SEQUENCE failures"
# Every write records an event, usually as one of its last statements.
CREATE_TRIGGER = "CREATE TRIGGER failing BEFORE INSERT ON webhooks_event FOR EACH ROW EXECUTE FUNCTION fail_insert()"
CLEAN_UP = """
    DROP FUNCTION IF EXISTS fail_insert CASCADE; DROP FUNCTION IF EXISTS shorten_timeout CASCADE;
    DROP SEQUENCE IF EXISTS failures
"""


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def failing_inserts(sqlstate: str, *, count: int | None = None) -> Iterator[None]:
    """Make PostgreSQL fail with this error on every insert of an event, or only on the first ones."""
    function = FAIL_FIRST if count else FAIL_ALWAYS
    execute(CREATE_SEQUENCE, function.format(sqlstate=sqlstate, count=count), CREATE_TRIGGER)
    try:
        yield
    finally:
        execute(CLEAN_UP)


@contextmanager
def other_session() -> Iterator[psycopg.Connection[Any]]:
    """Open a second session on the test database; its transaction is rolled back at the end."""
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname=settings["NAME"],
    ) as session:
        yield session
        session.rollback()


def assert_unavailable(response: Any) -> None:
    """Assert the 503 that asks the client to send the request again."""
    headers = response.headers
    assert (response.status_code, headers["Retry-After"], headers["Content-Type"]) == (503, "5", "application/json")
    assert response.json() == {
        "status": "error",
        "message": "The service is briefly unavailable; send the request again",
    }


@pytest.fixture
def writes(api: ApiClient) -> dict[str, Callable[[], Any]]:
    """Return one request of each kind of write.

    Each one records an event, so it reaches the trigger. A repeated cancellation would not.
    """
    api.book(external_reference="existing")
    lead_id = api.submit(email="grace@example.com").json()["data"]["lead_id"]
    won = api.get_status("WON")["id"]
    return {
        "cancel": lambda: api.cancel(external_reference="existing"),
        "status": lambda: api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": won}),
        "book": lambda: api.book(external_reference="new"),
        "submit": lambda: api.submit(external_reference="new"),
    }


@pytest.mark.parametrize("sqlstate", SQLSTATES.values(), ids=SQLSTATES)
def test_a_write_that_the_database_refuses_is_503_changes_nothing_and_can_be_repeated(
    api: ApiClient, organization: Organization, writes: dict[str, Callable[[], Any]], sqlstate: str
) -> None:
    before = snapshot_of(organization)

    with failing_inserts(sqlstate):
        for write in writes.values():
            assert_unavailable(write())
        assert api.get_data("/api/external/appointments")[0]["external_reference"] == "existing"

    assert snapshot_of(organization) == before
    assert {name: write().status_code for name, write in writes.items()} == {
        "cancel": 200,
        "status": 200,
        "book": 201,
        "submit": 200,
    }


@pytest.mark.parametrize("sqlstate", ["40P01", "40001", "23505"], ids=["deadlock", "serialization failure", "conflict"])
def test_a_write_that_loses_three_races_is_done_in_the_fourth_attempt(
    organization: Organization, writes: dict[str, Callable[[], Any]], sqlstate: str
) -> None:
    for name, write in writes.items():
        event_count = len(events_of(organization))
        with failing_inserts(sqlstate, count=3):
            assert write().status_code == (201 if name == "book" else 200)
        assert len(events_of(organization)) > event_count

    assert summary_of(organization)["appointments"] == 2
    assert events_of(organization).count("appointment.created") == 2


def test_a_row_that_another_session_locks_for_too_long_is_503(api: ApiClient, organization: Organization) -> None:
    api.book()
    before = summary_of(organization)
    execute("SET lock_timeout = '100ms'")

    with other_session() as session:
        session.execute("SELECT * FROM leads_lead FOR UPDATE")
        assert_unavailable(api.book(external_reference="ref-2"))
        assert_unavailable(api.cancel())
        assert len(api.get_data("/api/external/leads")) == 1

    assert summary_of(organization) == before
    assert (api.book(external_reference="ref-2").status_code, api.cancel().status_code) == (201, 200)


def test_a_statement_that_takes_too_long_is_503(api: ApiClient, organization: Organization) -> None:
    execute(SLEEP, CREATE_TRIGGER, SHORTEN_TIMEOUT)

    try:
        assert_unavailable(api.book())
    finally:
        execute(CLEAN_UP)

    assert summary_of(organization) == {
        "appointments": 0,
        "leads": 0,
        "opt_ins": 0,
        "event_types": 0,
        "events": [],
        "notifications": [],
    }


@pytest.fixture
def _read_only() -> Iterator[None]:
    """Make new sessions read-only, as on a standby server; sessions that are already open can still write."""
    name = sql.Identifier(connection.settings_dict["NAME"])
    connection.close()
    with other_session() as session:
        session.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
        session.commit()
        yield
        session.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
        session.commit()
    connection.close()


def test_a_read_only_database_can_still_be_read_with_a_key_never_used_before(
    api: ApiClient, organization: Organization, request: pytest.FixtureRequest
) -> None:
    # Not by usefixtures: the organization and its key have to be written first.
    request.getfixturevalue("_read_only")

    assert api.get_data("/api/external/statuses") != []
    assert_unavailable(api.book())
    assert_unavailable(api.submit())
    # The connection is closed after a refused write, so that the next request can reach a new primary server.
    assert connection.connection is None
    assert summary_of(organization)["events"] == []


def test_the_admin_shows_a_503_page_while_the_database_is_read_only(
    organization: Organization, request: pytest.FixtureRequest
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)
    request.getfixturevalue("_read_only")

    response = client.post("/admin/logout/")

    page, headers = response.content.decode(), response.headers
    assert (response.status_code, headers["Retry-After"]) == (503, "5")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Back in a moment" in page
    assert not any(word in page for word in ["Traceback", "psycopg", "read-only"])


def test_a_page_ends_whose_transaction_takes_long_and_nothing_of_it_is_stored(
    organization: Organization, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events of other organizations wait for it, also while it sends no statement."""
    keep, other = (
        make_api(organization).submit(email=f"{name}@example.com").json()["data"]["lead_id"] for name in "ab"
    )
    monkeypatch.setattr("leads.merging.keep_dismissals", lambda **_: time.sleep(1.5))
    settings.ADMIN_TRANSACTION_SECONDS = 1
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)

    url = f"/admin/leads/lead/{keep}/merge/?with={other}"
    versions = {f"version_{lead.pk}": version for lead, _, version, _ in client.get(url).context["leads"]}

    response = client.post(url, {"keep": keep, **versions})

    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "Nothing was changed" in response.content.decode()
    assert summary_of(organization)["leads"] == 2
    assert client.get("/admin/").status_code == 200
