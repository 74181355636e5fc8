"""Private files and locks."""

import fcntl
import os
import secrets
from pathlib import Path


def kept(path: Path) -> str | None:
    """The text of a file, or None if there is none to read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def kept_password(path: Path) -> str:
    """The password in the file; a new one the first time."""
    password = kept(path) or secrets.token_hex(24)
    write_private(path, password)
    return password


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def tail(path: Path) -> str:
    return "\n".join((kept(path) or "").split("\n")[-8:])


def lock(path: Path) -> int | None:
    """Lock a file until this process ends or closes what is returned; None if another process holds it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file
