"""Without Redis a booking is as good; what it causes comes when it can."""

import time
from pathlib import Path
from typing import Any

import pytest

from organizations.models import Organization
from tests.client import Api
from tests.factories import make_api, make_organization
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.services import add_endpoint


@pytest.fixture
def organization(stack: Stack) -> Organization:
    return make_organization("Acme")


@pytest.fixture
def api(organization: Organization) -> Api:
    return make_api(organization)


@pytest.fixture
def secret(organization: Organization, receiver: Receiver, settings: Any) -> str:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    return add_endpoint(organization=organization, url=receiver.url)[1]


def test_a_booking_reaches_webhook_and_mailbox_by_real_processes(stack: Stack, api: Api, secret: str, receiver: Receiver, tmp_path: Path) -> None:
    stack.start("web", "worker")
    wait_until_worker_listens(stack, api, receiver)

    code, answer = stack.book(str(api.key), external_reference="real")

    assert (code, answer["data"]["is_duplicate"]) == (201, False)
    wait_for(lambda: "real" in references(receiver, secret), seconds=10)
    assert receiver.received[-1].verified(secret)["data"]["id"] == answer["data"]["id"]
    wait_for(lambda: any("Call Booked" in file.read_text() for file in (tmp_path / "mail").glob("*.log")), seconds=10)


def test_with_redis_down_a_booking_answers_201_in_its_usual_time_and_is_delivered_when_redis_is_back(
    stack: Stack, api: Api, secret: str, receiver: Receiver
) -> None:
    stack.start("web", "worker", "beat")
    wait_until_worker_listens(stack, api, receiver)
    usual = timed(lambda: stack.book(str(api.key), external_reference="before"))
    stack.stop_redis()

    codes = [stack.book(str(api.key), external_reference=f"down-{number}", lead_email=f"l{number}@example.com")[0] for number in range(3)]
    without = timed(lambda: stack.book(str(api.key), external_reference="down-last"))
    stack.start_redis()

    assert codes == [201, 201, 201]
    assert without < max(10 * usual, 1.5)
    wanted = {"down-0", "down-1", "down-2", "down-last"}
    wait_for(lambda: wanted <= references(receiver, secret), seconds=40)


def wait_until_worker_listens(stack: Stack, api: Api, receiver: Receiver) -> None:
    """The first booking may wait for the worker to start."""
    assert stack.book(str(api.key), external_reference="first")[0] == 201
    wait_for(lambda: len(receiver.received) >= 2, seconds=30)


def references(receiver: Receiver, secret: str) -> set[str]:
    """The references of the bookings received."""
    events = [request.verified(secret) for request in receiver.received]
    return {event["data"]["external_reference"] for event in events if event["type"] == "appointment.created"}


def timed(act: Any) -> float:
    """Seconds it took."""
    started = time.monotonic()
    act()
    return time.monotonic() - started
