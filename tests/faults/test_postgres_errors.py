"""PostgreSQL refuses connections or writes: what can be read is still read, and everything recovers by itself."""

import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request

from django.db import connection, transaction
from django.test import Client

from foundation.outbox import State
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import events_of, owner_of
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.service_role import NAME, ServiceRole
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery

FAULT_SECONDS, LOCK_SECONDS = 3.0, 1.0
PAGES = ["/admin/", "/admin/appointments/appointment/"]
LISTS = ["appointments", "opt-ins", "leads", "statuses", "events"]
MESSAGE = "The service is briefly unavailable; send the request again"


def test_bookings_are_accepted_or_answered_with_503_while_postgresql_refuses_and_all_recovers(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    measurements: dict[str, str],
) -> None:
    stack = short_lease_stack
    make_endpoint(organization, inbox.url("ok"))
    with ServiceRole(stack) as role:
        faults: dict[str, Callable[[], None]] = {
            "a migration": change_table,
            "few connections": lambda: role.limit_connections(2),
            "no writes": role.forbid_writes,
            "no login": role.forbid_login,
        }
        stack.start("web", "worker")
        refused = {}
        with booking_stream(stack, str(api.key), threads=4) as bookings:
            wait_for(inbox.has_received(5))
            for name, fault in faults.items():
                before = len(bookings.responses)
                fault()
                time.sleep(FAULT_SECONDS)
                refused[name] = [response.status for response, _ in bookings.responses[before:]].count(503)
                role.restore()
                bookings.wait_for_more(20)
        wait_for(all_events_received(inbox))
        # A result is stored after the request has arrived: a worker killed in between would repeat the delivery.
        wait_for(lambda: not Delivery.unscoped.exclude(state=State.DONE).exists())
        stack.kill("web")
        stack.kill("worker")

    assert refused.pop("a migration") == 0  # requests wait that long for the lock
    measurements["bookings answered with 503 while PostgreSQL has"] = ", ".join(
        f"{name} {count}" for name, count in refused.items()
    )
    errors = [response for response, _ in bookings.responses if response.status == 503]
    assert bookings.status_codes() - {200} == {201, 503}
    assert {(error.data["status"], error.data["message"], error.headers["retry-after"]) for error in errors} == {
        ("error", MESSAGE, "5")
    }
    assert events_of(organization).count("appointment.created") == len(bookings.accepted)
    assert not Delivery.unscoped.exclude(state=State.DONE).exists()


def change_table() -> None:
    """Lock a table exclusively for a while, as a migration does."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE appointments_appointment ADD COLUMN future_column integer DEFAULT 0")
        time.sleep(LOCK_SECONDS)
        transaction.set_rollback(True)


def test_a_read_only_database_answers_every_read_and_nothing_is_sent_twice_afterwards(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    stack, key = short_lease_stack, str(api.key)
    endpoint = make_endpoint(organization, inbox.url("ok"))
    with ServiceRole(stack) as role:
        stack.start("web", "worker")
        assert stack.book(key, external_reference="before")[0] == 201
        wait_for(inbox.has_received(2))

        role.forbid_writes()
        wait_for(lambda: stack.book(key, external_reference="meanwhile")[0] == 503)
        make_backlog(endpoint, 20)  # the test's own role may still write
        time.sleep(FAULT_SECONDS)  # the worker tries to claim them
        reads = {stack.get(f"/api/external/{name}", key)[0] for name in LISTS}
        role.restore()

        wait_for(inbox.has_received(22))
        wait_for(lambda: stack.book(key, external_reference="meanwhile")[0] == 201)
        wait_for(inbox.has_received(23))
        stack.kill("web")
        stack.kill("worker")
    assert reads == {200}
    assert inbox.counts().total() == 23


def test_admin_pages_say_that_they_are_back_in_a_moment_while_the_database_is_unavailable(
    stack: Stack, organization: Organization
) -> None:
    client = Client()
    client.force_login(owner_of(organization).user)
    session = client.cookies["sessionid"].value
    with ServiceRole(stack) as role:
        stack.start("web")
        assert {get_page(stack, page, session)[0] for page in PAGES} == {200}

        role.forbid_login()
        for page in PAGES:
            status, content_type, text = get_page(stack, page, session)
            assert (status, content_type) == (503, "text/html; charset=utf-8")
            assert "Back in a moment" in text
            assert not any(detail in text for detail in ["Traceback", "psycopg", "OperationalError", NAME])
        assert stack.get("/readyz") == (503, {"status": "error", "message": "The database does not answer"})

        role.restore()
        assert {get_page(stack, page, session)[0] for page in PAGES} == {200}
        stack.kill("web")


def get_page(stack: Stack, page: str, session: str) -> tuple[int, str, str]:
    """Return status, content type and text of a page for a signed-in user."""
    response: Any = stack.open(Request(stack.url(page), headers={"Cookie": f"sessionid={session}"}))
    with response:
        return response.status, response.headers["Content-Type"], response.read().decode()
