"""PostgreSQL is there and refuses: no place, no writes, no way in. What can be read is read, and all recovers unaided."""

import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request

from django.db import connection, transaction
from django.test import Client

from organizations.models import Organization
from pipeline_backend.outbox import State
from tests.client import ApiClient
from tests.factories import events_of, owner_of
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.service_role import NAME, ServiceRole
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery

REFUSED_SECONDS, LOCKED_SECONDS = 3.0, 1.0
PAGES = ["/admin/", "/admin/appointments/appointment/"]
SENTENCE = "The service is briefly unavailable; send the request again"


def test_bookings_are_taken_or_asked_to_come_again_while_postgresql_refuses_and_all_recovers(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    measurements: dict[str, str],
) -> None:
    key = str(api.key)
    make_endpoint(organization, inbox.url("ok"))
    with ServiceRole(short_lease_stack) as role:
        faults: dict[str, Callable[[], None]] = {
            "a migration": change_a_table,
            "few places": lambda: role.limit_connections(2),
            "no writes": role.forbid_writes,
            "no way in": role.forbid_login,
        }
        short_lease_stack.start("web", "worker")
        refused = {}
        with booking_stream(short_lease_stack, key, threads=4) as bookings:
            wait_for(inbox.has_received(5), seconds=30)
            for name, fault in faults.items():
                before = len(bookings.responses)
                fault()
                time.sleep(REFUSED_SECONDS)
                refused[name] = [answer.status for answer, _ in bookings.responses[before:]].count(503)
                role.restore()
                bookings.wait_for_more(20)
        wait_for(all_events_received(inbox), seconds=60)
        short_lease_stack.kill("web")
        short_lease_stack.kill("worker")

    assert refused.pop("a migration") == 0  # they wait that long
    measurements["bookings asked to come again while PostgreSQL has"] = ", ".join(
        f"{name} {count}" for name, count in refused.items()
    )
    asked = [answer for answer, _ in bookings.responses if answer.status == 503]
    assert bookings.status_codes() == {200, 201, 503} or bookings.status_codes() == {201, 503}
    assert {(answer.data["status"], answer.data["message"], answer.headers["retry-after"]) for answer in asked} == {
        ("error", SENTENCE, "5")
    }
    assert events_of(organization).count("appointment.created") == len(bookings.accepted)
    assert not Delivery.unscoped.exclude(state=State.DONE).exists()


def change_a_table() -> None:
    """As a migration would: nobody else may use the table for a while."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE appointments_appointment ADD COLUMN of_tomorrow integer DEFAULT 0")
        time.sleep(LOCKED_SECONDS)
        transaction.set_rollback(True)


def test_a_service_that_may_only_read_answers_every_read_and_sends_nothing_twice_when_it_may_write_again(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    key = str(api.key)
    endpoint = make_endpoint(organization, inbox.url("ok"))
    with ServiceRole(short_lease_stack) as role:
        short_lease_stack.start("web", "worker")
        assert short_lease_stack.book(key, external_reference="before")[0] == 201
        wait_for(inbox.has_received(2), seconds=30)

        role.forbid_writes()
        wait_for(lambda: short_lease_stack.book(key, external_reference="meanwhile")[0] == 503, seconds=10)
        make_backlog(endpoint, 20)  # somebody else may write
        time.sleep(REFUSED_SECONDS)  # the worker tries to take them up
        reads = {
            short_lease_stack.get(f"/api/external/{name}", key)[0]
            for name in ("appointments", "opt-ins", "leads", "statuses", "events")
        }
        role.restore()

        wait_for(inbox.has_received(22), seconds=20)
        wait_for(lambda: short_lease_stack.book(key, external_reference="meanwhile")[0] == 201, seconds=10)
        wait_for(inbox.has_received(23), seconds=20)
        short_lease_stack.kill("web")
        short_lease_stack.kill("worker")
    assert reads == {200}
    assert inbox.counts().total() == 23


def test_admin_pages_say_that_they_are_back_in_a_moment_while_the_database_is_away(
    stack: Stack, organization: Organization
) -> None:
    client = Client()
    client.force_login(owner_of(organization).user)
    session = client.cookies["sessionid"].value
    with ServiceRole(stack) as role:
        stack.start("web")
        assert {shown(stack, page, session)[0] for page in PAGES} == {200}

        role.forbid_login()
        for page in PAGES:
            code, kind, body = shown(stack, page, session)
            assert (code, kind) == (503, "text/html; charset=utf-8")
            assert "Back in a moment" in body
            assert not any(word in body for word in ["Traceback", "psycopg", "OperationalError", NAME])
        assert stack.get("/readyz") == (503, {"status": "error", "message": "The database does not answer"})

        role.restore()
        assert {shown(stack, page, session)[0] for page in PAGES} == {200}
        stack.kill("web")


def shown(stack: Stack, page: str, session: str) -> tuple[int, str, str]:
    """Status, kind and text of a page, for somebody who is signed in."""
    answer: Any = stack.open(Request(stack.url(page), headers={"Cookie": f"sessionid={session}"}))
    with answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
