"""The middleware that measures requests and answers `/metrics`, and the queries for it."""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TypeVar

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error, connection, transaction
from django.db.models import Count, Min, Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from foundation.metrics.definitions import (
    REQUEST_DATABASE_SECONDS,
    REQUEST_REDIS_SECONDS,
    REQUEST_SECONDS,
    REQUESTS,
    request_times,
)
from foundation.metrics.exposition import CHALLENGE, CONTENT_TYPE, PATH, is_authorized, render
from foundation.outbox import FAST, SLOW, Queue, load_queues
from organizations.isolation import bypass_rls
from pipeline_backend.web.health import stale_groups
from webhooks.models import Endpoint

T = TypeVar("T")
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
NO_ROUTE = "-"  # static files, unknown addresses, and what is refused before a route is known
MAX_COUNT = 10_000  # of a queue's due jobs: counting more would take long when the database is busiest
MAX_SECONDS = 5  # for all queries of a scrape


def method_label(method: str | None) -> str:
    """Return the method; a client can send any word as one."""
    return method if method in METHODS else "other"


def count_refusal(method: str, status: int) -> None:
    """Count a request that the web server refuses before it reaches Django."""
    REQUESTS.labels(NO_ROUTE, method_label(method), status).inc()


def request_metrics(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that measures each request until its response is there, and answers `/metrics`.

    It is the first, so it answers before the host name is checked: Prometheus asks each web server by its own address,
    and the token is what protects the answer. A scrape is not counted.
    """
    if not settings.METRICS_TOKEN:
        raise MiddlewareNotUsed

    def measure(request: HttpRequest) -> HttpResponse:
        if request.path_info == PATH:
            return show_metrics(request)
        request_times.database = request_times.redis = 0.0
        started = perf_counter()
        # In front of the scope's wrapper, which sends a statement at its own end if there is a pooler.
        connection.execute_wrappers.insert(0, time_statement)
        try:
            response = get_response(request)
        finally:
            connection.execute_wrappers.remove(time_statement)
        match = request.resolver_match
        labels = match.route if match else NO_ROUTE, method_label(request.method)
        REQUESTS.labels(*labels, response.status_code).inc()
        REQUEST_SECONDS.labels(*labels).observe(perf_counter() - started)
        REQUEST_DATABASE_SECONDS.labels(*labels).inc(request_times.database)
        REQUEST_REDIS_SECONDS.labels(*labels).inc(request_times.redis)
        return response

    return measure


def time_statement(execute: Callable[..., T], sql: str, params: object, many: bool, context: dict[str, object]) -> T:
    started = perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        request_times.database += perf_counter() - started


def show_metrics(request: HttpRequest) -> HttpResponse:
    if not is_authorized(request.headers.get("Authorization", "")):
        return HttpResponse(status=401, headers={"WWW-Authenticate": CHALLENGE})
    return HttpResponse(render() + generate_latest(DatabaseCollector()), content_type=CONTENT_TYPE)


class DatabaseCollector(Collector):
    """Queries the backlog and failing endpoints, of all organizations together."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield whether all queries were answered, and what was answered before an error."""
        families: list[GaugeMetricFamily] = []
        is_complete = False
        try:
            # The whole transaction has a time limit: this thread has to serve requests.
            with bypass_rls(), transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL transaction_timeout = '{MAX_SECONDS}s'")
                for family in query_families():
                    families.append(family)  # noqa: PERF402  # keeps those before an error
            is_complete = True
        except Error:
            connection.close()  # PostgreSQL ends a connection whose transaction takes too long
        text = "Whether all queries of this scrape were answered."
        yield GaugeMetricFamily("pipeline_database_up", text, is_complete)
        yield from families


def query_families() -> Iterator[GaugeMetricFamily]:
    text = "Webhook endpoints by their state."
    endpoints = GaugeMetricFamily("pipeline_webhook_endpoints", text, labels=["state"])
    counts = Endpoint.unscoped.filter(organization__is_active=True, deleted_at=None).aggregate(
        working=Count("pk", filter=Q(is_active=True, failing_since=None)),
        failing=Count("pk", filter=Q(is_active=True, failing_since__isnull=False)),
        disabled=Count("pk", filter=Q(is_active=False)),
    )
    for state, number in counts.items():
        endpoints.add_metric([state], number)
    yield endpoints

    queues = load_queues()
    lanes = [(queue, lane) for queue in queues for lane in ((FAST,) if queue.slow == Queue.slow else (FAST, SLOW))]
    text = f"Jobs that a worker could claim now, at most {MAX_COUNT}."
    due_jobs = GaugeMetricFamily("pipeline_queue_due_jobs", text, labels=["queue", "lane"])
    for queue, lane in lanes:
        due_jobs.add_metric([queue.name, lane.name], queue.due_jobs(lane)[:MAX_COUNT].count())
    yield due_jobs

    text = "Whether jobs are overdue and no worker processes them."
    stalled = GaugeMetricFamily("pipeline_queue_stalled", text, labels=["queue"])
    for queue in queues:
        stalled.add_metric([queue.name], stale_groups(queue, settings.HEALTH_BACKLOG_SECONDS).exists())
    yield stalled

    # The last, because it reads all due jobs.
    text = "How long the oldest due job has been due."
    oldest = GaugeMetricFamily("pipeline_queue_oldest_due_seconds", text, labels=["queue", "lane"])
    for queue, lane in lanes:
        age = queue.due_jobs(lane).aggregate(age=Now() - Min("next_attempt_at"))["age"]
        oldest.add_metric([queue.name, lane.name], age.total_seconds() if age else 0)
    yield oldest
