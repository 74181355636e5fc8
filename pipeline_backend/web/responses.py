"""Sends responses: short ones from memory, others from temporary files, which Granian reads at the client's pace."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from threading import Lock

import orjson
from django.conf import settings
from granian.rsgi import HTTPProtocol

from foundation.api.client_address import network_of
from foundation.api.exceptions import RETRY_AFTER_SECONDS, UNAVAILABLE
from foundation.api.request_owner import ORGANIZATION, PERSON
from foundation.metrics.definitions import LIMITS_EXCEEDED
from pipeline_backend.web import turns
from pipeline_backend.web.requests import Headers, Refusal, Request

RESPONSE_MEMORY = 1024 * 1024  # a longer response is written to a file
FILE_SECONDS = 5  # for which such a file is kept for Granian to open it, which takes milliseconds


def json_error(message: str) -> bytes:
    return orjson.dumps({"status": "error", "message": message})


NOT_STORED = ("cache-control", "no-store")
JSON: Headers = [("content-type", "application/json"), NOT_STORED, ("vary", "x-api-key")]
PLAIN_TEXT: Headers = [("content-type", "text/plain; charset=utf-8"), NOT_STORED]
RETRY: Headers = [("retry-after", str(RETRY_AFTER_SECONDS))]
REQUEST_TIMEOUT: Refusal = (408, JSON, json_error("The request body did not arrive in time"))
TOO_MANY_BODIES: Refusal = (503, JSON + RETRY, json_error(UNAVAILABLE))
TOO_MANY_PAGES = b"Too many pages are waiting. Reload this one in a few seconds."
TURN_REFUSALS: dict[turns.Refusal, Refusal] = {
    turns.Refusal.TOO_MANY_PAGES: (503, PLAIN_TEXT + RETRY, TOO_MANY_PAGES),
    turns.Refusal.TOO_MANY_REQUESTS: (429, [*JSON, ("retry-after", "1")], json_error("Too many requests at once")),
}
TOO_MANY_ANONYMOUS_PAGES = b"Too many pages were requested from your browser or network. Wait a minute, then try again."
# Of one header, or of all with its name. Both of these are parsed in Python, piece by piece. Browsers send fewer than
# 100 bytes; a boundary has at most 70.
HEADER_BYTES = {"CONTENT_TYPE": 256, "HTTP_ACCEPT_ENCODING": 512}
OTHER_HEADER_BYTES = 8192  # browsers cut Referer at 4,096, and nginx refuses longer lines, too
LONG_HEADER: Refusal = (
    431,
    JSON,
    json_error(
        "A header is too long: Content-Type may have 256 bytes, Accept-Encoding 512 and every other header 8,192"
    ),
)
LONG_HEADER_OF_PAGE: Refusal = (
    431,
    PLAIN_TEXT,
    b"Your browser has sent a header that is too long. Delete the cookies of this site, then try again.",
)
MANY_FILES = "Too many large responses are being sent to you at once. Read them to the end, then try again."
TOO_MANY_FILES: Refusal = (503, JSON + RETRY, json_error(MANY_FILES))
TOO_MANY_FILES_OF_PAGES: Refusal = (503, PLAIN_TEXT + RETRY, MANY_FILES.encode())


def turn_refusal(reason: turns.Refusal) -> Refusal:
    LIMITS_EXCEEDED.labels(reason.value).inc()
    return TURN_REFUSALS[reason]


def refuse_long_header(request: Request) -> Refusal | None:
    """Refuse a header that is longer than any client sends it: parsing it could take milliseconds."""
    for key, value in request.environ.items():
        if key.startswith(("HTTP_", "CONTENT_")) and len(value) > HEADER_BYTES.get(key, OTHER_HEADER_BYTES):
            return LONG_HEADER if request.is_api else LONG_HEADER_OF_PAGE
    return None


def refuse(request: Request, refusal: Refusal) -> None:
    status, headers, body = refusal
    request.protocol.response_bytes(status, headers + request.connection, body)


class ResponseFiles:
    """Sends responses, and counts the bytes of the files that clients are still reading, for each group."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.sizes: dict[tuple[int, int], tuple[str, int]] = {}  # group and size, by the file's device and inode

    def send(self, request: Request, headers: Headers, chunks: Iterable[bytes]) -> None:
        """Send a response as soon as its last chunk is there; stop if the client goes away before.

        A long one is refused (503) if its group would have more on disk than it may. One of any size is always sent.
        """
        gone = asyncio.run_coroutine_threadsafe(wait_for_disconnect(request.protocol), request.loop)
        with SpooledTemporaryFile(max_size=RESPONSE_MEMORY) as file:
            try:
                for chunk in chunks:
                    if gone.done():
                        return
                    file.write(chunk)
            finally:
                gone.cancel()
            size = file.tell()
            file.seek(0)
            if not any(name.lower() == "content-length" for name, _ in headers):
                headers.append(("Content-Length", str(size)))
            if size <= RESPONSE_MEMORY:
                request.protocol.response_bytes(request.status, headers, file.read())
                return
            # Open as long as it counts: `file` is closed at the end of the block, and Granian opens its own later.
            descriptor = os.dup(file.fileno())
            if not self.add(descriptor, owner_of(request), size):
                os.close(descriptor)
                LIMITS_EXCEEDED.labels("large-responses").inc()
                request.status = 503
                refuse(request, TOO_MANY_FILES if request.is_api else TOO_MANY_FILES_OF_PAGES)
                return
        request.loop.call_soon_threadsafe(request.loop.call_later, FILE_SECONDS, os.close, descriptor)
        request.protocol.response_file(request.status, headers, f"/dev/fd/{descriptor}")

    def add(self, descriptor: int, group: str, size: int) -> bool:
        """Count a file. Return False, and don't count it, if the group's other files leave no room for it."""
        # Granian doesn't say when a response has ended. It closes its descriptor then, as when the client goes away.
        stat = os.fstat(descriptor)
        new = stat.st_dev, stat.st_ino  # perhaps those of a file that was closed meanwhile
        with self.lock:
            still_open = set(open_files()) - {new}
            self.sizes = {file: owner for file, owner in self.sizes.items() if file in still_open}
            used = sum(of_file for other, of_file in self.sizes.values() if other == group)
            if used and used + size > settings.RESPONSES_LIMIT_PER_GROUP:
                return False
            self.sizes[new] = (group, size)
            return True


def owner_of(request: Request) -> str:
    """Return the organization or person that a thread has found for the request, or else the client's network."""
    owners = (request.environ.get(name) for name in (ORGANIZATION, PERSON))
    return next(filter(None, owners), network_of(request.client))


def open_files() -> Iterator[tuple[int, int]]:
    """Yield device and inode of each open file of this process."""
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # closed meanwhile
            stat = os.fstat(int(name))
            yield stat.st_dev, stat.st_ino


async def wait_for_disconnect(protocol: HTTPProtocol) -> None:
    """Return when the client goes away; it does not return after the response."""
    await protocol.client_disconnect()
