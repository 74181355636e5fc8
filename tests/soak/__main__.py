"""python -m tests.soak [<seconds>]: the whole service under mixed load and faults; exit code 0 if every promise held."""

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
    """On a database of its own, which is gone afterwards."""
    from tests.faults.fast_receiver import FastReceiver  # noqa: PLC0415  # when Django is ready
    from tests.faults.stack import Stack  # noqa: PLC0415
    from tests.soak.report import failures, text  # noqa: PLC0415
    from tests.soak.soak import soak  # noqa: PLC0415

    settings.WEBHOOKS_ALLOW_PRIVATE = True
    name = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, serialize=False)
    logs = io.StringIO()
    try:
        with (
            redirect_stdout(logs),
            tempfile.TemporaryDirectory() as folder,
            Stack(Path(folder)) as stack,
            FastReceiver(Path(folder)) as inbox,
        ):
            outcome = soak(stack, inbox, seconds=seconds)
            found, broken = text(outcome, inbox), failures(outcome, inbox)
    finally:
        connection.creation.destroy_test_db(name, verbosity=0)
    print(f"{logs.getvalue()}\n{found}" if broken else found)  # noqa: T201
    return 1 if broken else 0


if __name__ == "__main__":
    django.setup()
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SECONDS))
