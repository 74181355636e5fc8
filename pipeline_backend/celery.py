"""The Celery app and the beat table. Messages carry ids; results are not kept; the rows are the truth."""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, celeryd_init, setup_logging, worker_shutdown, worker_shutting_down

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")

from django.conf import settings  # the variable first

from pipeline_backend.kombu_patches import apply

WORKER_SOCKET_SECONDS = 5
SWEEP_SECONDS = 2
DIGEST_SECONDS = 600
PRUNE_SECONDS = 3600


def beat_entry(seconds: int, task: str) -> dict[str, object]:
    """A line of the beat table; what waited longer than a few rounds is not worth doing any more."""
    return {"task": task, "schedule": seconds, "options": {"expires": 10 * seconds}}


apply()
app = Celery("pipeline_backend")
app.conf.update(
    broker_url=settings.REDIS_URL,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_channel_error_retry=True,  # a Redis that is read-only, full or without its replicas would end the worker
    broker_transport_options={
        "visibility_timeout": 300,
        "socket_connect_timeout": settings.REDIS_SOCKET_SECONDS,
        "socket_timeout": settings.REDIS_SOCKET_SECONDS,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
    },
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
        "webhooks.sweep": beat_entry(SWEEP_SECONDS, "webhooks.sweep"),
        "notifications.sweep": beat_entry(SWEEP_SECONDS, "notifications.sweep"),
        "digest.send": beat_entry(DIGEST_SECONDS, "digest.send"),
        "webhooks.prune": beat_entry(PRUNE_SECONDS, "webhooks.prune"),
    },
)
app.autodiscover_tasks(["webhooks", "notifications"])
app.autodiscover_tasks(["pipeline_backend"], related_name="digest")


@setup_logging.connect
def configure_logging(**_: object) -> None:
    """Celery would replace the log's form by its own."""
    from logging.config import dictConfig  # noqa: PLC0415  # only in workers

    dictConfig(settings.LOGGING)


@celeryd_init.connect
def set_worker_timeouts(conf: Any, **_: object) -> None:
    """A worker has time to wait for Redis; whoever rings from a request has not."""
    conf.broker_transport_options["socket_timeout"] = WORKER_SOCKET_SECONDS


@celeryd_after_setup.connect
def start_dispatcher(**_: object) -> None:
    """Every worker looks for work itself, before it has ever reached Redis: neither Redis nor beat can lose any."""
    from notifications.tasks import QUEUES  # noqa: PLC0415  # only in workers, when apps are ready
    from pipeline_backend.outbox.dispatcher import Dispatcher  # noqa: PLC0415
    from webhooks.queue import DELIVERIES  # noqa: PLC0415

    Dispatcher([DELIVERIES, *QUEUES]).start()


@worker_shutting_down.connect
def request_shutdown(**_: object) -> None:
    """Finish what is under way, give the rest back."""
    from pipeline_backend.outbox.queue import shutdown_requested  # noqa: PLC0415

    shutdown_requested.set()


@worker_shutdown.connect
def stop_dispatcher(**_: object) -> None:
    """Wait for what is under way."""
    from pipeline_backend.outbox.dispatcher import running_dispatchers  # noqa: PLC0415

    for courier in list(running_dispatchers):
        courier.end()
