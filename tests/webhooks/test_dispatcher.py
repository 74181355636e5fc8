"""The dispatcher runs every group it is notified of, at most two workers per endpoint, and survives errors."""

import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import InterfaceError, connection

from foundation.db.timestamps import now
from foundation.outbox import FAST, Dispatcher, Lane, State, dispatch, run_group
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.faults.backlog import all_delivered, count_by_state, make_backlog
from tests.faults.stack import wait_for
from tests.jobs import send_deliveries
from tests.receiver import Receiver
from tests.webhooks.conftest import run_dispatcher
from webhooks import queue
from webhooks.models import Delivery, Endpoint, Event
from webhooks.queue import DELIVERIES, WebhookQueue
from webhooks.services import add_endpoint, send_test

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_task_hands_the_endpoint_to_the_dispatcher_and_does_not_wait_for_the_delivery(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    may_respond = threading.Event()
    receiver.on_request = lambda number: may_respond.wait(60)
    send_test(endpoint=endpoint, actor=SYSTEM)

    send_deliveries(str(endpoint.pk))
    assert not all_delivered(endpoint)

    may_respond.set()
    wait_for(lambda: all_delivered(endpoint))
    assert receiver.event_types() == ["webhook.test"]


def test_a_task_that_runs_while_the_worker_shuts_down_leaves_the_jobs_to_another_worker(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    dispatcher.close()
    dispatcher.thread.join()
    make_backlog(endpoint, 1)

    send_deliveries(str(endpoint.pk))

    assert (count_by_state(endpoint), receiver.requests) == ({State.PENDING.value: 1}, [])


def test_a_notification_while_the_endpoint_is_being_run_is_not_lost(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    late: list[Delivery] = []

    def notify_of_another(number: int) -> None:
        if number == 1:
            late.extend(make_backlog(endpoint, 1))
            send_deliveries(str(endpoint.pk))
            connection.close()  # this callback runs in a thread of the receiver

    receiver.on_request = notify_of_another
    make_backlog(endpoint, 1)

    send_deliveries(str(endpoint.pk))

    wait_for(lambda: late and all_delivered(endpoint))
    assert len(receiver.requests) == 2


def test_one_organizations_endpoints_have_a_share_of_the_places(
    organization: Organization, other_organization: Organization, endpoint: Endpoint, dispatcher: Dispatcher
) -> None:
    may_respond = threading.Event()
    with Receiver() as hanging_receiver:
        hanging_receiver.on_request = lambda number: may_respond.wait(60)
        for _ in range(FAST.share + 4):
            hanging = add_endpoint(organization=other_organization, url=hanging_receiver.url)[0]
            make_backlog(hanging, 1)
            send_deliveries(str(hanging.pk))
        wait_for(lambda: len(hanging_receiver.requests) == FAST.share)
        make_backlog(endpoint, 20)
        send_deliveries(str(endpoint.pk))

        wait_for(lambda: all_delivered(endpoint))
        assert len(hanging_receiver.requests) == FAST.share < FAST.concurrency / 4
        may_respond.set()
        wait_for(lambda: len(hanging_receiver.requests) == FAST.share + 4)


def test_a_worker_claims_few_large_events_at_a_time_and_sends_all(
    endpoint: Endpoint, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_backlog(endpoint, 10)
    Event.unscoped.filter(deliveries__endpoint=endpoint).update(
        body='{"type":"webhook.test","data":"' + "x" * 30_000 + '"}'
    )
    monkeypatch.setattr(queue, "MAX_BATCH_BYTES", 100_000)

    batch = DELIVERIES.claim(endpoint.pk)
    assert batch
    assert (len(batch.jobs), batch.has_more) == (3, True)
    DELIVERIES.release(batch, batch.jobs)
    run_group(DELIVERIES, endpoint.pk)

    assert all_delivered(endpoint)
    assert {len(request.body) for request in receiver.requests} == {30_033}
    assert len(receiver.requests) == 10


def test_a_hanging_receiver_does_not_delay_others_of_the_same_dispatcher(
    organization: Organization, endpoint: Endpoint, dispatcher: Dispatcher
) -> None:
    may_respond = threading.Event()
    with Receiver() as hanging_receiver:
        hanging_receiver.on_request = lambda number: may_respond.wait(60)
        hanging = add_endpoint(organization=organization, url=hanging_receiver.url)[0]
        make_backlog(hanging, 2)
        make_backlog(endpoint, 20)

        send_deliveries(str(hanging.pk))
        send_deliveries(str(endpoint.pk))

        wait_for(lambda: all_delivered(endpoint))
        assert count_by_state(hanging) == {State.PENDING.value: 2}
        may_respond.set()
        wait_for(lambda: all_delivered(hanging))


def test_two_workers_serve_an_endpoint_at_a_time_and_a_third_waits(endpoint: Endpoint, receiver: Receiver) -> None:
    make_backlog(endpoint, 2 * FAST.batch + 10)
    first = DELIVERIES.claim(endpoint.pk)

    second = DELIVERIES.claim(endpoint.pk)

    assert first
    assert second
    assert (len(first.jobs), len(second.jobs)) == (FAST.batch, FAST.batch)
    assert {job.pk for job in first.jobs}.isdisjoint(job.pk for job in second.jobs)
    run_group(DELIVERIES, endpoint.pk)
    assert receiver.requests == []
    Delivery.unscoped.filter(lease_token=second.token).update(lease_token=None, state=State.CANCELED)
    run_group(DELIVERIES, endpoint.pk)
    assert len(receiver.requests) == 10


ERRORS = [InterfaceError("the connection is closed"), RuntimeError("an error nobody expected")]


@pytest.mark.parametrize("error", ERRORS, ids=["of the database", "of any kind"])
def test_an_error_while_polling_does_not_stop_deliveries(
    endpoint: Endpoint, receiver: Receiver, error: Exception
) -> None:
    has_failed = threading.Event()

    class FailingQueue(WebhookQueue):
        def due_groups(self, lane: Lane = FAST) -> list[UUID | str]:
            has_failed.set()
            raise error

    queue = FailingQueue()
    with run_dispatcher(Dispatcher([queue])):
        assert has_failed.wait(60)
        make_backlog(endpoint, 1)

        dispatch(queue, str(endpoint.pk))

        wait_for(lambda: all_delivered(endpoint))


def test_jobs_that_no_message_announces_are_found_by_polling_when_they_are_due(
    endpoint: Endpoint, receiver: Receiver
) -> None:
    soon, later = make_backlog(endpoint, 2)
    due_at = now() + timedelta(seconds=2)
    Delivery.unscoped.filter(pk=soon.pk).update(next_attempt_at=due_at)
    Delivery.unscoped.filter(pk=later.pk).update(next_attempt_at=due_at + timedelta(hours=1))

    with run_dispatcher(Dispatcher([DELIVERIES])):
        wait_for(lambda: receiver.requests)

    assert now() >= due_at
    assert [request.headers["webhook-id"] for request in receiver.requests] == [str(soon.event_id)]


def test_a_healthy_endpoint_gets_eight_requests_at_once_and_never_more(
    endpoint: Endpoint, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 8
    requests = ConcurrentRequests(8)
    receiver.on_request = requests.wait
    make_backlog(endpoint, 3 * 8)

    run_group(DELIVERIES, endpoint.pk)

    assert all_delivered(endpoint)
    assert requests.maximum == 8
    assert receiver.connections <= 8


def test_an_endpoint_that_fails_gets_one_request_at_once_until_one_succeeds(
    endpoint: Endpoint, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 8
    before, failing, after = ConcurrentRequests(8), ConcurrentRequests(1), ConcurrentRequests(8)
    rounds = [before] * 8 + [failing] * 6 + [after] * 8
    # The first eight are under way when one of them fails; the ninth is the first to succeed.
    receiver.status_codes, receiver.on_request = [500] * 8 + [204], lambda number: rounds[number - 1].wait(number)
    make_backlog(endpoint, 8 + 6)

    run_group(DELIVERIES, endpoint.pk)
    make_backlog(endpoint, 8)
    run_group(DELIVERIES, endpoint.pk)

    assert (before.maximum, failing.maximum, after.maximum) == (8, 1, 8)
    assert count_by_state(endpoint) == {State.PENDING.value: 8, State.DONE.value: 6 + 8}


class ConcurrentRequests:
    """Lets requests to a receiver wait until `expected` have arrived, and counts how many there were at once."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.current = self.maximum = 0
        self.changed = threading.Condition()

    def wait(self, number: int) -> None:
        """Return when the expected number has been reached once; fail the request after a minute."""
        with self.changed:
            self.current += 1
            self.maximum = max(self.maximum, self.current)
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: self.maximum >= self.expected, 60)
            self.current -= 1
