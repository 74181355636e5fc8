"""Results are stored in batches, and a locked row delays only its own result."""

import threading
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from foundation.outbox import Dispatcher, State
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.faults.stack import wait_for
from tests.receiver import Receiver
from tests.webhooks.conftest import run_dispatcher
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.queue import DELIVERIES, WebhookQueue
from webhooks.services import add_endpoint, send_test

pytestmark = pytest.mark.django_db(transaction=True)
EVENTS, ENDPOINTS = 30, 4


def open_other_connection() -> psycopg.Connection[Any]:
    """Connect to the test's database a second time."""
    database = connection.settings_dict
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        user=database["USER"],
        password=database["PASSWORD"],
        dbname=database["NAME"],
    )


def state_by_endpoint(organization: Organization) -> dict[Any, str]:
    """Return the state of each endpoint's only delivery."""
    return dict(Delivery.objects.of(organization).values_list("endpoint", "state"))


class CountingQueue(WebhookQueue):
    """Deliveries, with the number of results that each statement stores."""

    def __init__(self) -> None:
        self.batch_sizes: list[int] = []

    def save_results(self, rows: list[dict[str, Any]], *, wait: bool) -> set[UUID]:
        self.batch_sizes.append(len(rows))
        return super().save_results(rows, wait=wait)


def test_endpoints_served_at_the_same_time_get_each_event_once_and_each_attempt_is_stored(
    organization: Organization, receiver: Receiver
) -> None:
    queue = CountingQueue()
    endpoints = [add_endpoint(organization=organization, url=receiver.url)[0] for _ in range(ENDPOINTS)]
    for endpoint in endpoints:
        for _ in range(EVENTS):
            send_test(endpoint=endpoint, actor=SYSTEM)

    deliveries = Delivery.objects.of(organization)
    with run_dispatcher(Dispatcher([queue])):
        wait_for(lambda: not deliveries.filter(state=State.PENDING).exists())

    total = EVENTS * ENDPOINTS
    columns = list(deliveries.values_list("state", "attempt_count", "lease_token", "next_attempt_at"))
    assert columns == [(State.DONE, 1, None, None)] * total
    assert len(receiver.requests) == total
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == total
    attempts = Attempt.objects.of(organization)
    assert attempts.count() == total
    assert set(attempts.values_list("delivery", flat=True)) == set(deliveries.values_list("pk", flat=True))
    assert all(endpoint.last_success_at for endpoint in Endpoint.objects.of(organization))
    assert sum(queue.batch_sizes) == total > len(queue.batch_sizes)


def test_a_result_whose_row_another_session_has_locked_does_not_delay_other_results(
    organization: Organization, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    locked, other = (add_endpoint(organization=organization, url=receiver.url)[0] for _ in range(2))
    for endpoint in (locked, other):
        send_test(endpoint=endpoint, actor=SYSTEM)
    delivery = Delivery.objects.of(organization).get(endpoint=locked)
    is_locked = threading.Event()

    with open_other_connection() as session:

        def lock_row(number: int) -> None:
            if number == 1:
                session.execute("SELECT FROM webhooks_delivery WHERE id = %s FOR UPDATE", [delivery.pk])
                is_locked.set()

        receiver.on_request = lock_row
        dispatcher.notify(DELIVERIES, locked.pk)
        assert is_locked.wait(60)
        dispatcher.notify(DELIVERIES, other.pk)
        expected = {locked.pk: State.PENDING, other.pk: State.DONE}
        wait_for(lambda: state_by_endpoint(organization) == expected)
        session.rollback()

    wait_for(lambda: state_by_endpoint(organization)[locked.pk] == State.DONE)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count) == (State.DONE, 1)
