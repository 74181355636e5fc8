"""One loop delivers for all that ring, each endpoint by at most two workers at a time."""

import threading

import pytest
from django.db import InterfaceError, connection

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.outbox.dispatcher import Dispatcher
from pipeline_backend.outbox.group_runner import run_group
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.queue import BATCH_SIZE
from tests.faults.backlog import are_done, pile, states
from tests.faults.stack import wait_for
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint, send_test
from webhooks.tasks import drain as ring

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_ring_is_for_this_process_courier_which_delivers_while_the_ringer_goes_on(
    endpoint: Endpoint, receiver: Receiver, courier: Dispatcher
) -> None:
    may_go_on = threading.Event()
    receiver.on_request = lambda number: may_go_on.wait(10)
    send_test(endpoint=endpoint, actor=SYSTEM)

    ring(str(endpoint.pk))
    assert not are_done(endpoint)

    may_go_on.set()
    wait_for(lambda: are_done(endpoint), seconds=10)
    assert receiver.event_types() == ["webhook.test"]


def test_a_ring_while_its_endpoint_is_being_served_is_not_forgotten(
    endpoint: Endpoint, receiver: Receiver, courier: Dispatcher
) -> None:
    late: list[Delivery] = []

    def tell_of_another(number: int) -> None:
        if number == 1:
            late.extend(pile(endpoint, 1))
            ring(str(endpoint.pk))
            connection.close()  # this thread's

    receiver.on_request = tell_of_another
    pile(endpoint, 1)
    ring(str(endpoint.pk))

    wait_for(lambda: late and are_done(endpoint), seconds=10)
    assert len(receiver.requests) == 2


def test_a_hanging_receiver_holds_up_no_other_of_the_same_courier(
    organization: Organization, endpoint: Endpoint, courier: Dispatcher
) -> None:
    may_go_on = threading.Event()
    with Receiver() as hanging:
        hanging.on_request = lambda number: may_go_on.wait(10)
        stuck = add_endpoint(organization=organization, url=hanging.url)[0]
        pile(stuck, 2)
        pile(endpoint, 20)
        for one in (stuck, endpoint):
            ring(str(one.pk))

        wait_for(lambda: are_done(endpoint), seconds=10)
        assert states(stuck) == {State.PENDING.value: 2}
        may_go_on.set()
        wait_for(lambda: are_done(stuck), seconds=10)


def test_two_workers_serve_an_endpoint_at_a_time_and_a_third_waits(endpoint: Endpoint, receiver: Receiver) -> None:
    pile(endpoint, 2 * BATCH_SIZE + 10)
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
    endpoint: Endpoint, receiver: Receiver, courier: Dispatcher, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    failed = threading.Event()

    async def fail(_: Dispatcher) -> None:
        failed.set()
        raise error

    monkeypatch.setattr(Dispatcher, "look", fail)
    assert failed.wait(10)
    pile(endpoint, 1)
    ring(str(endpoint.pk))

    wait_for(lambda: are_done(endpoint), seconds=10)
