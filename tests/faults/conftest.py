"""The service as processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api, make_organization
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack
from tests.receiver import Receiver


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Stack]:
    """Nothing started yet but Redis."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Stack(tmp_path) as stack:
        yield stack


@pytest.fixture
def short_lease_stack(stack: Stack) -> Stack:
    """A stack in which a dead worker's lease ends after three seconds."""
    stack.settings |= {"DELIVERY_DEADLINE_SECONDS": "1", "DELIVERY_LEASE_SECONDS": "3"}
    return stack


@pytest.fixture
def organization(stack: Stack) -> Organization:
    """Acme."""
    return make_organization("Acme")


@pytest.fixture
def api(organization: Organization) -> ApiClient:
    """Acme's integrator; over the wire its `key` is what counts."""
    return make_api(organization)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that answers 204, in the test's process."""
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[FastReceiver]:
    """A receiver as a process of its own, for many events."""
    with FastReceiver(tmp_path) as inbox:
        yield inbox
