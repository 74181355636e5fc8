"""The clock of the demo: lets services write rows as of another time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from unittest import mock


@contextmanager
def fake_now(value: datetime) -> Iterator[None]:
    """Make `django.utils.timezone.now` return this time.

    The patch affects the whole process, so only a command with a single thread may use it.
    """
    with mock.patch("django.utils.timezone.now", return_value=value):
        yield
