"""Starts a worker: `python -m pipeline_backend.worker`, followed by any options of Celery's worker, which win.

`celery -A pipeline_backend.celery worker` starts the same worker. It takes 9 MB more, for a prompt that is not used.
"""

import sys

from celery.bin.base import CLIContext
from celery.bin.worker import worker

from pipeline_backend.celery import app

OPTIONS = ["--loglevel=info", "--pool=threads", "--concurrency=4", "--without-gossip", "--without-mingle"]


def main() -> None:
    context = CLIContext(app=app, no_color=False, workdir=None, quiet=True)
    worker.main([*OPTIONS, *sys.argv[1:]], prog_name="python -m pipeline_backend.worker", obj=context)


if __name__ == "__main__":
    main()
