"""A database that is full, locked, too slow or takes no writes: 503 to come again with, nothing stored, reads go on (decision 1)."""

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
from tests.factories import events_of, owner_of, snapshot_of, summary_of

pytestmark = pytest.mark.django_db(transaction=True)

ILLS = {
    "disk full": "53100",
    "out of memory": "53200",
    "a failing disk": "58030",
    "shutting down": "57P01",
    "a lock held too long": "55P03",
    "a statement that took too long": "57014",
    "a deadlock, twice": "40P01",
    "a serialization failure, twice": "40001",
    "a standby": "25006",
    "a transaction that slept": "25P03",
}
REFUSED = (
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ "
    "BEGIN {condition} RAISE EXCEPTION 'ill' USING ERRCODE = '{code}'; {end} END $$"
)
SLOW = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$"
WATCHED = "CREATE TRIGGER refusing BEFORE INSERT ON webhooks_event FOR EACH ROW EXECUTE FUNCTION refuse()"
WELL = "DROP FUNCTION IF EXISTS refuse CASCADE; DROP SEQUENCE IF EXISTS refusals"


def tell(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@contextmanager
def refusing(code: str, *, once: bool = False) -> Iterator[None]:
    """PostgreSQL refuses every event, or the first, and with it the change that it tells of."""
    condition, end = ("IF nextval('refusals') = 1 THEN", "END IF; RETURN NEW;") if once else ("", "")
    tell("CREATE SEQUENCE refusals", REFUSED.format(code=code, condition=condition, end=end), WATCHED)
    try:
        yield
    finally:
        tell(WELL)


@contextmanager
def other_session() -> Iterator[psycopg.Connection[Any]]:
    """Somebody else at the same database, in a transaction."""
    own = connection.settings_dict
    address = {
        "host": own["HOST"],
        "port": own["PORT"],
        "user": own["USER"],
        "password": own["PASSWORD"],
        "dbname": own["NAME"],
    }
    with psycopg.connect(**address) as session:
        yield session
        session.rollback()


def assert_to_come_again(answer: Any) -> None:
    assert (answer.status_code, answer.headers["Retry-After"], answer.headers["Content-Type"]) == (
        503,
        "5",
        "application/json",
    )
    assert answer.json() == {"status": "error", "message": "The service is briefly unavailable; send the request again"}


@pytest.fixture
def writes(api: ApiClient) -> dict[str, Callable[[], Any]]:
    """One of each, on what is there already; the second cancel changes nothing, so it comes first."""
    api.book(external_reference="there")
    lead = api.submit(email="grace@example.com").json()["data"]["lead_id"]
    won = api.get_status("WON")["id"]
    return {
        "cancel": lambda: api.cancel(external_reference="there"),
        "status": lambda: api.patch(f"/api/external/leads/{lead}/status", {"status_id": won}),
        "book": lambda: api.book(external_reference="new"),
        "submit": lambda: api.submit(external_reference="new"),
    }


@pytest.mark.parametrize("code", ILLS.values(), ids=ILLS)
def test_every_write_is_asked_to_come_again_changes_nothing_and_succeeds_then(
    api: ApiClient, organization: Organization, writes: dict[str, Callable[[], Any]], code: str
) -> None:
    before = snapshot_of(organization)

    with refusing(code):
        for write in writes.values():
            assert_to_come_again(write())
        assert api.get_data("/api/external/appointments")[0]["external_reference"] == "there"

    assert snapshot_of(organization) == before
    assert {name: write().status_code for name, write in writes.items()} == {
        "cancel": 200,
        "status": 200,
        "book": 201,
        "submit": 200,
    }


@pytest.mark.parametrize("code", ["40P01", "40001"], ids=["a deadlock", "a serialization failure"])
def test_what_postgresql_gave_up_once_is_done_again_without_the_clients_help(
    organization: Organization, writes: dict[str, Callable[[], Any]], code: str
) -> None:
    for name, write in writes.items():
        before = len(events_of(organization))
        with refusing(code, once=True):
            assert write().status_code == (201 if name == "book" else 200)
        assert len(events_of(organization)) > before

    assert summary_of(organization)["appointments"] == 2
    assert events_of(organization).count("appointment.created") == 2


def test_rows_that_another_session_holds_are_waited_for_and_then_given_up(
    api: ApiClient, organization: Organization
) -> None:
    api.book()
    before = summary_of(organization)
    tell("SET lock_timeout = '100ms'")

    with other_session() as other:
        other.execute("SELECT * FROM leads_lead FOR UPDATE")
        assert_to_come_again(api.book(external_reference="ref-2"))
        assert_to_come_again(api.cancel())
        assert len(api.get_data("/api/external/leads")) == 1

    assert summary_of(organization) == before
    assert (api.book(external_reference="ref-2").status_code, api.cancel().status_code) == (201, 200)


def test_a_statement_that_takes_too_long_is_given_up(api: ApiClient, organization: Organization) -> None:
    tell(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$",
        WATCHED,
        "SET statement_timeout = '100ms'",
    )
    try:
        assert_to_come_again(api.book())
    finally:
        tell("RESET statement_timeout", WELL)

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
    """As on a standby; sessions that are open already stay what they are."""
    name = sql.Identifier(connection.settings_dict["NAME"])
    connection.close()
    with other_session() as server:
        server.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
        server.commit()
        yield
        server.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
        server.commit()
    connection.close()


def test_a_database_that_takes_no_writes_can_still_be_read_with_a_key_never_used_before(
    api: ApiClient, organization: Organization, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("_read_only")

    assert api.get_data("/api/external/statuses") != []
    assert_to_come_again(api.book())
    assert_to_come_again(api.submit())
    assert connection.connection is None  # the next request finds whoever takes writes by then
    assert summary_of(organization)["events"] == []


def test_the_admin_says_in_a_page_that_the_database_takes_no_writes(
    organization: Organization, request: pytest.FixtureRequest
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)
    request.getfixturevalue("_read_only")

    answer = client.post("/admin/logout/")

    assert (answer.status_code, answer.headers["Retry-After"], answer.headers["Content-Type"]) == (
        503,
        "5",
        "text/html; charset=utf-8",
    )
    assert "Back in a moment" in answer.content.decode()
    assert not any(word in answer.content.decode() for word in ["Traceback", "psycopg", "read-only"])
