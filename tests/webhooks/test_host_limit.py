"""One host gets a limited number of requests a minute, over all endpoints of an organization (docs/interface.md, W25).

Abuse case L5: 500 endpoints at one host turned 5 bookings into 5,000 requests.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import F
from django.test import Client

from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_organization
from tests.faults.backlog import count_by_state, make_backlog
from tests.receiver import Receiver
from tests.shared_rows import clear_caches
from webhooks.models import Attempt, Delivery, Endpoint, ReceivingHost
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint, change_endpoint, prune

LIMIT = 10


@pytest.fixture
def endpoints(organization: Organization, receiver: Receiver, settings: Any) -> list[Endpoint]:
    """Create three endpoints of Acme at one host, which gets ten requests a minute."""
    settings.WEBHOOKS_PER_HOST_PER_MINUTE = LIMIT
    return [add_endpoint(organization=organization, url=f"{receiver.url}/{number}")[0] for number in range(3)]


@pytest.fixture
def other_receiver() -> Iterator[Receiver]:
    """Start a second receiver on this machine."""
    with Receiver() as receiver:
        yield receiver


def run_all(endpoints: list[Endpoint]) -> None:
    for endpoint in endpoints:
        run_group(DELIVERIES, endpoint.pk)


def let_time_pass(seconds: int) -> None:
    """Make the counted deliveries older than they are, because the database's clock can't be set."""
    for host in ReceivingHost.unscoped.all():
        host.recent = [[second - seconds, count] for second, count in host.recent]
        host.save()
    Endpoint.unscoped.update(paused_until=F("paused_until") - timedelta(seconds=seconds))


def test_bookings_cause_no_more_requests_than_the_limit_and_none_is_lost(
    api: ApiClient, organization: Organization, endpoints: list[Endpoint], receiver: Receiver
) -> None:
    for number in range(5):
        api.book(external_reference=f"ref-{number}", lead_email=f"lead{number}@example.com")
    total = 5 * 2 * len(endpoints)

    run_all(endpoints)
    assert len(receiver.requests) == LIMIT
    assert count_by_state(*endpoints) == {State.DONE.value: LIMIT, State.PENDING.value: total - LIMIT}
    run_all(endpoints)
    assert len(receiver.requests) == LIMIT
    for _ in range(2):
        let_time_pass(61)
        run_all(endpoints)

    assert len(receiver.requests) == total == 3 * LIMIT
    assert len({(request.headers["webhook-id"], request.path) for request in receiver.requests}) == total
    deliveries = Delivery.objects.of(organization)
    assert set(deliveries.values_list("state", "attempt_count")) == {(State.DONE.value, 1)}


def test_a_postponed_delivery_is_no_attempt_and_no_failure(
    organization: Organization, endpoints: list[Endpoint]
) -> None:
    make_backlog(endpoints[0], LIMIT)
    make_backlog(endpoints[1], 4)

    run_all(endpoints)

    postponed = Delivery.objects.of(organization).filter(endpoint=endpoints[1])
    columns = postponed.values_list("state", "attempt_count", "claim_count", "lease_token", "last_error")
    assert list(columns) == [(State.PENDING.value, 0, 0, None, "")] * 4
    assert Attempt.objects.of(organization).count() == LIMIT
    endpoints[1].refresh_from_db()
    assert (endpoints[1].failures, endpoints[1].failing_since, endpoints[1].is_active) == (0, None, True)
    assert now() < endpoints[1].paused_until <= now() + timedelta(seconds=61)


def test_another_host_and_another_organization_are_not_delayed(
    organization: Organization,
    other_organization: Organization,
    endpoints: list[Endpoint],
    receiver: Receiver,
    other_receiver: Receiver,
) -> None:
    make_backlog(endpoints[0], 2 * LIMIT)
    run_all(endpoints)
    elsewhere = add_endpoint(organization=organization, url=other_receiver.url.replace("127.0.0.1", "localhost"))[0]
    strangers = add_endpoint(organization=other_organization, url=receiver.url)[0]
    for endpoint in (elsewhere, strangers):
        make_backlog(endpoint, LIMIT)

    run_all([elsewhere, strangers])

    assert len(other_receiver.requests) == LIMIT
    assert len(receiver.requests) == 2 * LIMIT
    assert count_by_state(elsewhere, strangers) == {State.DONE.value: 2 * LIMIT}


@pytest.mark.parametrize("spelling", ["2130706433", "127.1", "0x7f000001", "127.0.0.1."])
def test_another_spelling_or_port_of_the_host_shares_its_limit(
    organization: Organization, endpoints: list[Endpoint], receiver: Receiver, other_receiver: Receiver, spelling: str
) -> None:
    make_backlog(endpoints[0], LIMIT)
    run_all(endpoints)
    url = other_receiver.url.replace("127.0.0.1", spelling)
    spelled = add_endpoint(organization=organization, url=url)[0]
    make_backlog(spelled, 3)

    run_all([spelled])

    assert (len(receiver.requests), other_receiver.requests) == (LIMIT, [])
    assert count_by_state(spelled) == {State.PENDING.value: 3}


def test_no_minute_has_more_than_the_limit_wherever_it_begins(endpoints: list[Endpoint], receiver: Receiver) -> None:
    make_backlog(endpoints[0], 4)
    run_all(endpoints)
    let_time_pass(40)
    make_backlog(endpoints[1], 20)

    sent = []
    for seconds in (0, 15, 10, 30, 10):
        let_time_pass(seconds)
        run_all(endpoints)
        sent.append(len(receiver.requests))

    # The first four were sent at second 0, and are counted until second 61; the next six, sent at second 40, until 101.
    assert sent == [10, 10, 14, 14, 20]


def test_a_paused_endpoint_is_looked_at_by_nobody_and_is_no_stale_backlog(endpoints: list[Endpoint]) -> None:
    make_backlog(endpoints[0], 2 * LIMIT)
    run_all(endpoints)
    Delivery.unscoped.filter(state=State.PENDING).update(next_attempt_at=now() - timedelta(hours=1))

    assert DELIVERIES.due_groups() == []
    assert Client().get("/healthz").status_code == 200
    let_time_pass(61)
    assert list(DELIVERIES.due_groups()) == [endpoints[0].pk]
    assert Client().get("/healthz").status_code == 200
    # Workers have had five minutes since.
    let_time_pass(301)
    clear_caches()  # the health check keeps its answer for two seconds
    assert Client().get("/healthz").status_code == 503


def test_what_is_released_without_being_sent_does_not_count(endpoints: list[Endpoint], receiver: Receiver) -> None:
    make_backlog(endpoints[0], 6)
    make_backlog(endpoints[1], 10)
    batch = DELIVERIES.claim(endpoints[0].pk)
    assert batch
    assert len(batch.jobs) == 6

    DELIVERIES.release(batch, batch.jobs[2:])
    run_group(DELIVERIES, endpoints[1].pk)

    assert len(receiver.requests) == LIMIT - 2


@pytest.mark.django_db(transaction=True)
def test_a_release_waits_for_the_endpoint_before_it_locks_a_delivery(endpoints: list[Endpoint]) -> None:
    """Whoever changes an endpoint locks it, then its deliveries; the other way round could deadlock with them."""
    make_backlog(endpoints[0], 4)
    batch = DELIVERIES.claim(endpoints[0].pk)
    assert batch
    with ThreadPoolExecutor() as threads:
        with transaction.atomic():
            Endpoint.unscoped.select_for_update(no_key=True).get(pk=endpoints[0].pk)
            released = threads.submit(release_and_disconnect, batch)
            wait_until_somebody_waits_for_a_lock()
            # Fails at once if the release holds one of them.
            locked = len(Delivery.unscoped.select_for_update(nowait=True).filter(endpoint=endpoints[0]))
        released.result()

    assert locked == 4
    assert not Delivery.unscoped.exclude(lease_token=None).exists()


def release_and_disconnect(batch: Any) -> None:
    """Release the whole batch, on a connection of this thread's own."""
    try:
        DELIVERIES.release(batch, batch.jobs)
    finally:
        connections.close_all()


