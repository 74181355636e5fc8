"""PostgreSQL is there and refuses: no place, no writes, no way in. What can be read is read, and all recovers unaided."""

import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request

from django.db import connection, transaction
from django.test import Client

from organizations.models import Organization
from pipeline_backend.outbox.models import State
from tests.client import ApiClient
from tests.factories import events_of, owner_of
from tests.faults.backlog import endpoint_at, pile
from tests.faults.bookings import has_all, stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.service_role import NAME, ServiceRole
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery

REFUSED_SECONDS, LOCKED_SECONDS = 3.0, 1.0
PAGES = ["/admin/", "/admin/appointments/appointment/"]
SENTENCE = "The service is briefly unavailable; send the request again"


def test_bookings_are_taken_or_asked_to_come_again_while_postgresql_refuses_and_all_recovers(
    hasty: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    key = str(api.key)
    endpoint_at(organization, inbox.url("ok"))
    with ServiceRole(hasty) as role:
        faults: dict[str, Callable[[], None]] = {
            "a migration": change_a_table,
            "few places": lambda: role.limit_to(2),
            "no writes": role.forbid_writes,
            "no way in": role.shut_out,
        }
        hasty.start("web", "worker")
        refused = {}
        with stream(hasty, key, threads=4) as bookings:
            wait_for(inbox.has(5), seconds=30)
            for name, fault in faults.items():
                before = len(bookings.answers)
                fault()
                time.sleep(REFUSED_SECONDS)
                refused[name] = [answer.code for answer, _ in bookings.answers[before:]].count(503)
                role.heal()
                bookings.wait_for_more(20)
        wait_for(has_all(inbox), seconds=60)
        hasty.kill("web")
        hasty.kill("worker")

    assert refused.pop("a migration") == 0  # they wait that long
    measurements["bookings asked to come again while PostgreSQL has"] = ", ".join(
        f"{name} {count}" for name, count in refused.items()
    )
    asked = [answer for answer, _ in bookings.answers if answer.code == 503]
    assert bookings.codes() == {200, 201, 503} or bookings.codes() == {201, 503}
    assert {(answer.data["status"], answer.data["message"], answer.headers["retry-after"]) for answer in asked} == {
        ("error", SENTENCE, "5")
    }
    assert events_of(organization).count("appointment.created") == len(bookings.taken)
    assert not Delivery.unscoped.exclude(state=State.DONE).exists()


def change_a_table() -> None:
    """As a migration would: nobody else may use the table for a while."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE appointments_appointment ADD COLUMN of_tomorrow integer DEFAULT 0")
        time.sleep(LOCKED_SECONDS)
        transaction.set_rollback(True)


def test_a_service_that_may_only_read_answers_every_read_and_sends_nothing_twice_when_it_may_write_again(
    hasty: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    key = str(api.key)
    endpoint = endpoint_at(organization, inbox.url("ok"))
    with ServiceRole(hasty) as role:
        hasty.start("web", "worker")
        assert hasty.book(key, external_reference="before")[0] == 201
        wait_for(inbox.has(2), seconds=30)

        role.forbid_writes()
        wait_for(lambda: hasty.book(key, external_reference="meanwhile")[0] == 503, seconds=10)
        pile(endpoint, 20)  # somebody else may write
        time.sleep(REFUSED_SECONDS)  # the worker tries to take them up
        reads = {
            hasty.get(f"/api/external/{name}", key)[0]
            for name in ("appointments", "opt-ins", "leads", "statuses", "events")
        }
        role.heal()

        wait_for(inbox.has(22), seconds=20)
        wait_for(lambda: hasty.book(key, external_reference="meanwhile")[0] == 201, seconds=10)
        wait_for(inbox.has(23), seconds=20)
        hasty.kill("web")
        hasty.kill("worker")
    assert reads == {200}
    assert inbox.times().total() == 23


def test_admin_pages_say_that_they_are_back_in_a_moment_while_the_database_is_away(
    stack: Stack, organization: Organization
) -> None:
    client = Client()
    client.force_login(owner_of(organization).user)
    session = client.cookies["sessionid"].value
    with ServiceRole(stack) as role:
        stack.start("web")
        assert {shown(stack, page, session)[0] for page in PAGES} == {200}

        role.shut_out()
        for page in PAGES:
            code, kind, body = shown(stack, page, session)
            assert (code, kind) == (503, "text/html; charset=utf-8")
            assert "Back in a moment" in body
            assert not any(word in body for word in ["Traceback", "psycopg", "OperationalError", NAME])
        assert stack.get("/readyz") == (503, {"status": "error", "message": "The database does not answer"})

        role.heal()
        assert {shown(stack, page, session)[0] for page in PAGES} == {200}
        stack.kill("web")


def shown(stack: Stack, page: str, session: str) -> tuple[int, str, str]:
    """Status, kind and text of a page, for somebody who is signed in."""
    answer: Any = stack.open(Request(stack.url(page), headers={"Cookie": f"sessionid={session}"}))
    with answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
