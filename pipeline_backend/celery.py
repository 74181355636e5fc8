"""The Celery app. Messages carry ids and results are not kept: the state of every job is in its row."""

import os
from logging.config import dictConfig
from typing import TYPE_CHECKING, Any

from celery import Celery, bootsteps
from celery.beat import EmbeddedService, Scheduler
from celery.signals import setup_logging
from kombu import Exchange, Queue
from kombu.transport.redis import Transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")
# A worker would import all pages to check them; commands that deploy, such as migrate, do.
os.environ.setdefault("CELERY_SKIP_CHECKS", "yes")

from django.conf import settings  # needs the variable above

from foundation.metrics import tasks  # noqa: F401  # counts tasks
from foundation.metrics.exposition import start_server
from pipeline_backend.env import load_settings

if TYPE_CHECKING:
    from foundation.outbox import Dispatcher

load_settings()

SOCKET_SECONDS = 5  # no request waits for it: messages are published by a thread
# How often each worker sends each of these tasks, in seconds.
SCHEDULE = {
    "appointments.refresh_touch_points": 60,
    "appointments.remind_leads": 60,
    "appointments.store_days": 300,
    "appointments.store_first_bookings": 60,
    "leads.run_imports": 30,
    "leads.search_duplicates": 120,
    "webhooks.send_endpoint_digest": 600,
    "leads.prune": 3600,
    "webhooks.prune": 3600,
    "organizations.prune": 3600,
}

# When the connection to Redis is lost, kombu 5.7 can raise an AttributeError while it puts messages back. Listed as a
# connection error it makes the worker reconnect; otherwise the worker would stop (test_redis_unavailable.py).
Transport.connection_errors = (*Transport.connection_errors, AttributeError)
app = Celery("pipeline_backend")
app.conf.update(
    broker_url=settings.REDIS_URL,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # Without this a Redis that is read-only, full or without its replicas would stop the worker.
    broker_channel_error_retry=True,
    broker_transport_options={
        "visibility_timeout": 300,
        "socket_connect_timeout": SOCKET_SECONDS,
        "socket_timeout": SOCKET_SECONDS,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
    },
    # A worker takes tasks from both, unless -Q names one. It runs few imports at once (leads.tasks).
    task_queues=[Queue(name, Exchange(name), routing_key=name) for name in ("celery", "imports")],
    task_default_queue="celery",
    task_routes={"leads.run_imports": {"queue": "imports"}},
    task_publish_retry=False,
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    timezone="UTC",
    beat_schedule={
        # After ten rounds in the queue a message has been replaced by newer ones, so it expires.
        task: {"task": task, "schedule": seconds, "options": {"expires": 10 * seconds}}
        for task, seconds in SCHEDULE.items()
    },
)
app.autodiscover_tasks(["webhooks", "leads", "appointments", "pipeline_backend"])


@setup_logging.connect
def configure_logging(**_: object) -> None:
    dictConfig(settings.LOGGING)


class DispatcherStep(bootsteps.StartStopStep):
    """Runs the outbox's dispatcher in each worker. It doesn't need Redis, and starts before the worker connects to it.

    Celery calls `start` of what `create` returns; on SIGTERM `close`, then `stop`; on SIGQUIT `stop`.
    """

    # A pool of processes forks when it starts, and must not copy the dispatcher's thread.
    requires = ("celery.worker.components:Pool",)

    def create(self, worker: object) -> "Dispatcher":  # type: ignore[override]  # the stubs know of steps without one
        from foundation.outbox import Dispatcher, load_queues  # noqa: PLC0415  # needs the apps to be loaded

        return Dispatcher(load_queues())

    def close(self, worker: object) -> None:
        """Let jobs that are being sent finish, and claim no more."""
        self.obj.close()


class MetricsStep(bootsteps.StartStopStep):
    """Lets Prometheus scrape this worker (docs/metrics.md)."""

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: object) -> None:
        start_server()


class BeatStep(bootsteps.StartStopStep):
    """Starts the periodic tasks, in a thread: as a process of its own, beat would take 100 MB. Several do no harm."""

    requires = ("celery.worker.components:Pool",)

    def create(self, worker: Any) -> Any:  # noqa: ANN401  # as in Celery
        return EmbeddedService(worker.app, thread=True, scheduler_cls=Scheduler)

    def stop(self, parent: object) -> None:
        # Does not wait for the thread, which may wait for Redis.
        self.obj.service.stop()

    terminate = stop


app.steps["worker"].add(BeatStep)
app.steps["worker"].add(DispatcherStep)
app.steps["worker"].add(MetricsStep)
