"""Is the service well: `/healthz` for alarms and workers, `/readyz` for load balancers and `make run`."""

from datetime import timedelta

from django.conf import settings
from django.db import Error, connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.http import HttpRequest, JsonResponse

from notifications.tasks import QUEUES as NOTIFICATION_QUEUES
from organizations.isolation import bypass_rls
from pipeline_backend.api.exceptions import RETRY_AFTER_SECONDS
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.queue import Queue
from webhooks.queue import DELIVERIES

DATABASE_UNAVAILABLE = "The database does not answer"
STALE_BACKLOG = "{what} have been due for more than {seconds} seconds, and no worker takes them up"
QUEUES: dict[str, list[Queue]] = {"Webhook deliveries": [DELIVERIES], "Notifications": NOTIFICATION_QUEUES}


def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers and workers take up what is due, whatever processes there are; 503, saying what is wrong, otherwise."""
    return health_response(health_error())


def readyz(request: HttpRequest) -> JsonResponse:
    """200 while this web server can serve: absent workers are no reason to send it no bookings."""
    return health_response(database_error())


def health_response(wrong: str) -> JsonResponse:
    """The sentence, if there is one."""
    if wrong:
        return JsonResponse(
            {"status": "error", "message": wrong}, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)}
        )
    return JsonResponse({"status": "ok"})


def health_error() -> str:
    """What is wrong with the service, in a sentence; empty if nothing is."""
    wrong = database_error()
    if wrong:
        return wrong
    with bypass_rls():  # the work of all organizations, of which no name is told
        waiting = " and ".join(
            what for what, queues in QUEUES.items() if any(has_stale_backlog(queue) for queue in queues)
        )
    return STALE_BACKLOG.format(what=waiting.capitalize(), seconds=settings.HEALTH_BACKLOG_SECONDS) if waiting else ""


def database_error() -> str:
    """That the database does not answer, if so."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return DATABASE_UNAVAILABLE
    return ""


def has_stale_backlog(queue: Queue) -> bool:
    """Whether something has been due for too long while no worker has anything of the same receiver in hand.

    A slow receiver makes its own events wait, which is no illness of ours: it is in hand, or in the slow lane.
    """
    jobs = queue.rows.filter(**{f"{queue.group}_id": OuterRef("pk")}, state=State.PENDING).order_by()
    late = jobs.filter(next_attempt_at__lt=Now() - timedelta(seconds=settings.HEALTH_BACKLOG_SECONDS))
    in_hand = jobs.filter(lease_token__isnull=False, next_attempt_at__gt=Now())
    found: bool = queue.groups(is_slow=False).filter(Exists(late), ~Exists(in_hand)).exists()
    return found
