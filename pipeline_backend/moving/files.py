"""The file of an organization: compressed and encrypted frames.

After the first line and a salt, each frame is its length and what AES-256-GCM makes of its kind and compressed content.
The frame's number and whether it is the last are part of its nonce (the STREAM construction), so a file that was cut,
changed, or whose frames were moved can't be read. The key is derived from the key file's and the salt.
"""

import os
import secrets
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, NamedTuple

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pipeline_backend.moving import Refused

FIRST_LINE = b"pipeline-backend organization, format 1\n"
SALT_BYTES = 16
MAX_FRAME = 1 << 30  # as long as a value in PostgreSQL can be
INFORMATION, ROWS, LAST = b"J", b"R", b"E"


class Frame(NamedTuple):
    """Rows as PostgreSQL's COPY writes them, or information (`value`) about those that follow or came before."""

    rows: bytes
    value: dict[str, Any]


def frame_cipher(key: bytes, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), 32, salt, b"an organization's file").derive(key))


def nonce(number: int, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class FileWriter:
    """Writes a file that only its owner can read, and that gets its name when it is complete.

    Raises Refused if there is such a file.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        if path.exists():
            raise Refused(f"{path} exists")
        self.path, self.temporary = path, path.with_name(f"{path.name}.incomplete")
        salt = secrets.token_bytes(SALT_BYTES)
        self.cipher, self.number = frame_cipher(key, salt), 0
        with suppress(FileNotFoundError):
            self.temporary.unlink()
        self.file: BinaryIO = create_private(self.temporary)
        self.file.write(FIRST_LINE + salt)

    def __enter__(self) -> "FileWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        with self.file:
            if kind is None:
                self.write(LAST, b"", is_last=True)
                self.file.flush()
                os.fsync(self.file.fileno())
        if kind is None:
            self.temporary.rename(self.path)
        else:
            self.temporary.unlink()

    def write(self, kind: bytes, content: bytes, *, is_last: bool = False) -> None:
        sealed = self.cipher.encrypt(nonce(self.number, is_last), kind + zlib.compress(content, 1), None)
        self.file.write(len(sealed).to_bytes(4, "big") + sealed)
        self.number += 1

    def write_rows(self, rows: bytes) -> None:
        self.write(ROWS, rows)

    def write_value(self, value: dict[str, Any]) -> None:
        self.write(INFORMATION, orjson.dumps(value))


def read_frames(path: Path, key: bytes) -> Iterator[Frame]:
    """Yield the file's frames. Raises Refused unless it is complete and was written with this key."""
    with path.open("rb") as file:
        if file.read(len(FIRST_LINE)) != FIRST_LINE:
            raise Refused(f"{path} is not a file of export_organization of this version")
        cipher, number, kind = frame_cipher(key, file.read(SALT_BYTES)), 0, b""
        while kind != LAST:
            content = unseal(cipher, file, number, path)
            kind, number = content[:1], number + 1
            text = zlib.decompress(content[1:])
            if kind != LAST:
                yield Frame(text, {}) if kind == ROWS else Frame(b"", orjson.loads(text))
        if file.read(1):
            raise Refused(f"{path} is damaged: it continues after its end")


def unseal(cipher: AESGCM, file: BinaryIO, number: int, path: Path) -> bytes:
    length = int.from_bytes(file.read(4), "big")
    sealed = file.read(length) if 0 < length < MAX_FRAME else b""
    for is_last in (False, True):
        with suppress(InvalidTag, ValueError):
            content = cipher.decrypt(nonce(number, is_last), sealed, None)
            if (content[:1] == LAST) == is_last:
                return content
    raise Refused(f"{path} can't be read: it has another key, is incomplete, or was changed")


def create_private(path: Path) -> BinaryIO:
    """Create a file that only its owner can read. Raises FileExistsError if there is one."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def read_key(path: Path, *, create: bool = False) -> bytes:
    """Return the key of a file with a Fernet key; with `create`, write a new one if there is no such file."""
    if create and not path.exists():
        with create_private(path) as file:
            file.write(Fernet.generate_key() + b"\n")
    try:
        key = path.read_bytes().strip()
        Fernet(key)
    except (OSError, ValueError) as error:
        raise Refused(f"{path} has no key: {error}") from None
    return key
