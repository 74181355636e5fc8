"""A receiver that hangs does not delay other receivers."""

import time
from typing import Any

from foundation.outbox import FAST, SLOW, run_group
from organizations.models import Organization
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.fast_receiver import Arrival, FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint, Event
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS

ORGANIZATIONS, ENDPOINTS_OF_EACH, ROUNDS, HANGING_BACKLOG = 5, 10, 4, 1000
# Requests to the hanging endpoint neither fail nor succeed meanwhile; whatever waits for them waits that long.
HANGING_SECONDS = 300
# How much longer than without the hanging endpoint; below it, differences are the machine's other work.
MAX_RATIO, MIN_SECONDS = 10, 1.0


def test_a_hanging_endpoint_with_a_backlog_does_not_delay_first_attempts_elsewhere(
    stack: Stack, organization: Organization, inbox: FastReceiver, settings: Any, measurements: dict[str, str]
) -> None:
    organizations = [organization, *(make_organization(f"Org{number}") for number in range(ORGANIZATIONS - 1))]
    keys = [str(make_api(each).key) for each in organizations]
    for each in organizations:
        for number in range(ENDPOINTS_OF_EACH):
            make_endpoint(each, inbox.url(f"ok/{each.pk}/{number}"))
    stack.overrides |= {"DELIVERY_DEADLINE_SECONDS": HANGING_SECONDS, "DELIVERY_LEASE_SECONDS": 4 * HANGING_SECONDS}
    stack.start("web", "worker")
    for number, key in enumerate(keys):
        # The first booking creates the lead, which is an event more for each endpoint.
        book_and_wait(stack, inbox, key, "warm-up", arrivals=2 * (number + 1) * ENDPOINTS_OF_EACH)

    without = first_attempt_waits(stack, inbox, keys, "without")
    make_backlog(make_endpoint(organization, inbox.url("hang")), HANGING_BACKLOG)
    wait_for(lambda: len(inbox.arrivals("hang")) == settings.WEBHOOK_REQUESTS_PER_ENDPOINT)
    beside = first_attempt_waits(stack, inbox, keys, "beside")

    p99 = percentile(beside, 99)
    measurements["first attempts while an endpoint hangs"] = (
        f"half within {percentile(beside, 50):.2f} s, 99 % within {p99:.2f} s, of {len(beside)}; "
        f"otherwise {percentile(without, 50):.2f} s and {percentile(without, 99):.2f} s"
    )
    assert p99 <= MAX_RATIO * max(percentile(without, 99), MIN_SECONDS)
    assert len(inbox.arrivals("hang")) == settings.WEBHOOK_REQUESTS_PER_ENDPOINT


def percentile(values: list[float], percent: int) -> float:
    """Return the value that so many percent of the values don't exceed."""
    return sorted(values)[(len(values) - 1) * percent // 100]


def first_attempt_waits(stack: Stack, inbox: FastReceiver, keys: list[str], reference: str) -> list[float]:
    """Book in rounds, one after another, and return how long the events needed to arrive at the other endpoints."""
    before = len(inbox.arrivals("ok"))
    for number in range(ROUNDS):
        for key in keys:
            book_and_wait(
                stack, inbox, key, f"{reference}-{number}", arrivals=len(inbox.arrivals("ok")) + ENDPOINTS_OF_EACH
            )
    return seconds_to_arrival(inbox.arrivals("ok")[before:])


def book_and_wait(stack: Stack, inbox: FastReceiver, key: str, reference: str, *, arrivals: int) -> None:
    """Create an appointment, which sends an event to its organization's ten endpoints; wait for so many arrivals.

    The next booking comes after that, because on a slow machine bookings at a fixed rate would queue.
    """
    assert stack.book(key, external_reference=reference)[0] == 201
    wait_for(lambda: len(inbox.arrivals("ok")) == arrivals)


def seconds_to_arrival(arrivals: list[Arrival]) -> list[float]:
    """Return the seconds from just before each event's commit to its arrival."""
    created = {str(id): at.timestamp() for id, at in Event.unscoped.values_list("id", "created_at")}
    return [arrival.at - created[arrival.id] for arrival in arrivals]


def test_three_timeouts_move_an_endpoint_to_the_slow_lane_and_one_success_brings_it_back(
    stack: Stack, organization: Organization, inbox: FastReceiver, receiver: Receiver, settings: Any
) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 0.2
    endpoint = make_endpoint(organization, inbox.url("hang"))
    make_backlog(endpoint, 10)

    run_group(DELIVERIES, endpoint.pk)
    assert SLOW_AFTER_TIMEOUTS <= len(inbox.arrivals()) <= settings.WEBHOOK_REQUESTS_PER_ENDPOINT
    assert lanes_of(endpoint) == ["slow"]

    Endpoint.unscoped.update(url=receiver.url)
    run_group(DELIVERIES, endpoint.pk, SLOW)
    assert len(receiver.requests) == 1
    assert lanes_of(endpoint) == ["fast"]


def test_slow_answers_move_an_endpoint_to_the_slow_lane_as_timeouts_do(
    organization: Organization, receiver: Receiver, settings: Any
) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 3
    endpoint = make_endpoint(organization, receiver.url)
    make_backlog(endpoint, 10)
    receiver.on_request = lambda number: time.sleep(1.5)

    run_group(DELIVERIES, endpoint.pk)
    assert {delivery.state for delivery in Delivery.unscoped.filter(endpoint=endpoint, attempt_count=1)} == {"DONE"}
    make_backlog(endpoint, 2)
    assert lanes_of(endpoint) == ["slow"]

    receiver.on_request = lambda number: None
    run_group(DELIVERIES, endpoint.pk, SLOW)
    assert lanes_of(endpoint) == ["fast"]


def lanes_of(endpoint: Endpoint) -> list[str]:
    """Return the lanes that would serve the endpoint now."""
    return [lane.name for lane in (FAST, SLOW) if endpoint.pk in DELIVERIES.due_groups(lane)]
