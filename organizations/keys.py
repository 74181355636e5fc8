"""The format of API keys: `pb_<key id>_<secret><checksum>` (docs/interface.md, K3)."""

import hashlib
import re
import zlib
from dataclasses import dataclass, field

from organizations.defaults import BASE62, random_base62

KEY_PATTERN = re.compile(r"(pb_([0-9A-Za-z]{12})_([0-9A-Za-z]{32}))([0-9A-Za-z]{6})")


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
