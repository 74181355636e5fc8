"""Password hashing that never takes more than a few threads of a process.

A hash keeps a processor busy for some tenths of a second, on purpose, and anyone may ask for one by signing in. Without
a bound, a few dozen sign-ins at once would leave no processor time for the API.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher

# A hash takes less than this, so two people who sign in at the same time wait for each other; neither is refused.
SECONDS_TO_WAIT = 1.0

_slots = BoundedSemaphore(settings.PASSWORD_HASHES_AT_ONCE)


class PasswordHashingBusy(Exception):
    """Other requests of this process are hashing passwords; the client should try again in a few seconds."""


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Hold one of the process's slots for hashing.

    Raises PasswordHashingBusy if none becomes free in time.
    """
    if not _slots.acquire(timeout=SECONDS_TO_WAIT):
        raise PasswordHashingBusy
    try:
        yield
    finally:
        _slots.release()


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, with its name and its format, in at most `PASSWORD_HASHES_AT_ONCE` threads.

    Every use hashes: checking a password, setting one, and the check that Django makes for an account that doesn't
    exist. Each raises PasswordHashingBusy.
    """

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Return the encoded hash, after waiting for a free place to hash."""
        with hashing_slot():
            encoded: str = super().encode(password, salt, iterations)
        return encoded
