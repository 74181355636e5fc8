"""What the relays share: they check a webhook's signature and send the state that it tells to Pipeline Backend.

Environment: PIPELINE_URL, PIPELINE_API_KEY (a key with the scope sync), WEBHOOK_SECRET (the vendor's signing key).
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from wsgiref.simple_server import make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

MAX_BODY = 1_000_000
TEMPORARY = {401, 403, 408, 429, *range(500, 600)}  # also a wrong key: the vendor repeats until it is mended
REASONS = {200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 422: "Unprocessable Content"}

Event = Mapping[str, Any]
State = tuple[str, dict[str, Any]]  # the path after /api/external/sync/, and the body
Verify = Callable[[bytes, Mapping[str, str], bytes], bool]  # of the body, the headers and the signing key


def relay(verify: Verify, read: Callable[[Event], State | None]) -> WSGIApplication:
    """Return the WSGI application. `read` returns None for an event that doesn't matter."""

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        status, text = respond(environ)
        headers = [("Content-Type", "text/plain; charset=utf-8"), *([("Retry-After", "60")] if status == 503 else [])]
        start_response(f"{status} {REASONS.get(status, 'Service Unavailable')}", headers)
        return [text.encode()]

    def respond(environ: WSGIEnvironment) -> tuple[int, str]:
        length = environ.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > MAX_BODY:
            return 400, "The body is too large"
        body = environ["wsgi.input"].read(int(length))
        headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
        if not verify(body, headers, os.environ["WEBHOOK_SECRET"].encode()):
            return 401, "The signature is wrong"
        try:
            state = read(json.loads(body))
        except (ValueError, LookupError, TypeError, AttributeError, StopIteration):
            return 400, "The body is not what this relay expects"
        return send(*state) if state else (204, "")

    return application


def send(path: str, body: dict[str, Any]) -> tuple[int, str]:
    """Send a state; return the status for the vendor, which repeats a 503, and a text for its log."""
    request = Request(  # noqa: S310  # the operator's own address
        f"{os.environ['PIPELINE_URL'].rstrip('/')}/api/external/sync/{path}",
        data=json.dumps(body).encode(),
        headers={"x-api-key": os.environ["PIPELINE_API_KEY"], "Content-Type": "application/json"},
        method="PUT",
    )
    try:
        with urlopen(request, timeout=20) as response:  # noqa: S310
            return 200, response.read().decode()
    except HTTPError as error:
        text = error.read().decode(errors="replace")
        if error.code == 400 and '"host_email"' in text and "host_email" in body:
            # The scheduler's host is no member of the organization. The booking counts more.
            return send(path, {name: value for name, value in body.items() if name != "host_email"})
        return (503 if error.code in TEMPORARY else 422), text
    except (URLError, OSError) as error:
        return 503, f"Pipeline Backend can't be reached: {error}"


def serve(application: WSGIApplication) -> None:
    with make_server("", int(os.environ.get("PORT", "8080")), application) as server:
        server.serve_forever()
