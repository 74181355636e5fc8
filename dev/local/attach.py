"""Lets manage.py use the local instance of this checkout, the one that `make run` starts, without any configuration.

It does nothing if the environment has one of the required settings, as in production, or if there is no instance of
the same user. Images have no `.data`.
"""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

from dev.local import StartupError, files

REQUIRED = ["SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "DATABASE_URL", "REDIS_URL"]


def use_local_instance(root: Path, stack: ExitStack) -> None:
    """Set the settings of the local instance in `os.environ`, and say so on standard error.

    If it doesn't run, start its servers; `stack` stops them. Raises StartupError if that isn't possible.
    """
    data = root / ".data"
    demo = data / "demo.json"
    is_own = (data / "secrets.json").exists() and demo.exists() and demo.stat().st_uid == os.geteuid()
    if any(name in os.environ for name in REQUIRED) or not is_own:
        return
    # Not at the top: it needs packages that a server doesn't have.
    from dev.local import environment  # noqa: PLC0415

    lock = files.lock(data / "lock")
    if lock is None:
        text = files.read_if_exists(data / environment.RUNNING)
        if not text:
            raise StartupError("The local instance is just starting or stopping, or another command uses it; try again")
        variables, state = json.loads(text), "running"
    else:
        os.close(lock)  # taken again, with the process's id in it
        variables, state = start_stopped(data, stack), "stopped, its servers were started for this command"
    for name, value in variables.items():
        os.environ.setdefault(name, value)
    os.environ["DJANGO_SETTINGS_MODULE"] = environment.SETTINGS_MODULE  # manage.py has set the server's
    print(f"Using the local instance in {data} ({state})", file=sys.stderr)


def start_stopped(data: Path, stack: ExitStack) -> dict[str, str]:
    """Start the servers of a stopped instance and return its settings. Raises StartupError if it has none."""
    from dev.local import environment, process_group, run  # noqa: PLC0415 - as above

    if not all((data / name).exists() for name, _ in environment.SERVERS.values()):
        raise StartupError("The local instance uses other servers; start it with make run, then repeat the command")
    run.lock_data(data, stack)
    process_group.stop_leftovers(data)
    addresses, _ = environment.start_servers(data, ephemeral=False, stack=stack)
    return {**environment.defaults_for_run(data, run.read_port()), **addresses}
