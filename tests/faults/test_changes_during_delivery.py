"""Changes while a worker delivers: the endpoint is disabled, the clock jumps, a newer version sends messages."""

from datetime import timedelta
from typing import Any

import time_machine
from django.db import connection

from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from organizations.models import Organization
from tests.faults.backlog import all_delivered, count_by_state, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import change_endpoint

EVENTS = 20
HOUR = timedelta(hours=1)


def disable(endpoint: Endpoint) -> None:
    """Disable the endpoint as staff do in the admin; this runs in a thread of the receiver."""
    change_endpoint(endpoint=endpoint, url=endpoint.url, description="", event_types=[], is_active=False)
    connection.close()


def test_an_endpoint_disabled_during_delivery_gets_only_the_event_that_is_being_sent(
    stack: Stack, organization: Organization, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 1
    endpoint = make_endpoint(organization, receiver.url)
    make_backlog(endpoint, EVENTS)
    receiver.on_request = lambda number: number == 3 and disable(endpoint)

    run_group(DELIVERIES, endpoint.pk)

    assert len(receiver.requests) == 3
    assert count_by_state(endpoint) == {State.DONE.value: 2, State.PENDING.value: EVENTS - 2}


def test_a_worker_whose_clock_is_an_hour_off_sends_what_is_due_by_the_databases_clock(
    stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    endpoint = make_endpoint(organization, receiver.url)
    due, later = make_backlog(endpoint, 2)
    Delivery.unscoped.filter(pk=later.pk).update(next_attempt_at=now() + HOUR / 2)

    with time_machine.travel(now() + HOUR, tick=True):
        assert list(DELIVERIES.due_groups()) == [endpoint.pk]
        run_group(DELIVERIES, endpoint.pk)
        assert list(DELIVERIES.due_groups()) == []
    Delivery.unscoped.filter(pk=later.pk).update(next_attempt_at=now())
    with time_machine.travel(now() - HOUR, tick=True):
        run_group(DELIVERIES, endpoint.pk)

    sent = [request.headers["webhook-id"] for request in receiver.requests]
    assert sent == [str(due.event_id), str(later.event_id)]
    assert all_delivered(endpoint)
    assert not Delivery.unscoped.filter(finished_at__gt=now() + timedelta(minutes=1)).exists()


def test_messages_of_a_newer_version_do_not_harm_a_worker(
    stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    for _ in range(EVENTS):
        stack.send_task("webhooks.future_task", str(endpoint.pk), {"more": True})
        stack.send_task("outbox.deliver_due", "webhooks.delivery", str(endpoint.pk), "a future argument")
    make_backlog(endpoint, EVENTS)

    stack.start("worker")
    wait_for(lambda: all_delivered(endpoint))

    assert inbox.counts().total() == EVENTS
    assert stack.processes["worker"].poll() is None
