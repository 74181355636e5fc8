"""Without Redis a booking is as good; what it causes comes all the same."""

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

FIRST_SECONDS = 2.5  # a request that is the first to find Redis silent
USUAL_SECONDS = 1.0


@pytest.fixture
def key(api: ApiClient) -> str:
    return str(api.key)


def test_a_booking_reaches_webhook_and_mailbox_by_real_processes(
    stack: Stack, organization: Organization, key: str, receiver: Receiver, tmp_path: Path
) -> None:
    secret = add_endpoint(organization=organization, url=receiver.url)[1]
    stack.start("web", "worker")

    code, answer = stack.book(key, external_reference="real")

    assert (code, answer["data"]["is_duplicate"]) == (201, False)
    wait_for(lambda: "appointment.created" in receiver.event_types(), seconds=30)
    assert receiver.requests[-1].verify(secret)["data"]["id"] == answer["data"]["id"]
    wait_for(lambda: any("Call Booked" in file.read_text() for file in (tmp_path / "mail").glob("*.log")), seconds=10)


def test_a_stream_of_bookings_survives_all_that_can_happen_to_redis(
    stack: Stack, organization: Organization, key: str, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    stack.start("web", "worker")
    # A failure is remembered for five seconds.
    turns = {
        "stopped": (stack.stop_redis, 1),
        "back, empty": (stack.start_redis, 5),
        "flushed": (stack.flush_redis, 1),
        "frozen": (stack.freeze_redis, 6),
        "thawed": (stack.unfreeze_redis, 1),
    }
    slowest = {}
    with booking_stream(stack, key) as bookings:
        wait_for(inbox.has_received(5), seconds=30)
        for name, (turn, seconds) in turns.items():
            before = len(bookings.responses)
            turn()
            time.sleep(seconds)
            bookings.wait_for_more(10)
            slowest[name] = max(bookings.durations()[before:])
    wait_for(all_events_received(inbox), seconds=30)

    measurements["slowest booking while Redis is"] = ", ".join(
        f"{name} {seconds:.2f} s" for name, seconds in slowest.items()
    )
    assert bookings.status_codes() == {201}
    assert max(bookings.durations()) <= FIRST_SECONDS
    assert sum(seconds > USUAL_SECONDS for seconds in bookings.durations()) <= 4  # once in five seconds


@pytest.mark.parametrize("is_late", [True, False], ids=["gone after the start", "never there"])
def test_with_redis_away_for_good_and_no_beat_every_event_arrives(
    stack: Stack, organization: Organization, key: str, inbox: FastReceiver, is_late: bool
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    if is_late:
        stack.start("web", "worker")
        assert stack.book(key, external_reference="before")[0] == 201
        wait_for(inbox.has_received(2), seconds=30)
    stack.stop_redis()
    if not is_late:
        stack.start("web", "worker")

    with booking_stream(stack, key) as bookings:
        bookings.wait_for_more(20)
    wait_for(all_events_received(inbox), seconds=20)

    assert bookings.status_codes() == {201}
    assert max(bookings.durations()) <= FIRST_SECONDS
