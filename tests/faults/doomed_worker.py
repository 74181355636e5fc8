"""A worker that kills itself: python -m tests.faults.doomed_worker <moment> [<path>] -- <Celery's options>

`moment` is one of `moments.MOMENTS`. With a path, the worker looks at nothing but the endpoints whose URL ends so, which
lets several workers meet their ends side by side. `at_the_poison` is started again after each death, like a worker
under a supervisor.
"""

import sys
from importlib import import_module

import django

from pipeline_backend.celery import app


def main(words: list[str]) -> None:
    """Run the worker until its moment comes."""
    end = words.index("--")
    django.setup()
    import_module("tests.faults.moments").prepare(*words[:end])
    app.worker_main(words[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
