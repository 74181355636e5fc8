"""Receivers, endpoints, and a dispatcher in the test's process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from foundation.outbox import Dispatcher
from organizations.models import Organization
from tests.receiver import Receiver
from webhooks.models import Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Start a receiver that responds with 204, on loopback, which the settings allow.

    It gets one request at a time, so that requests arrive in the order in which they are due.
    """
    settings.WEBHOOKS_ALLOW_PRIVATE, settings.WEBHOOK_REQUESTS_PER_ENDPOINT = True, 1
    with Receiver() as receiver:
        yield receiver


class NotifiedDispatcher(Dispatcher):
    """A dispatcher that finds no jobs by polling, so it runs what it is notified of."""

    async def poll(self) -> None:
        pass


@contextmanager
def run_dispatcher(dispatcher: Dispatcher) -> Iterator[Dispatcher]:
    """Run the dispatcher in this process, as a worker does."""
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        dispatcher.stop()
        Dispatcher.current = None


@pytest.fixture
def dispatcher(transactional_db: None) -> Iterator[Dispatcher]:
    """Start a dispatcher of webhooks in this process."""
    with run_dispatcher(NotifiedDispatcher([DELIVERIES])) as dispatcher:
        yield dispatcher


@pytest.fixture
def endpoint(organization: Organization, receiver: Receiver) -> Endpoint:
    """Create Acme's endpoint at the receiver, for all events."""
    return add_endpoint(organization=organization, url=receiver.url)[0]
