"""Results are written many at a time, and nobody waits for a row that another's statement needs."""

import threading
from typing import Any

import psycopg
import pytest
from django.db import connection

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.outbox import Dispatcher, State, results
from tests.faults.stack import wait_for
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint, send_test

pytestmark = pytest.mark.django_db(transaction=True)
EVENTS, ENDPOINTS = 30, 4


def another_connection() -> psycopg.Connection[Any]:
    """To the test's database."""
    own = connection.settings_dict
    return psycopg.connect(
        host=own["HOST"], port=own["PORT"], user=own["USER"], password=own["PASSWORD"], dbname=own["NAME"]
    )


def states(organization: Organization) -> dict[Any, str]:
    """Of each endpoint's one delivery."""
    return dict(Delivery.objects.of(organization).values_list("endpoint", "state"))


def test_endpoints_served_at_the_same_time_get_each_event_once_and_each_attempt_is_kept(
    organization: Organization, receiver: Receiver, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, sizes = results.save_results, []
    monkeypatch.setattr(
        results, "save_results", lambda statement, rows: sizes.append(len(rows)) or write(statement, rows)
    )
    endpoints = [add_endpoint(organization=organization, url=receiver.url)[0] for _ in range(ENDPOINTS)]
    for endpoint in endpoints:
        for _ in range(EVENTS):
            send_test(endpoint=endpoint, actor=SYSTEM)

    for endpoint in endpoints:
        dispatcher.notify(DELIVERIES, endpoint.pk)
    wait_for(lambda: not Delivery.objects.of(organization).filter(state=State.PENDING).exists(), seconds=30)

    found = list(
        Delivery.objects.of(organization).values_list("state", "attempt_count", "lease_token", "next_attempt_at")
    )
    assert found == [(State.DONE, 1, None, None)] * EVENTS * ENDPOINTS
    assert (
        len({request.headers["webhook-id"] for request in receiver.requests})
        == len(receiver.requests)
        == EVENTS * ENDPOINTS
    )
    assert set(Attempt.objects.of(organization).values_list("delivery", flat=True)) == set(
        Delivery.objects.of(organization).values_list("pk", flat=True)
    )
    assert Attempt.objects.of(organization).count() == EVENTS * ENDPOINTS
    assert all(one.last_success_at for one in Endpoint.objects.of(organization))
    assert sum(sizes) == EVENTS * ENDPOINTS > len(sizes)


def test_a_result_whose_row_somebody_holds_waits_alone(
    organization: Organization, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    held, other = (add_endpoint(organization=organization, url=receiver.url)[0] for _ in range(2))
    for endpoint in (held, other):
        send_test(endpoint=endpoint, actor=SYSTEM)
    waiting = Delivery.objects.of(organization).get(endpoint=held)
    is_held = threading.Event()

    with another_connection() as somebody:

        def hold(number: int) -> None:
            if number == 1:
                somebody.execute("SELECT FROM webhooks_delivery WHERE id = %s FOR UPDATE", [waiting.pk])
                is_held.set()

        receiver.on_request = hold
        dispatcher.notify(DELIVERIES, held.pk)
        assert is_held.wait(10)
        dispatcher.notify(DELIVERIES, other.pk)
        wait_for(lambda: states(organization) == {held.pk: State.PENDING, other.pk: State.DONE}, seconds=10)
        somebody.rollback()

    wait_for(lambda: states(organization)[held.pk] == State.DONE, seconds=10)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempt_count) == (State.DONE, 1)
