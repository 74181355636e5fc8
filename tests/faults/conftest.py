"""The service as processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.stack import Stack
from tests.receiver import Receiver


@pytest.fixture
def stack(transactional_db: None, tmp_path: Path) -> Iterator[Stack]:
    """Nothing started yet but Redis."""
    with Stack(tmp_path) as stack:
        yield stack


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that answers 204."""
    with Receiver() as receiver:
        yield receiver
