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


# Of one header, or of all with its name. Both of these are parsed in Python, piece by piece. Browsers send fewer than
# 100 bytes; a boundary has at most 70.
HEADER_BYTES = {"CONTENT_TYPE": 256, "HTTP_ACCEPT_ENCODING": 512}
OTHER_HEADER_BYTES = 8192  # browsers cut Referer at 4,096, and nginx refuses longer lines, too
LONG_HEADER = "A header is too long: Content-Type may have 256 bytes, Accept-Encoding 512 and every other header 8,192"
LONG_PAGE_HEADER = "Your browser has sent a header that is too long. Delete the cookies of this site, then try again."
UNREADABLE_PAGE_HEADER = (
    "Your browser has sent a cookie that can't be read. Delete the cookies of this site, then try again."
)
TOO_MANY_FILES = "Too many large responses are being sent to you at once. Read them to the end, then try again."


def refusal(status: int, message: str, *, is_page: bool = False, retry_after: int = 0) -> Refusal:
    headers = [("cache-control", "no-store")] + ([("retry-after", str(retry_after))] if retry_after else [])
    if is_page:
        return status, [*headers, ("content-type", "text/plain; charset=utf-8")], message.encode()
    body = orjson.dumps({"status": "error", "message": message})
    return status, [*headers, ("content-type", "application/json"), ("vary", "x-api-key")], body


LENGTH_REQUIRED = refusal(411, "Send this with a Content-Length.", is_page=True)
REQUEST_TIMEOUT = refusal(408, "The request body did not arrive in time")
FORM_TIMEOUT = refusal(408, "The connection was too slow. Go back and try again, a large file in parts.", is_page=True)
STOPPING = refusal(503, "The web server is stopping")
LIVE = 200, STOPPING[1], orjson.dumps({"status": "ok"})
TOO_MANY_BODIES = refusal(503, UNAVAILABLE, retry_after=RETRY_AFTER_SECONDS)
TOO_MANY_FORMS = refusal(
    503,
    "Too many files are being sent at once. Go back and try again in a minute.",
    is_page=True,
    retry_after=RETRY_AFTER_SECONDS,
)


def turn_refusal(reason: turns.Refusal) -> Refusal:
    LIMITS_EXCEEDED.labels(reason.value).inc()
    if reason is turns.Refusal.TOO_MANY_REQUESTS:
        return refusal(429, "Too many requests at once", retry_after=1)
    message = "Too many pages are waiting. Reload this one in a few seconds."
    return refusal(503, message, is_page=True, retry_after=RETRY_AFTER_SECONDS)


def too_many_anonymous_pages(retry_after: int) -> Refusal:
    LIMITS_EXCEEDED.labels("anonymous-pages").inc()
    message = "Too many pages were requested from your browser or network. Wait a minute, then try again."
    return refusal(429, message, is_page=True, retry_after=retry_after)


def refuse_header(request: Request) -> Refusal | None:
    """Refuse a header that isn't ASCII where it has to be, or is longer than any client sends it.

    To parse a long one could take milliseconds.
    """
    if request.unreadable:
        message = f"The header {min(request.unreadable).title()} must have ASCII characters only"
        return refusal(400, message) if request.is_api else refusal(400, UNREADABLE_PAGE_HEADER, is_page=True)
    for key, value in request.environ.items():
        if key.startswith(("HTTP_", "CONTENT_")) and len(value) > HEADER_BYTES.get(key, OTHER_HEADER_BYTES):
            return refusal(431, LONG_HEADER) if request.is_api else refusal(431, LONG_PAGE_HEADER, is_page=True)
    return None


def send_refusal(request: Request, refused: Refusal) -> None:
    status, headers, body = refused
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
                is_page, retry_after = not request.is_api, RETRY_AFTER_SECONDS
                send_refusal(request, refusal(503, TOO_MANY_FILES, is_page=is_page, retry_after=retry_after))
                return
        request.loop.call_soon_threadsafe(close_later, request.loop, descriptor)
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


def close_later(loop: asyncio.AbstractEventLoop, descriptor: int, seconds: int = FILE_SECONDS) -> None:
    # Second by second: if the process was frozen, Granian still has time to open the file before another one gets its
    # number. (A named file would stay on the disk, with people's data, when the process is killed.)
    if seconds:
        loop.call_later(1, close_later, loop, descriptor, seconds - 1)
    else:
        os.close(descriptor)


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
