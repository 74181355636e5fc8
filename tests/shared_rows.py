"""Rows that are created once and that several tests start with."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.cache import caches
from django.db import transaction
from pytest_django import DjangoDbBlocker

from organizations.authentication import LIVE_KEYS


@contextmanager
def shared_rows(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Roll back at the end of the block, and let code in it use the database.

    A fixture of a wider scope creates rows in it and yields in `blocker.block()`: the transactions of the tests are
    savepoints then, so each starts with these rows and its changes are undone as ever. The rows must not be in use by
    tests with real transactions (`transactional_db`), which are for other files.
    """
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def clear_caches() -> None:
    """Empty what the service keeps outside of the database."""
    for name in ("default", "memory"):
        caches[name].clear()
    LIVE_KEYS.clear()
