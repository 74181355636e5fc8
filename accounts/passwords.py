"""Password hashing that never takes more than a few threads of a process.

A hash keeps a processor busy for some tenths of a second, and anyone may ask for one by signing in. Strangers, whose
browser is not known for the account, have their own places, so that other people never wait for them. Their pages have
at most half of the threads for pages (docs/decisions/0008), so most of their sign-ins wait before they take a thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import BoundedSemaphore

from django.contrib.auth.hashers import PBKDF2PasswordHasher

# Of each kind, in a process: one keeps a processor busy, and the others are for the API.
PASSWORD_HASHES_AT_ONCE = 1
# Long enough for a dozen people who sign in at the same moment.
SECONDS_TO_WAIT = 5.0

_is_stranger: ContextVar[bool] = ContextVar("is_stranger", default=False)
_places = {is_stranger: BoundedSemaphore(PASSWORD_HASHES_AT_ONCE) for is_stranger in (False, True)}


class PasswordHashingBusy(Exception):
    """Other requests of this process are hashing passwords; the client should try again in a few seconds."""


@contextmanager
def hashing_for(*, stranger: bool) -> Iterator[None]:
    token = _is_stranger.set(stranger)
    try:
        yield
    finally:
        _is_stranger.reset(token)


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Hold a place for hashing, of the kind of `hashing_for`. Raises PasswordHashingBusy if none is free in time."""
    places = _places[_is_stranger.get()]
    if not places.acquire(timeout=SECONDS_TO_WAIT):
        raise PasswordHashingBusy
    try:
        yield
    finally:
        places.release()


class BoundedPBKDF2PasswordHasher(PBKDF2PasswordHasher):
    """Django's hasher, in at most PASSWORD_HASHES_AT_ONCE threads of each kind. May raise PasswordHashingBusy."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with hashing_slot():
            encoded: str = super().encode(password, salt, iterations)
        return encoded
