"""One loop delivers for all that ring, each endpoint by at most two workers at a time."""

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


def test_a_ring_is_for_this_process_courier_which_delivers_while_the_ringer_goes_on(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    may_go_on = threading.Event()
    receiver.on_request = lambda number: may_go_on.wait(10)
    send_test(endpoint=endpoint, actor=SYSTEM)

    deliver_due(str(endpoint.pk))
    assert not all_delivered(endpoint)

    may_go_on.set()
    wait_for(lambda: all_delivered(endpoint), seconds=10)
    assert receiver.event_types() == ["webhook.test"]


def test_a_ring_while_its_endpoint_is_being_served_is_not_forgotten(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher
) -> None:
    late: list[Delivery] = []

    def tell_of_another(number: int) -> None:
        if number == 1:
            late.extend(make_backlog(endpoint, 1))
            deliver_due(str(endpoint.pk))
            connection.close()  # this thread's

    receiver.on_request = tell_of_another
    make_backlog(endpoint, 1)
    deliver_due(str(endpoint.pk))

    wait_for(lambda: late and all_delivered(endpoint), seconds=10)
    assert len(receiver.requests) == 2


def test_a_hanging_receiver_holds_up_no_other_of_the_same_courier(
    organization: Organization, endpoint: Endpoint, dispatcher: Dispatcher
) -> None:
    may_go_on = threading.Event()
    with Receiver() as hanging:
        hanging.on_request = lambda number: may_go_on.wait(10)
        stuck = add_endpoint(organization=organization, url=hanging.url)[0]
        make_backlog(stuck, 2)
        make_backlog(endpoint, 20)
        for one in (stuck, endpoint):
            deliver_due(str(one.pk))

        wait_for(lambda: all_delivered(endpoint), seconds=10)
        assert count_by_state(stuck) == {State.PENDING.value: 2}
        may_go_on.set()
        wait_for(lambda: all_delivered(stuck), seconds=10)


def test_two_workers_serve_an_endpoint_at_a_time_and_a_third_waits(endpoint: Endpoint, receiver: Receiver) -> None:
    make_backlog(endpoint, 2 * BATCH_SIZE + 10)
    first = DELIVERIES.claim(endpoint.pk)  # by a worker that has died since

    second = DELIVERIES.claim(endpoint.pk)

    assert (len(first), len(second)) == (BATCH_SIZE, BATCH_SIZE)
    assert {job.pk for job in first}.isdisjoint(job.pk for job in second)
    assert run_group(DELIVERIES, endpoint.pk) is False
    assert receiver.requests == []
    Delivery.unscoped.filter(lease_token=second[0].lease_token).update(lease_token=None, state=State.CANCELED)
    run_group(DELIVERIES, endpoint.pk)
    assert len(receiver.requests) == 10


ERRORS = [InterfaceError("the connection is closed"), RuntimeError("nobody thought of this")]


@pytest.mark.parametrize("error", ERRORS, ids=["of the database", "of any kind"])
def test_a_look_that_fails_ends_no_deliveries(
    endpoint: Endpoint, receiver: Receiver, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failed = threading.Event()

    async def fail(_: Dispatcher) -> None:
        failed.set()
        raise error

    monkeypatch.setattr(Dispatcher, "poll", fail)
    assert failed.wait(10)
    make_backlog(endpoint, 1)
    deliver_due(str(endpoint.pk))

    wait_for(lambda: all_delivered(endpoint), seconds=10)
