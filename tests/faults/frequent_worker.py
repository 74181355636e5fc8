"""A worker that starts the periodic tasks every second: python -m tests.faults.frequent_worker <Celery's options>"""

import sys

from pipeline_backend.celery import app

if __name__ == "__main__":
    for entry in app.conf.beat_schedule.values():
        entry["schedule"] = 1
    app.worker_main(sys.argv[1:])
