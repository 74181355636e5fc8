"""The form of an API key: `pb_<key id>_<secret><checksum>` (decision 10)."""

import hashlib
import re
import zlib
from dataclasses import dataclass, field

from organizations.defaults import BASE62, random_base62

KEY_PATTERN = re.compile(r"(pb_([0-9A-Za-z]{12})_([0-9A-Za-z]{32}))([0-9A-Za-z]{6})")


@dataclass(frozen=True)
class ParsedApiKey:
    """A well-formed key, in its parts."""

    key_id: str
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        """The whole key, as the integrator has it."""
        body = f"pb_{self.key_id}_{self.secret}"
        return body + checksum(body)

    @property
    def secret_hash(self) -> bytes:
        """What the database keeps. The secret has 190 random bits, so a slow hash would add nothing."""
        return hashlib.sha256(self.secret.encode()).digest()


def new_key() -> ParsedApiKey:
    """A key nobody has."""
    return ParsedApiKey(key_id=random_base62(12), secret=random_base62(32))


def parse_key(text: str) -> ParsedApiKey | None:
    """The key, or None for what cannot be one: a typing error costs no query."""
    match = KEY_PATTERN.fullmatch(text)
    if match is None or checksum(match[1]) != match[4]:
        return None
    return ParsedApiKey(key_id=match[2], secret=match[3])


def checksum(body: str) -> str:
    """CRC-32 in six base62 characters."""
    value = zlib.crc32(body.encode())
    digits = ""
    for _ in range(6):
        value, digit = divmod(value, 62)
        digits = BASE62[digit] + digits
    return digits
