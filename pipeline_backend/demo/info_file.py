"""The facts file: tells `make run` and others the demo's address, key and password; only its owner may read it."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    """What the file says; nothing, if there is none or it can't be understood."""
    try:
        facts = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def write(path: Path, facts: dict[str, Any]) -> None:
    """Put the facts there, whole or not at all, with mode 0600 from the first byte on."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(json.dumps(facts, indent=2) + "\n")
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
