"""A receiver that hangs does not delay other receivers."""

import time
from typing import Any

from organizations.models import Organization
from pipeline_backend.outbox import FAST, SLOW, run_group
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.fast_receiver import Arrival, FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Endpoint, Event
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS

ORGANIZATIONS, ENDPOINTS_OF_EACH, ROUNDS, HANGING_BACKLOG = 5, 10, 4, 1000
TRIES, MAX_SECONDS = 3, 2.0


def test_beside_a_hanging_endpoint_99_percent_of_first_attempts_elsewhere_start_within_two_seconds(
    stack: Stack, organization: Organization, inbox: FastReceiver, settings: Any, measurements: dict[str, str]
) -> None:
    make_backlog(make_endpoint(organization, inbox.url("hang")), HANGING_BACKLOG)
    organizations = [organization, *(make_organization(f"Org{number}") for number in range(ORGANIZATIONS - 1))]
    keys = [str(make_api(each).key) for each in organizations]
    for each in organizations:
        for number in range(ENDPOINTS_OF_EACH):
            make_endpoint(each, inbox.url(f"ok/{each.pk}/{number}"))
    # So that the endpoint hangs all the while: its first requests neither fail nor succeed.
    stack.settings |= {"DELIVERY_DEADLINE_SECONDS": "300", "DELIVERY_LEASE_SECONDS": "1200"}
    stack.start("web", "worker")
    wait_for(lambda: inbox.arrivals("hang"), seconds=30)
    # The first bookings create the leads, which is an event more for each endpoint.
    book_in_each(stack, keys, "warm-up")
    wait_for(lambda: len(inbox.arrivals("ok")) == 2 * ORGANIZATIONS * ENDPOINTS_OF_EACH, seconds=60)

    # Once more if the machine was busy with something else.
    for attempt in range(TRIES):
        waits = first_attempt_waits(stack, inbox, keys, f"try-{attempt}")
        p99 = waits[int(len(waits) * 0.99)]
        if p99 <= MAX_SECONDS:
            break
    measurements["first attempts while an endpoint hangs"] = (
        f"half within {waits[len(waits) // 2]:.2f} s, 99 % within {p99:.2f} s, of {len(waits)}"
    )
    assert p99 <= MAX_SECONDS
    assert len(inbox.arrivals("hang")) == settings.WEBHOOK_REQUESTS_PER_ENDPOINT


def first_attempt_waits(stack: Stack, inbox: FastReceiver, keys: list[str], reference: str) -> list[float]:
    """Book in rounds, and return how long the events needed to arrive at the other endpoints, sorted."""
    before = len(inbox.arrivals("ok"))
    for number in range(ROUNDS):
        book_in_each(stack, keys, f"{reference}-{number}")
    wait_for(lambda: len(inbox.arrivals("ok")) == before + ROUNDS * ORGANIZATIONS * ENDPOINTS_OF_EACH, seconds=60)
    return sorted(seconds_to_arrival(inbox.arrivals("ok")[before:]))


def book_in_each(stack: Stack, keys: list[str], reference: str) -> None:
    """Create an appointment in each organization, which sends an event to its ten endpoints."""
    for key in keys:
        assert stack.book(key, external_reference=reference)[0] == 201
        time.sleep(0.2)


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


def lanes_of(endpoint: Endpoint) -> list[str]:
    """Return the lanes that would serve the endpoint now."""
    return [lane.name for lane in (FAST, SLOW) if endpoint.pk in DELIVERIES.due_groups(lane)]
