"""A worker that kills itself: python -m tests.faults.crashing_worker <kill point> [<path>] -- <Celery's options>

The kill point is one of `kill_points.KILL_POINTS`. With a path, the worker serves only endpoints whose URL ends with
it, so several workers can crash side by side. With `OnPoison` the worker is started again after each crash, as by a
supervisor.
"""

import sys
from importlib import import_module

import django

from pipeline_backend.celery import app


def main(arguments: list[str]) -> None:
    """Install the kill point and run the worker."""
    end = arguments.index("--")
    django.setup()
    import_module("tests.faults.kill_points").install(*arguments[:end])
    app.worker_main(arguments[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
