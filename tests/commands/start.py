"""Load the settings many times in one process, each time with other variables: `python -m tests.commands.start`.

A process for each would cost half a second. Standard input is a JSON list of variables, standard output a list of what
`load_settings`, which every process of the service calls, writes to standard error before it exits; null if it doesn't.
"""

import json
import os
import subprocess
import sys
import traceback

from django.conf import settings
from django.utils.functional import empty

from pipeline_backend.env import load_settings

MODULE = "pipeline_backend.settings"


def start_all(cases: list[dict[str, str | None]]) -> list[str | None]:
    """Load the settings once with each case's variables; a variable of None is removed."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.commands.start"],
        cwd=settings.ROOT,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    errors: list[str | None] = json.loads(result.stdout)
    return errors


def start(variables: dict[str, str | None]) -> str | None:
    """Load the settings with these variables; return the error, or the traceback if it isn't one of ours."""
    before = dict(os.environb)
    for name, value in variables.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environb[name.encode()] = value.encode(errors="surrogateescape")
    try:
        load_settings()
    except SystemExit as end:
        return str(end.code)
    except Exception:
        return traceback.format_exc()
    finally:
        os.environb.clear()
        os.environb.update(before)
        # Of settings that were loaded; those that failed are not kept.
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{MODULE}.")]:
            del sys.modules[name]
        settings._wrapped = empty
    return None


if __name__ == "__main__":
    print(json.dumps([start(variables) for variables in json.load(sys.stdin)]))  # noqa: T201
