"""Receivers and endpoints."""

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
    """A receiver that answers 204, on loopback, which the settings allow."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def dispatcher(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dispatcher]:
    """A worker's courier in this process, that looks for nothing by itself."""
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
    """Acme's endpoint at the receiver, for all events."""
    return add_endpoint(organization=organization, url=receiver.url)[0]
