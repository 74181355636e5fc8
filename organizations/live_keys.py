"""The API keys that may be live: lets us refuse unknown keys of a client past its limit without a query.

Past the limit of failed keys (docs/interface.md, G34), only keys in this list are looked up. The look-up still decides:
a key that was revoked after the list was loaded is refused by the database. A key that was issued after the list was
loaded is refused until the list is loaded again, and only from an address past its limit.
"""

import logging
import threading
import time
from collections.abc import Callable

from django.db import Error

from organizations.keys import ParsedApiKey

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 5
# With many keys the list is loaded less often: loading takes at most a hundredth of a process's time, until the pause
# between two loads reaches a minute.
REFRESH_LOAD_TIMES = 100
MAX_REFRESH_SECONDS = 60


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
