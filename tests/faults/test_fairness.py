"""A receiver that hangs holds up nobody else."""

import time
from typing import Any

from organizations.models import Organization
from pipeline_backend.outbox import run_group
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.fast_receiver import Arrival, FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Endpoint, Event
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS

ORGANIZATIONS, ENDPOINTS_OF_EACH, ROUNDS, STUCK = 5, 10, 4, 1000
PROMISED_SECONDS = 2.0


def test_beside_a_hanging_endpoint_99_in_100_first_attempts_at_healthy_ones_start_within_two_seconds(
    stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    make_backlog(make_endpoint(organization, inbox.url("hang")), STUCK)
    others = [make_organization(f"Org{number}") for number in range(ORGANIZATIONS - 1)]
    keys = [str(make_api(one).key) for one in (organization, *others)]
    for one in (organization, *others):
        for number in range(ENDPOINTS_OF_EACH):
            make_endpoint(one, inbox.url(f"ok/{one.pk}/{number}"))
    stack.start("web", "worker")
    wait_for(lambda: inbox.arrivals("hang"), seconds=30)
    book_everywhere(stack, keys, "warm")  # tells of the leads as well
    wait_for(lambda: len(inbox.arrivals("ok")) == 2 * ORGANIZATIONS * ENDPOINTS_OF_EACH, seconds=30)
    time.sleep(1)  # the rings for what has come already
    before = len(inbox.arrivals("ok"))

    for number in range(ROUNDS):
        book_everywhere(stack, keys, f"round-{number}")
    wait_for(lambda: len(inbox.arrivals("ok")) == before + ROUNDS * ORGANIZATIONS * ENDPOINTS_OF_EACH, seconds=30)

    waits = sorted(waits_of(inbox.arrivals("ok")[before:]))
    worst = waits[int(len(waits) * 0.99)]
    measurements["first attempts beside a hanging endpoint"] = (
        f"half within {waits[len(waits) // 2]:.2f} s, 99 % within {worst:.2f} s, of {len(waits)}"
    )
    assert worst <= PROMISED_SECONDS
    assert len(inbox.arrivals("hang")) <= 2 * DELIVERIES.max_workers_per_group  # it hung all the while


def book_everywhere(stack: Stack, keys: list[str], reference: str) -> None:
    """A booking in each organization, each told to ten endpoints."""
    for key in keys:
        assert stack.book(key, external_reference=reference)[0] == 201
        time.sleep(0.2)


def waits_of(arrivals: list[Arrival]) -> list[float]:
    """Seconds from just before the commit to the arrival."""
    began = {str(id): moment.timestamp() for id, moment in Event.unscoped.values_list("id", "created_at")}
    return [arrival.at - began[arrival.id] for arrival in arrivals]


def test_three_timeouts_move_an_endpoint_to_the_slow_lane_and_one_success_brings_it_back(
    stack: Stack, organization: Organization, inbox: FastReceiver, receiver: Receiver, settings: Any
) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 0.2
    endpoint = make_endpoint(organization, inbox.url("hang"))
    make_backlog(endpoint, 10)

    run_group(DELIVERIES, endpoint.pk)
    assert len(inbox.arrivals()) == SLOW_AFTER_TIMEOUTS
    assert lanes(endpoint) == (False, True)

    Endpoint.unscoped.update(url=receiver.url)
    run_group(DELIVERIES, endpoint.pk, is_slow=True)
    assert len(receiver.requests) == 1
    assert lanes(endpoint) == (True, False)


def lanes(endpoint: Endpoint) -> tuple[bool, bool]:
    """Whether the fast lane serves it, and whether the slow one does."""
    return endpoint.pk in DELIVERIES.groups_with_due_jobs(), endpoint.pk in DELIVERIES.groups_with_due_jobs(
        is_slow=True
    )
