"""Receivers and endpoints."""

from collections.abc import Iterator
from typing import Any

import pytest

from organizations.models import Organization
from tests.receiver import Receiver
from webhooks.models import Endpoint
from webhooks.services import add_endpoint


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """A receiver that answers 204, on loopback, which the settings allow."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def endpoint(organization: Organization, receiver: Receiver) -> Endpoint:
    """Acme's endpoint at the receiver, for all events."""
    return add_endpoint(organization=organization, url=receiver.url)[0]
