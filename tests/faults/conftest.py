"""The service as processes, and receivers for what it sends."""

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
    """Start Redis; tests start the processes that they need."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Stack(tmp_path) as stack:
        yield stack


@pytest.fixture
def short_lease_stack(stack: Stack) -> Stack:
    """Return a stack whose leases end after five seconds, so that a dead worker's jobs are soon due again."""
    stack.overrides |= {"DELIVERY_DEADLINE_SECONDS": 2, "DELIVERY_LEASE_SECONDS": 5}
    return stack


@pytest.fixture
def organization(stack: Stack) -> Organization:
    """Create Acme."""
    return make_organization("Acme")


@pytest.fixture
def api(organization: Organization) -> ApiClient:
    """Return a client of Acme. It runs in this process; requests to the web server take its `key`."""
    return make_api(organization)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Start a receiver in the test's process that responds with 204."""
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[FastReceiver]:
    """Start a receiver as a process of its own, for many events."""
    with FastReceiver(tmp_path) as inbox:
        yield inbox
