"""The JSON file that tells `make run` and other tools the demo's URL, API key and password."""

import json
import os
import tempfile
from pathlib import Path


def read(path: Path) -> dict[str, object]:
    """Return the file's content, or an empty dict if there is no file or it is not a JSON object."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write(path: Path, content: dict[str, object]) -> None:
    """Replace the file atomically. Only its owner can read it."""
    # mkstemp creates the file with mode 0600, so the secrets are never readable for others.
    descriptor, temporary_path = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(json.dumps(content, indent=2) + "\n")
        Path(temporary_path).replace(path)
    except BaseException:
        Path(temporary_path).unlink(missing_ok=True)
        raise
