"""Without Redis bookings work as before, and everything that they cause still arrives."""

import time
from pathlib import Path

import pytest

from organizations.models import Organization
from tests.client import ApiClient
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.services import add_endpoint

# The request that is the first to find Redis unresponsive takes a second longer on a machine that is otherwise idle.
MAX_SECONDS = 20


@pytest.fixture
def key(api: ApiClient) -> str:
    return str(api.key)


def test_a_booking_reaches_webhook_and_mailbox_through_real_processes(
    stack: Stack, organization: Organization, key: str, receiver: Receiver, tmp_path: Path
) -> None:
    secret = add_endpoint(organization=organization, url=receiver.url)[1]
    stack.start("web", "worker")

    status, body = stack.book(key, external_reference="real")

    assert (status, body["data"]["is_duplicate"]) == (201, False)
    wait_for(lambda: "appointment.created" in receiver.event_types())
    events = [request.verify(secret) for request in receiver.requests]
    [created] = [event for event in events if event["type"] == "appointment.created"]
    assert created["data"]["id"] == body["data"]["id"]
    wait_for(lambda: any("Call Booked" in file.read_text() for file in (tmp_path / "mail").glob("*.log")))


def test_a_stream_of_bookings_survives_every_outage_of_redis(
    stack: Stack, organization: Organization, key: str, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    stack.start("web", "worker")
    # Each with the seconds to stay in it; an open circuit is tried again after five.
    outages = {
        "stopped": (stack.stop_redis, 1),
        "restarted empty": (stack.start_redis, 5),
        "flushed": (stack.flush_redis, 1),
        "frozen": (stack.freeze_redis, 6),
        "unfrozen": (stack.unfreeze_redis, 1),
    }
    slowest = {}
    with booking_stream(stack, key) as bookings:
        wait_for(inbox.has_received(5))
        for name, (cause, seconds) in outages.items():
            before = len(bookings.responses)
            cause()
            time.sleep(seconds)
            bookings.wait_for_more(10)
            slowest[name] = max(bookings.durations()[before:])
    wait_for(all_events_received(inbox))

    measurements["slowest booking while Redis is"] = ", ".join(
        f"{name} {seconds:.2f} s" for name, seconds in slowest.items()
    )
    assert bookings.status_codes() == {201}
    assert max(bookings.durations()) <= MAX_SECONDS


@pytest.mark.parametrize("stops_later", [True, False], ids=["stopped after the start", "never started"])
def test_with_redis_permanently_unavailable_every_event_arrives(
    stack: Stack, organization: Organization, key: str, inbox: FastReceiver, stops_later: bool
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    if stops_later:
        stack.start("web", "worker")
        assert stack.book(key, external_reference="before")[0] == 201
        wait_for(inbox.has_received(2))
    stack.stop_redis()
    if not stops_later:
        stack.start("web", "worker")

    with booking_stream(stack, key) as bookings:
        bookings.wait_for_more(20)
    wait_for(all_events_received(inbox))

    assert bookings.status_codes() == {201}
    assert max(bookings.durations()) <= MAX_SECONDS
