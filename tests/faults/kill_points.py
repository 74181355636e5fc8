"""The points at which a worker can be made to kill itself."""

import os
import signal
import threading
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q

from pipeline_backend.celery import app
from pipeline_backend.egress import client
from pipeline_backend.outbox import group_runner, queue, results
from webhooks.queue import DELIVERIES

POISON = b"poison"


def crash() -> None:
    """Do what the kernel does to a process that uses too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def before_claim_commits() -> None:
    """Crash when the rows are leased and the transaction is still open."""
    queue.lease = then(queue.lease, crash)


def after_claim() -> None:
    """Crash when the lease is committed and nothing is sent."""
    queue.Queue.claim = then(queue.Queue.claim, crash)


def during_request() -> None:
    """Crash when half of the third request is sent."""
    crash_at_third_request(share=0.5)


def before_response() -> None:
    """Crash when the third request is sent and its response is not read."""
    crash_at_third_request(share=1)


def crash_at_third_request(share: float) -> None:
    """Replace the third request by its head, a share of its body, and a crash."""
    post, is_third = client.EndpointClient.post, nth_call(3)

    async def post_or_crash(
        endpoint_client: client.EndpointClient, body: bytes, headers: dict[str, str]
    ) -> client.SendResult:
        if is_third():
            url = urlsplit(endpoint_client.url)
            connection = HTTPConnection(url.netloc)
            connection.request(
                "POST", url.path, body[: int(len(body) * share)], headers | {"Content-Length": len(body)}
            )
            crash()
        return await post(endpoint_client, body, headers)

    client.EndpointClient.post = post_or_crash


def after_response() -> None:
    """Crash when the third response is read and its result is not stored."""
    save_result, is_third = group_runner.GroupRunner.save_result, nth_call(3)

    async def save_or_crash(*arguments: Any) -> bool:
        if is_third():
            crash()
        return await save_result(*arguments)

    group_runner.GroupRunner.save_result = save_or_crash


def before_result_commits() -> None:
    """Crash when the third result is stored and the transaction is still open."""
    save_results, is_third = results.save_results, nth_call(3)

    def save_and_crash(*arguments: Any) -> set[Any]:
        with transaction.atomic():
            saved = save_results(*arguments)
            if is_third():
                crash()
        return saved

    results.save_results = save_and_crash


def on_poison() -> None:
    """Crash whenever the event with the poisonous body is sent."""
    post = client.EndpointClient.post

    async def post_or_crash(
        endpoint_client: client.EndpointClient, body: bytes, headers: dict[str, str]
    ) -> client.SendResult:
        if POISON in body:
            crash()
        return await post(endpoint_client, body, headers)

    client.EndpointClient.post = post_or_crash


def with_stuck_pool() -> None:
    """Let every task that a message starts hang forever. The worker lives, but all of its threads are busy."""
    hang = threading.Event().wait
    app.loader.import_default_modules()
    for name in ("webhooks.deliver_due", "notifications.deliver_due"):
        app.tasks[name].run = lambda *_: hang()


SINGLE_CRASHES = [
    before_claim_commits,
    after_claim,
    during_request,
    before_response,
    after_response,
    before_result_commits,
]
KILL_POINTS = {install.__name__: install for install in (*SINGLE_CRASHES, on_poison, with_stuck_pool)}


def nth_call(number: int) -> Callable[[], bool]:
    """Return a function that is True at its nth call only."""
    calls = 0

    def is_reached() -> bool:
        nonlocal calls
        calls += 1
        return calls == number

    return is_reached


def then(function: Callable[..., Any], action: Callable[[], object]) -> Callable[..., Any]:
    """Return the function with an action after it, unless it returned something empty."""

    def wrapper(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        if result or result is None:
            action()
        return result

    return wrapper


def serve_only(path: str) -> None:
    """Hide all endpoints from this worker but those whose URL ends with the path."""
    object.__setattr__(DELIVERIES, "enabled", DELIVERIES.enabled & Q(url__endswith=path))


def restart_after_each_crash() -> None:
    """Go on in a child process; the parent starts another one whenever it dies."""
    while child := os.fork():
        os.waitpid(child, 0)


def install(kill_point: str, *path: str) -> None:
    """Install the kill point in this process."""
    KILL_POINTS[kill_point]()
    if path:
        serve_only(*path)
    if kill_point == "on_poison":
        restart_after_each_crash()
