"""Private files, and locks on files."""

import os
from pathlib import Path

from foundation.metrics.shared import lock as lock


def read_if_exists(path: Path) -> str | None:
    """Return the content of a file without surrounding white space, or None if it can't be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return None


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, completely or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    # Created with its final mode: with a chmod afterwards, others could open it in between.
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)
