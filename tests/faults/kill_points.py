"""The points at which a worker can be made to kill itself: queues of deliveries that differ in one step."""

import os
import signal
import threading
from http.client import HTTPConnection
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from foundation.egress.client import EndpointClient
from foundation.outbox import FAST, Lane, Result
from pipeline_backend.celery import app
from webhooks.models import Delivery, Endpoint
from webhooks.queue import WebhookQueue

POISON = "poison"


def crash() -> None:
    """Do what the kernel does to a process that uses too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


class BeforeClaimCommits(WebhookQueue):
    """Crashes when the rows are leased and the transaction is still open."""

    @transaction.atomic
    def claim(self, group_id: UUID | str, lane: Lane = FAST, lease: UUID | None = None) -> Any:
        if super().claim(group_id, lane, lease):
            crash()


class AfterClaim(WebhookQueue):
    """Crashes when the lease is committed and nothing is sent."""

    def claim(self, group_id: UUID | str, lane: Lane = FAST, lease: UUID | None = None) -> Any:
        if super().claim(group_id, lane, lease):
            crash()


class DuringRequest(WebhookQueue):
    """Crashes when half of the third request's body is sent."""

    share = 0.5
    numbers = count(1)

    async def send(self, client: EndpointClient, endpoint: Endpoint, delivery: Delivery) -> Result:
        if next(self.numbers) < 3:
            return await super().send(client, endpoint, delivery)
        url, body = urlsplit(endpoint.url), delivery.event.body
        headers = {"webhook-id": str(delivery.event_id), "content-length": str(len(body))}
        HTTPConnection(url.netloc).request("POST", url.path, body[: int(len(body) * self.share)], headers)
        crash()
        raise AssertionError


class BeforeResponse(DuringRequest):
    """Crashes when the third request is sent and its response is not read."""

    share = 1


class AfterResponse(WebhookQueue):
    """Crashes when the third response is read and its result is not stored."""

    numbers = count(1)

    async def send(self, client: EndpointClient, endpoint: Endpoint, delivery: Delivery) -> Result:
        result = await super().send(client, endpoint, delivery)
        if next(self.numbers) == 3:
            crash()
        return result


class BeforeResultCommits(WebhookQueue):
    """Crashes when the third result is stored and the transaction is still open."""

    numbers = count(1)

    @transaction.atomic
    def save_results(self, rows: list[dict[str, Any]], *, wait: bool) -> set[UUID]:
        saved = super().save_results(rows, wait=wait)
        if next(self.numbers) == 3:
            crash()
        return saved


class OnPoison(WebhookQueue):
    """Crashes whenever the event with the poisonous body is sent. The worker is started again after each crash."""

    async def send(self, client: EndpointClient, endpoint: Endpoint, delivery: Delivery) -> Result:
        if POISON in delivery.event.body:
            crash()
        return await super().send(client, endpoint, delivery)


class WithStuckPool(WebhookQueue):
    """Lets every task that a message starts hang forever. The worker lives, but all of its threads are busy."""

    def __init__(self) -> None:
        app.loader.import_default_modules()
        app.tasks["outbox.deliver_due"].run = lambda *_: threading.Event().wait()


SINGLE_CRASHES = [BeforeClaimCommits, AfterClaim, DuringRequest, BeforeResponse, AfterResponse, BeforeResultCommits]
KILL_POINTS = {queue.__name__: queue for queue in (*SINGLE_CRASHES, OnPoison, WithStuckPool)}
QUEUE: WebhookQueue  # the one that is installed


def install(kill_point: str, path: str = "") -> None:
    """Let this process's dispatcher use the queue; with a path, only for endpoints whose URL ends with it."""
    global QUEUE
    QUEUE = KILL_POINTS[kill_point]()
    if path:
        QUEUE.enabled &= Q(url__endswith=path)  # type: ignore[misc]  # for this queue only
    settings.OUTBOX_QUEUES = ["tests.faults.kill_points.QUEUE", *settings.OUTBOX_QUEUES[1:]]
    if isinstance(QUEUE, OnPoison):
        # Go on in a child process, and start another one whenever it dies.
        while child := os.fork():
            os.waitpid(child, 0)
