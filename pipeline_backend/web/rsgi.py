"""Adapter between Granian's interface (RSGI) and the WSGI application.

Only a complete request occupies a thread, and a large response is written to a temporary file before it is sent.
With plain WSGI, four clients that announce a body and stall would stop a process (docs/decisions/0005).
"""

import asyncio
import io
import logging
import signal
from collections.abc import Callable, Iterable
from threading import Event, Thread
from typing import Any
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from django.core.signals import request_started
from django.db import close_old_connections, connection
from granian.rsgi import HTTPProtocol, ProtocolClosed, ProtocolError, Scope

from pipeline_backend.wsgi import application

# isort: split
# Importable only after django.setup(), which `wsgi` has called.
from foundation.api import page_queries
from foundation.api.request_owner import PERSON
from pipeline_backend.web import responses, turns
from pipeline_backend.web.credentials import KnownCredentials, PageCounter
from pipeline_backend.web.metrics import count_refusal
from pipeline_backend.web.request_bodies import (
    BodyMemory,
    body_limit,
    body_of,
    seconds_to_read,
    should_read_body,
    takes_body,
)
from pipeline_backend.web.requests import Refusal, Request
from pipeline_backend.web.warm_up import warm_up

logger = logging.getLogger(__name__)

WARM_UP_SECONDS = 5  # for which a new process waits with its first request
# The second argument is WSGI's start_response; none of our responses uses the `write` function that it should return.
Application = Callable[[WSGIEnvironment, Any], Iterable[bytes]]


