"""python -m tests.soak [<seconds> [<requests per second>]]: run the whole service under mixed load and faults.

It prints a line for each fault and then a report. Beside the faults of the suite's short run there are upgrades,
failovers of PostgreSQL and, if this process may mount a file system, a full disk.

The exit code is 0 if every guarantee held.
"""

import io
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import django
from django.conf import settings
from django.db import connection

DEFAULT_SECONDS = 600.0


def main(seconds: float, max_rate: float) -> int:
    """Run the soak test on a database of its own, which is deleted afterwards, and return the exit code."""
    # These import models, which needs django.setup().
    from tests.databases import connected_to  # noqa: PLC0415
    from tests.faults.fast_receiver import FastReceiver  # noqa: PLC0415
    from tests.soak.postgres import soak_pair  # noqa: PLC0415
    from tests.soak.report import find_failures, render_report  # noqa: PLC0415
    from tests.soak.soak import run_soak  # noqa: PLC0415
    from tests.soak.web_servers import SoakStack  # noqa: PLC0415

    settings.WEBHOOKS_ALLOW_PRIVATE = True
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, serialize=False)
    logs = io.StringIO()
    try:
        # On exit, the stack prints the ends of its logs, which are of interest only after a failure.
        with (
            redirect_stdout(logs),
            tempfile.TemporaryDirectory() as folder,
            soak_pair(Path(folder)) as pair,
            connected_to(pair.url),
            SoakStack(Path(folder)) as stack,
            FastReceiver(Path(folder)) as inbox,
        ):
            stack.settings["DRAIN_SECONDS"] = "2"
            faults = {"upgrades": stack.upgrade, "failovers": pair.fail_over}
            if pair.has_disks:
                faults["full disks"] = pair.fill_disk
            result = run_soak(stack, inbox, seconds=seconds, max_rate=max_rate, more_faults=faults)
            report, failures = render_report(result, inbox), find_failures(result, inbox)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    print(f"{logs.getvalue()}\n{report}" if failures else report)  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    django.setup()
    seconds, max_rate, *_ = [*map(float, sys.argv[1:]), *[DEFAULT_SECONDS, 0.0][len(sys.argv) - 1 :]]
    sys.exit(main(seconds, max_rate))
