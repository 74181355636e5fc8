"""API keys: their format, and which may be live.

A key is `pb_<key id>_<secret><checksum>` (docs/interface.md, K3).

Past a client's limit of failed keys (G34), only keys in the list of live keys are looked up, so that an unknown one is
refused without a query. The look-up still decides: the database refuses a key that was revoked after the list was
loaded. A key that was issued after that is refused until the list is loaded again, and only from such a client.
"""

import hashlib
import logging
import re
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import Error

from organizations.defaults import BASE62, random_base62

logger = logging.getLogger(__name__)

KEY_PATTERN = re.compile(r"(pb_([0-9A-Za-z]{12})_([0-9A-Za-z]{32}))([0-9A-Za-z]{6})")
REFRESH_SECONDS = 5
# With many keys the list is loaded less often: loading takes at most a hundredth of a process's time, until the pause
# between two loads reaches a minute.
REFRESH_LOAD_TIMES = 100
MAX_REFRESH_SECONDS = 60


@dataclass(frozen=True)
class ParsedApiKey:
    key_id: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        body = f"pb_{self.key_id}_{self.secret}"
        return body + checksum(body)

    @property
    def secret_hash(self) -> bytes:
        # The secret has 190 random bits, so a slow password hash would add nothing.
        return hashlib.sha256(self.secret.encode()).digest()


def new_key() -> ParsedApiKey:
    return ParsedApiKey(key_id=random_base62(12), secret=random_base62(32))


def parse_key(text: str) -> ParsedApiKey | None:
    """Return the key's parts, or None if the text is malformed or its checksum is wrong."""
    # The checksum catches typing errors and random guesses before they cost a query.
    match = KEY_PATTERN.fullmatch(text)
    if match is None or checksum(match[1]) != match[4]:
        return None
    return ParsedApiKey(key_id=match[2], secret=match[3])


def checksum(body: str) -> str:
    value = zlib.crc32(body.encode())
    digits = ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        digits = BASE62[digit] + digits
    return digits


class LiveKeys:
    def __init__(self, load: Callable[[], frozenset[bytes]]) -> None:
        self.load = load
        self.lock = threading.Lock()
        self.clear()

    @staticmethod
    def entry(key_id: str, secret_hash: bytes) -> bytes:
        # With both, so that neither another key's id nor another key's secret gets a guess into the list.
        return key_id.encode() + secret_hash

    def clear(self) -> None:
        self.entries: frozenset[bytes] | None = None
        self.next_load_at = 0.0

    def may_contain(self, key: ParsedApiKey) -> bool:
        """Return False if the key was not live when the list was last loaded; True also if it can't be loaded."""
        # Python hashes bytes with a random secret of the process, so the response time reveals no part of an entry.
        entry = self.entry(key.key_id, key.secret_hash)
        if self.entries is None or entry not in self.entries:
            self.refresh()
        entries = self.entries
        return entries is None or entry in entries

    def refresh(self) -> None:
        """Load the list if it is due. One thread loads; the others use the old list, or wait for the first one."""
        if time.monotonic() < self.next_load_at or not self.lock.acquire(blocking=self.entries is None):
            return
        try:
            started_at = time.monotonic()
            if started_at < self.next_load_at:
                return
            try:
                self.entries = self.load()
            except Error as error:
                # An old list would refuse new keys for as long as the error lasts.
                self.entries = None
                logger.warning("The list of live API keys could not be loaded (%s)", type(error).__name__)
            finished_at = time.monotonic()
            pause = max(REFRESH_SECONDS, REFRESH_LOAD_TIMES * (finished_at - started_at))
            self.next_load_at = finished_at + min(pause, MAX_REFRESH_SECONDS)
        finally:
            self.lock.release()