def wait_until_somebody_waits_for_a_lock() -> None:
    """Return when another session of this database waits for a lock; fail after a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_stat_clear_snapshot()"
            )  # a transaction sees no session that began after its first look
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
        time.sleep(0.02)
    pytest.fail("Nobody waits for a lock.")


def test_a_receiver_that_answers_slowly_gets_what_it_can_take(
    endpoints: list[Endpoint], receiver: Receiver, settings: Any
) -> None:
    # With such a short lease the rest of each batch is released after one request.
    settings.DELIVERY_DEADLINE_SECONDS, settings.DELIVERY_LEASE_SECONDS = 30, 60
    make_backlog(endpoints[0], LIMIT)

    for _ in range(LIMIT):
        run_group(DELIVERIES, endpoints[0].pk)

    assert len(receiver.requests) == LIMIT
    endpoints[0].refresh_from_db()
    assert endpoints[0].paused_until is None


def test_a_changed_endpoint_is_no_longer_paused(endpoints: list[Endpoint], other_receiver: Receiver) -> None:
    make_backlog(endpoints[0], 2 * LIMIT)
    run_all(endpoints)

    url = other_receiver.url.replace("127.0.0.1", "localhost")
    change_endpoint(endpoint=endpoints[0], url=url, description="", event_types=[], is_active=True)
    run_all(endpoints)

    assert len(other_receiver.requests) == LIMIT


def test_a_clock_that_was_set_back_pauses_nobody(endpoints: list[Endpoint], receiver: Receiver) -> None:
    make_backlog(endpoints[0], 2 * LIMIT)
    run_all(endpoints)
    let_time_pass(-3600)
    Endpoint.unscoped.update(paused_until=None)

    run_all(endpoints)

    assert len(receiver.requests) == 2 * LIMIT


def test_hosts_that_nobody_sends_to_any_more_are_forgotten(
    organization: Organization, other_organization: Organization, endpoints: list[Endpoint]
) -> None:
    for row in (organization, other_organization):
        ReceivingHost.objects.create(organization=row, host="old.example", used_at=now() - timedelta(days=2))
    make_backlog(endpoints[0], 1)
    run_all(endpoints)

    prune(organization=organization)

    assert list(ReceivingHost.objects.of(organization).values_list("host", flat=True)) == ["127.0.0.1"]
    assert ReceivingHost.objects.of(other_organization).count() == 1


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_the_same_time_claim_no_more_than_the_limit_together(settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE, settings.WEBHOOKS_PER_HOST_PER_MINUTE = True, 25
    organization = make_organization("Acme")
    endpoints = [add_endpoint(organization=organization, url="http://127.0.0.1:9/hook")[0] for _ in range(8)]
    for endpoint in endpoints:
        make_backlog(endpoint, 10)
    start = Barrier(len(endpoints))

    def claim(endpoint: Endpoint) -> int:
        start.wait(timeout=30)
        try:
            batch = DELIVERIES.claim(endpoint.pk)
            return len(batch.jobs) if batch else 0
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(endpoints)) as pool:
        claimed = list(pool.map(claim, endpoints))

    assert sorted(claimed, reverse=True) == [10, 10, 5, 0, 0, 0, 0, 0]
    assert Delivery.unscoped.filter(lease_token__isnull=False).count() == 25
