"""Lets the services act in the past."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from unittest import mock


@contextmanager
def fake_now(moment: datetime) -> Iterator[None]:
    """While it lasts, `moments.now` is this moment, for this process: only a command with one thread may do that."""
    with mock.patch("django.utils.timezone.now", return_value=moment):
        yield
