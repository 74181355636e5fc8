"""Receivers, endpoints, and a dispatcher in the test's process."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from organizations.models import Organization
from pipeline_backend.outbox import Dispatcher, shutdown_requested
from tests.receiver import Receiver
from webhooks.models import Endpoint
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """Start a receiver that responds with 204, on loopback, which the settings allow."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def dispatcher(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dispatcher]:
    """Start a worker's dispatcher in this process. It finds no jobs by polling, so it runs what it is notified of."""
    monkeypatch.setattr("pipeline_backend.outbox.dispatcher.POLL_INTERVAL", 0.1)
    monkeypatch.setattr(Dispatcher, "poll", lambda dispatcher: asyncio.sleep(0))
    dispatcher = Dispatcher([DELIVERIES])
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        shutdown_requested.set()
        dispatcher.stop()
        shutdown_requested.clear()


@pytest.fixture
def endpoint(organization: Organization, receiver: Receiver) -> Endpoint:
    """Create Acme's endpoint at the receiver, for all events."""
    return add_endpoint(organization=organization, url=receiver.url)[0]
