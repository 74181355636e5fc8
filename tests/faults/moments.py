"""The moments at which a worker can be made to kill itself."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q

from pipeline_backend.celery import app
from pipeline_backend.egress import client
from pipeline_backend.outbox import group_runner, queue, results
from webhooks.queue import DELIVERIES

POISON = b"poison"


def die() -> None:
    """What the kernel does to a process that took too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def before_the_claim_commits() -> None:
    """The rows are leased, and the transaction is still open."""
    queue.lease = then(queue.lease, die)


def after_the_claim() -> None:
    """The lease is committed, and nothing is sent."""
    queue.Queue.claim = then(queue.Queue.claim, die)


def amid_the_request() -> None:
    """Half of the third request is on its way."""
    at_the_third_request(lambda wire, request: wire.transport.write(request[: len(request) // 2]))


def before_the_answer() -> None:
    """The third request is sent, and its answer is not read."""
    at_the_third_request(lambda wire, request: wire.transport.write(request))


def at_the_third_request(write: Callable[[client.HttpConnection, bytes], None]) -> None:
    """Send what is to be sent of it; it leaves at once."""
    ask, countdown = client.HttpConnection.ask, Countdown(3)

    async def ask_or_die(wire: client.HttpConnection, request: bytes) -> Any:
        if countdown.is_over():
            write(wire, request)
            die()
        return await ask(wire, request)

    client.HttpConnection.ask = ask_or_die


def after_the_answer() -> None:
    """The third answer is here, and its result is not written."""
    settle, countdown = group_runner.GroupRunner.settle, Countdown(3)

    async def settle_or_die(*arguments: Any) -> bool:
        if countdown.is_over():
            die()
        return await settle(*arguments)

    group_runner.GroupRunner.settle = settle_or_die


def before_the_result_commits() -> None:
    """The third result is written, and the transaction is still open."""
    write, countdown = results.save_results, Countdown(3)

    def write_and_die(*arguments: Any) -> set[Any]:
        with transaction.atomic():
            written = write(*arguments)
            if countdown.is_over():
                die()
        return written

    results.save_results = write_and_die


def at_the_poison() -> None:
    """One event's body kills whoever sends it."""
    post = client.EndpointClient.post

    async def post_or_die(line: client.EndpointClient, body: bytes, headers: dict[str, str]) -> client.SendResult:
        if POISON in body:
            die()
        return await post(line, body, headers)

    client.EndpointClient.post = post_or_die


def with_its_pool_stuck() -> None:
    """Whatever a message asks for never ends; no death, but connected for nothing."""
    hang = threading.Event().wait
    app.loader.import_default_modules()
    for name in ("webhooks.drain", "notifications.drain"):
        app.tasks[name].run = lambda *_: hang()


KILLS = [
    before_the_claim_commits,
    after_the_claim,
    amid_the_request,
    before_the_answer,
    after_the_answer,
    before_the_result_commits,
]
MOMENTS = {kill.__name__: kill for kill in (*KILLS, at_the_poison, with_its_pool_stuck)}


class Countdown:
    """True at the so-manieth call."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def is_over(self) -> bool:
        self.left -= 1
        return self.left == 0


def then(function: Callable[..., Any], act: Callable[[], object]) -> Callable[..., Any]:
    """The function, and something else after it if it gave or took anything."""

    def both(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        if result or result is None:
            act()
        return result

    return both


def look_only_at(path: str) -> None:
    """As if the others' endpoints were not there."""
    object.__setattr__(DELIVERIES, "open", DELIVERIES.open & Q(url__endswith=path))


def restart_after_each_death() -> None:
    """Go on in a child; the parent makes another one whenever it dies."""
    while child := os.fork():
        os.waitpid(child, 0)


def prepare(moment: str, *path: str) -> None:
    """Arrange for the death of this process."""
    MOMENTS[moment]()
    if path:
        look_only_at(*path)
    if MOMENTS[moment] is at_the_poison:
        restart_after_each_death()