class RsgiApplication:
    """Runs a WSGI application in a few threads per worker process; `turns` decides which request is next."""

    def __init__(self, wsgi_application: Application, warm_up: Callable[[], None] = lambda: None) -> None:
        self.wsgi_application = wsgi_application
        self.warm_up = warm_up
        self.response_files = responses.ResponseFiles()
        self.turns = turns.Turns[Request](settings.WEB_THREADS, self.give_up)
        # Used in the event loop only, so they need no lock.
        self.body_memory = BodyMemory()
        self.credentials = KnownCredentials()
        self.anonymous_pages = PageCounter()
        self.is_draining = False

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads, and warm up one of them. Granian calls this once in each process, before its requests."""
        if settings.DRAIN_SECONDS:
            loop.add_signal_handler(signal.SIGTERM, self.drain, loop)  # replaces Granian's
        # A connection that has become old ends after a request, not before the first one that follows a pause.
        request_started.disconnect(close_old_connections)
        page_queries.is_busy = self.turns.is_busy
        takes_body("POST", "/")  # imports the URL configuration, which would stop the event loop later
        # Not a ThreadPoolExecutor: its futures would double the cost of this adapter.
        for number in range(1, settings.WEB_THREADS):
            Thread(target=self._worker, name=f"web-{number}", daemon=True).start()
        # The thread that was last in use gets the next request, so this one gets the first.
        is_warm = Event()
        Thread(target=self._warm_worker, args=(is_warm,), name="web-0", daemon=True).start()
        is_warm.wait(WARM_UP_SECONDS)

    def drain(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stop, but first let the proxy choose another web server, and give up its connections to this one.

        Granian closes idle connections when it stops, and a proxy may be sending a request on one at that moment.
        """
        self.is_draining = True
        loop.call_later(settings.DRAIN_SECONDS, signal.raise_signal, signal.SIGINT)  # which Granian handles

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        request = Request(scope, protocol, is_last=self.is_draining)
        if request.path == "/livez" or (self.is_draining and request.path == "/readyz"):
            responses.send_refusal(request, responses.STOPPING if self.is_draining else responses.LIVE)
            return
        refusal: Refusal | None = responses.TOO_MANY_BODIES
        try:
            refusal = responses.refuse_header(request) or await self.read_body(request) or self.queue(request)
        finally:
            if refusal:
                self.body_memory.release(request.body)
        refusal = refusal or await request.responded
        if refusal:
            count_refusal(scope.method, refusal[0])
            responses.send_refusal(request, refusal)

    async def read_body(self, request: Request) -> Refusal | None:
        """Read the body if the request's route takes one; return a refusal if it does not arrive, or is one too many.

        Of a chunked body, whose size isn't announced, this reads just past the limit: the parser then refuses it. Forms
        must have a size, because Granian doesn't tell the end of such a body from a disconnect. JSON that is cut off is
        refused by its parser.
        """
        body, announced = bytearray(), request.environ.get("CONTENT_LENGTH", "")
        limit = body_limit(request.environ, request.path)
        if request.is_page and "HTTP_TRANSFER_ENCODING" in request.environ:
            request.has_unread_body = True
            return responses.LENGTH_REQUIRED
        if should_read_body(request.environ, request.path):
            turn = self.credentials.find(request.credential, request.environ, request.client, is_page=request.is_page)
            request.body = body_of(turn, request.client)
            try:
                async with asyncio.timeout(seconds_to_read(limit)) as self.body_memory.reading[request.body]:
                    async for chunk in request.protocol:
                        if not self.body_memory.reserve(request.body, len(chunk)):
                            return responses.TOO_MANY_FORMS if request.is_page else responses.TOO_MANY_BODIES
                        body += chunk
                        if request.body.size > limit:
                            break
            except (TimeoutError, ProtocolClosed, ProtocolError):
                return responses.FORM_TIMEOUT if request.is_page else responses.REQUEST_TIMEOUT
            finally:
                is_given_up = self.body_memory.reading.pop(request.body, None) is None
            # It may have arrived just then. And Granian ends the loop without an error if the client disconnects.
            if is_given_up or (announced.isdecimal() and request.body.size < int(announced)):
                return responses.FORM_TIMEOUT if request.is_page else responses.REQUEST_TIMEOUT
            request.environ["CONTENT_LENGTH"] = str(request.body.size)
            request.has_unread_body = request.body.size > limit
        request.environ["wsgi.input"] = io.BytesIO(body)
        return None

    def queue(self, request: Request) -> Refusal | None:
        request.turn = self.credentials.find(
            request.credential, request.environ, request.client, is_page=request.is_page
        )
        if request.is_page:
            retry_after = self.anonymous_pages.retry_after(request.turn.client)
            if retry_after:
                return responses.too_many_anonymous_pages(retry_after)
        reason = self.turns.put(request.turn, request)
        return responses.turn_refusal(reason) if reason else None

    def give_up(self, request: Request) -> None:
        """Refuse a waiting page, which gives way to another one. The event loop calls this, by `put`."""
        self.body_memory.release(request.body)
        if not request.responded.done():
            request.responded.set_result(responses.turn_refusal(turns.Refusal.TOO_MANY_PAGES))

    def finish(self, request: Request) -> None:
        """End a request to which a thread has responded."""
        # Not before: a client may disconnect while its request, with its body, is still in the queue.
        self.body_memory.release(request.body)
        if not request.responded.done():  # a server that stops cancels it
            request.responded.set_result(None)
        self.credentials.learn(request.credential, request.environ, request.status)
        if request.is_page and PERSON not in request.environ:
            # Its session may have ended with this request: then it belongs to its browser or address again.
            turn = self.credentials.find(request.credential, request.environ, request.client, is_page=True)
            self.anonymous_pages.add(turn.client)

    def _warm_worker(self, is_warm: Event) -> None:
        self.warm_up()
        is_warm.set()
        self._worker()

    def _worker(self) -> None:
        while True:
            self.serve(self.turns.get())

    def serve(self, request: Request) -> None:
        had_connection = connection.connection is not None
        try:
            self.respond(request)
        # No error may end this thread, because nothing starts another one in its place.
        except Exception:
            logger.exception("could not respond to a request")
        self.turns.finish(request.turn)
        request.loop.call_soon_threadsafe(self.finish, request)
        # Django ends a connection that is old. The next request, perhaps after a pause, finds one that is ready.
        if had_connection and connection.connection is None:
            self.warm_up()

    def respond(self, request: Request) -> None:
        start: list[Any] = []
        chunks = self.wsgi_application(request.environ, lambda *arguments: start.extend(arguments))
        try:
            request.status, headers = int(start[0][:3]), [*start[1], *request.connection]
            body = None if getattr(chunks, "streaming", False) else b"".join(chunks)
            if body is None or len(body) > responses.RESPONSE_MEMORY:
                self.response_files.send(request, headers, chunks if body is None else [body])
            else:
                request.protocol.response_bytes(request.status, headers, body)
        finally:
            # WSGI requires this; Django ends the request (signals, database connections) in it.
            getattr(chunks, "close", tuple)()


server = RsgiApplication(application, warm_up)
