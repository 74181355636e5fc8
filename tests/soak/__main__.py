"""python -m tests.soak [<seconds>]: run the whole service under mixed load and faults, and print a report.

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


def main(seconds: float) -> int:
    """Run the soak test on a database of its own, which is deleted afterwards, and return the exit code."""
    # These import models, which needs django.setup().
    from tests.faults.fast_receiver import FastReceiver  # noqa: PLC0415
    from tests.faults.stack import Stack  # noqa: PLC0415
    from tests.soak.report import find_failures, render_report  # noqa: PLC0415
    from tests.soak.soak import run_soak  # noqa: PLC0415

    settings.WEBHOOKS_ALLOW_PRIVATE = True
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, serialize=False)
    logs = io.StringIO()
    try:
        # On exit, the stack prints the ends of its logs, which are of interest only after a failure.
        with (
            redirect_stdout(logs),
            tempfile.TemporaryDirectory() as folder,
            Stack(Path(folder)) as stack,
            FastReceiver(Path(folder)) as inbox,
        ):
            result = run_soak(stack, inbox, seconds=seconds)
            report, failures = render_report(result, inbox), find_failures(result, inbox)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    print(f"{logs.getvalue()}\n{report}" if failures else report)  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    django.setup()
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SECONDS))
