"""Results are written many at a time, and nobody waits for a row that another's statement needs."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.outbox import State
from tests.receiver import Receiver
from webhooks.deliveries import DELIVERIES
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.services import add_endpoint, send_test

pytestmark = pytest.mark.django_db(transaction=True)
EVENTS, ENDPOINTS = 30, 4


@contextmanager
def at_the_same_time(*acts: Callable[[], Any]) -> Iterator[list[threading.Thread]]:
    """Each in a thread with a connection of its own; all have ended when the block has."""

    def run(act: Callable[[], Any]) -> None:
        try:
            act()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)


def another_connection() -> psycopg.Connection[Any]:
    """To the test's database."""
    own = connection.settings_dict
    return psycopg.connect(host=own["HOST"], port=own["PORT"], user=own["USER"], password=own["PASSWORD"], dbname=own["NAME"])


def test_endpoints_served_at_the_same_time_get_each_event_once_and_each_attempt_is_kept(organization: Organization, receiver: Receiver) -> None:
    endpoints = [add_endpoint(organization=organization, url=receiver.url)[0] for _ in range(ENDPOINTS)]
    for endpoint in endpoints:
        for _ in range(EVENTS):
            send_test(endpoint=endpoint, actor=SYSTEM)

    with at_the_same_time(*(lambda pk=endpoint.pk: DELIVERIES.drain(pk) for endpoint in endpoints)):
        pass

    found = list(Delivery.objects.of(organization).values_list("state", "attempts", "lease_token", "next_attempt_at"))
    assert found == [(State.DONE, 1, None, None)] * EVENTS * ENDPOINTS
    assert len({request.headers["webhook-id"] for request in receiver.received}) == len(receiver.received) == EVENTS * ENDPOINTS
    assert set(Attempt.objects.of(organization).values_list("delivery", flat=True)) == set(Delivery.objects.of(organization).values_list("pk", flat=True))
    assert Attempt.objects.of(organization).count() == EVENTS * ENDPOINTS
    assert all(one.last_success_at for one in Endpoint.objects.of(organization))


def test_a_result_whose_row_somebody_holds_waits_alone(organization: Organization, receiver: Receiver) -> None:
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

        receiver.meanwhile = hold
        with at_the_same_time(lambda: DELIVERIES.drain(held.pk)):
            assert is_held.wait(10)
            with at_the_same_time(lambda: DELIVERIES.drain(other.pk)) as [thread]:
                thread.join(10)
                assert not thread.is_alive()
            states = dict(Delivery.objects.of(organization).values_list("endpoint", "state"))
            somebody.rollback()

    assert states == {held.pk: State.PENDING, other.pk: State.DONE}
    waiting.refresh_from_db()
    assert (waiting.state, waiting.attempts) == (State.DONE, 1)
