"""One slow answer delays only its own event: an endpoint's other requests go on, and the turns of others come."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from foundation.outbox import FAST, Dispatcher, Lane, run_group
from organizations.models import Organization
from tests.faults.backlog import all_delivered, make_backlog
from tests.faults.stack import wait_for
from tests.jobs import send_deliveries
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint, change_endpoint

pytestmark = pytest.mark.django_db(transaction=True)

BACKLOG = 2 * FAST.batch + 10


@pytest.fixture
def answer(receiver: Receiver, settings: Any) -> Iterator[threading.Event]:
    """Let the first request wait for this event; the receiver gets two requests at once."""
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 2
    answer = threading.Event()
    receiver.on_request = lambda number: number == 1 and answer.wait(60)
    yield answer
    answer.set()


def test_one_slow_answer_holds_neither_the_backlog_nor_later_events(
    endpoint: Endpoint, receiver: Receiver, answer: threading.Event, dispatcher: Dispatcher
) -> None:
    make_backlog(endpoint, BACKLOG)
    send_deliveries(str(endpoint.pk))
    wait_for(lambda: len(receiver.requests) == BACKLOG)

    make_backlog(endpoint, 1)
    send_deliveries(str(endpoint.pk))
    wait_for(lambda: len(receiver.requests) == BACKLOG + 1)
    assert not all_delivered(endpoint)

    answer.set()
    wait_for(lambda: all_delivered(endpoint))
    assert len(receiver.requests) == BACKLOG + 1


def test_a_long_turn_ends_when_other_endpoints_wait(
    organization: Organization,
    receiver: Receiver,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    dispatcher: Dispatcher,
) -> None:
    monkeypatch.setattr(Lane, "share", 2)  # so many endpoints have to be busy
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 2
    # No request times out before all of them have arrived.
    settings.DELIVERY_DEADLINE_SECONDS, settings.DELIVERY_LEASE_SECONDS = 100, 400
    may_respond = threading.Event()
    receiver.on_request = lambda number: may_respond.wait(100)
    busy = [add_endpoint(organization=organization, url=f"{receiver.url}/busy")[0] for _ in range(FAST.share)]
    late = add_endpoint(organization=organization, url=f"{receiver.url}/late")[0]
    for each in (*busy, late):
        make_backlog(each, 1 if each is late else 4 * FAST.batch)
    for each in busy:
        send_deliveries(str(each.pk))
    wait_for(lambda: len(receiver.requests) == 2 * FAST.share)
    send_deliveries(str(late.pk))
    wait_for(lambda: dispatcher.waiting.total() == 1)
    may_respond.set()

    wait_for(lambda: all_delivered(late, *busy))

    paths = [request.path for request in receiver.requests]
    # Each has sent its first batch before, and a second one beside it; a third one may have begun meanwhile.
    assert paths.index("/hook/late") < FAST.share * 3 * FAST.batch < len(paths)


def test_a_turn_that_goes_on_counts_as_one_worker_and_claims_no_suspects(endpoint: Endpoint) -> None:
    suspect, *_ = make_backlog(endpoint, BACKLOG)
    Delivery.unscoped.filter(pk=suspect.pk).update(claim_count=1)

    first = DELIVERIES.claim(endpoint.pk)
    assert first
    more = DELIVERIES.claim(endpoint.pk, FAST, first.token)
    other = DELIVERIES.claim(endpoint.pk)
    assert more
    assert other

    assert (more.token, len(first.jobs), len(more.jobs), len(other.jobs)) == (first.token, 50, 50, 9)
    assert DELIVERIES.claim(endpoint.pk) is None
    assert DELIVERIES.claim(endpoint.pk, FAST, first.token) is None
    Delivery.unscoped.filter(lease_token=other.token).update(lease_token=None, state="CANCELED")
    alone = DELIVERIES.claim(endpoint.pk)
    assert alone
    assert [job.pk for job in alone.jobs] == [suspect.pk]


def test_a_changed_url_and_a_disabled_endpoint_count_from_the_next_claim_on(
    endpoint: Endpoint, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 2
    make_backlog(endpoint, BACKLOG)

    def change(number: int) -> None:
        if number == 20:
            change_endpoint(
                endpoint=endpoint, url=f"{receiver.url}/new", description="", event_types=[], is_active=True
            )
            connection.close()

    receiver.on_request = change
    run_group(DELIVERIES, endpoint.pk)

    paths = [request.path for request in receiver.requests]
    assert paths == ["/hook"] * FAST.batch + ["/hook/new"] * (BACKLOG - FAST.batch)


def test_the_bodies_that_are_being_sent_bound_what_is_claimed_beside_them(
    endpoint: Endpoint, receiver: Receiver, answer: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhooks.queue.MAX_BATCH_BYTES", 60)  # one body fits, and takes more than a quarter
    make_backlog(endpoint, 3)
    thread = threading.Thread(target=run_in_thread, args=[endpoint])
    thread.start()
    wait_for(lambda: len(receiver.requests) == 1)
    assert Delivery.unscoped.filter(lease_token__isnull=False).count() == len(receiver.requests) == 1

    answer.set()
    thread.join()
    assert all_delivered(endpoint)


def run_in_thread(endpoint: Endpoint) -> None:
    run_group(DELIVERIES, endpoint.pk)
    connection.close()
