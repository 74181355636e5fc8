"""The dispatcher runs every group it is notified of, at most two workers per endpoint, and survives errors."""

import threading

import pytest
from django.db import InterfaceError, connection

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.outbox import BATCH_SIZE, Dispatcher, State, run_group
from tests.faults.backlog import all_delivered, count_by_state, make_backlog
from tests.faults.stack import wait_for
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint, send_test
from webhooks.tasks import deliver_due

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_task_hands_the_endpoint_to_the_dispatcher_and_does_not_wait_for_the_delivery(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    may_respond = threading.Event()
    receiver.on_request = lambda number: may_respond.wait(10)
    send_test(endpoint=endpoint, actor=SYSTEM)

    deliver_due(str(endpoint.pk))
    assert not all_delivered(endpoint)

    may_respond.set()
    wait_for(lambda: all_delivered(endpoint), seconds=10)
    assert receiver.event_types() == ["webhook.test"]


def test_a_notification_while_the_endpoint_is_being_run_is_not_lost(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    late: list[Delivery] = []

    def notify_of_another(number: int) -> None:
        if number == 1:
            late.extend(make_backlog(endpoint, 1))
            deliver_due(str(endpoint.pk))
            connection.close()  # this callback runs in a thread of the receiver

    receiver.on_request = notify_of_another
    make_backlog(endpoint, 1)

    deliver_due(str(endpoint.pk))

    wait_for(lambda: late and all_delivered(endpoint), seconds=10)
    assert len(receiver.requests) == 2


def test_a_hanging_receiver_does_not_delay_others_of_the_same_dispatcher(
    organization: Organization, endpoint: Endpoint, dispatcher: Dispatcher
) -> None:
    may_respond = threading.Event()
    with Receiver() as hanging_receiver:
        hanging_receiver.on_request = lambda number: may_respond.wait(10)
        hanging = add_endpoint(organization=organization, url=hanging_receiver.url)[0]
        make_backlog(hanging, 2)
        make_backlog(endpoint, 20)

        deliver_due(str(hanging.pk))
        deliver_due(str(endpoint.pk))

        wait_for(lambda: all_delivered(endpoint), seconds=10)
        assert count_by_state(hanging) == {State.PENDING.value: 2}
        may_respond.set()
        wait_for(lambda: all_delivered(hanging), seconds=10)


def test_two_workers_serve_an_endpoint_at_a_time_and_a_third_waits(endpoint: Endpoint, receiver: Receiver) -> None:
    make_backlog(endpoint, 2 * BATCH_SIZE + 10)
    first = DELIVERIES.claim(endpoint.pk)

    second = DELIVERIES.claim(endpoint.pk)

    assert (len(first), len(second)) == (BATCH_SIZE, BATCH_SIZE)
    assert {job.pk for job in first}.isdisjoint(job.pk for job in second)
    assert run_group(DELIVERIES, endpoint.pk) is False
    assert receiver.requests == []
    Delivery.unscoped.filter(lease_token=second[0].lease_token).update(lease_token=None, state=State.CANCELED)
    run_group(DELIVERIES, endpoint.pk)
    assert len(receiver.requests) == 10


ERRORS = [InterfaceError("the connection is closed"), RuntimeError("an error nobody expected")]


@pytest.mark.parametrize("error", ERRORS, ids=["of the database", "of any kind"])
def test_an_error_while_polling_does_not_stop_deliveries(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    has_failed = threading.Event()

    async def fail(_: Dispatcher) -> None:
        has_failed.set()
        raise error

    monkeypatch.setattr(Dispatcher, "poll", fail)
    assert has_failed.wait(10)
    make_backlog(endpoint, 1)

    deliver_due(str(endpoint.pk))

    wait_for(lambda: all_delivered(endpoint), seconds=10)
