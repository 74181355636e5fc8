"""The part that all relays share. Each relay is one WSGI callable, `application`, for any WSGI server."""

import hmac
import json
import os
import sys
from collections.abc import Callable
from http.client import HTTPException, responses
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Json = dict[str, Any]
Check = Callable[[WSGIEnvironment, bytes], bool]
MAX_BODY = 1024 * 1024
REFUSED = {400, 404, 409, 413, 422}  # a repeat of the same webhook would be refused again
# What the service refuses beyond these would cost the booking.
MAX_ANSWERS, DURATIONS = 50, (5, 24 * 60)
LENGTHS = {
    **dict.fromkeys(("first_name", "last_name", "event_type", "provider_form_id", "provider_form_name"), 255),
    **dict.fromkeys(("phone", "reason", "question", "answer"), 10_000),
}
OPTIONAL = ("host_email", "meeting_url")  # the host may be no member of the organization
NAMES = ("SERVICE_URL", "API_KEY", "WEBHOOK_SECRET")
SERVICE_URL, API_KEY, WEBHOOK_SECRET = (os.environ.get(name) or sys.exit(f"Set {name}") for name in NAMES)


def digest(message: bytes) -> bytes:
    """Return the HMAC-SHA256 of the message, with the secret that the vendor signs with."""
    return hmac.digest(WEBHOOK_SECRET.encode(), message, "sha256")


def cleaned(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return JSON with texts as the service takes them: blank ones are empty, for which `translate` has defaults."""
    if isinstance(value, dict):
        return {key: cleaned(each) for key, each in value.items()}
    if isinstance(value, list):
        return list(map(cleaned, value))
    return value.encode(errors="ignore").decode().replace("\0", "").strip() if isinstance(value, str) else value


def fit(value: Any, name: str = "") -> Any:  # noqa: ANN401  # JSON
    """Return a state, or the value of one of its fields, with long texts and lists cut, and durations in range."""
    if isinstance(value, dict):
        return {key: fit(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [fit(each, name) for each in value[: MAX_ANSWERS if name == "questions_answers" else None]]
    if isinstance(value, str):
        return value[: LENGTHS.get(name)]
    return min(max(value, DURATIONS[0]), DURATIONS[1]) if name == "duration_minutes" else value


def send(path: str, state: Json) -> tuple[int, str]:
    """PUT the state to the service. Return the status and the text for the vendor. urllib redirects no PUT."""
    headers = {"x-api-key": API_KEY, "Content-Type": "application/json"}
    try:
        url = f"{SERVICE_URL.rstrip('/')}/api/external/sync/{path}"
        with urlopen(Request(url, json.dumps(state).encode(), headers, method="PUT"), timeout=10) as response:  # noqa: S310  # Calendly waits 15
            return 200, response.read().decode()
    except HTTPError as error:
        text = error.read().decode(errors="replace")
        refused = [name for name in OPTIONAL if error.code == 400 and name in state and f'"{name}"' in text]
        if refused:
            return send(path, {name: value for name, value in state.items() if name not in refused})
        return (422 if error.code in REFUSED else 503), text
    except (OSError, HTTPException, ValueError) as error:
        return 503, f"The service did not answer: {type(error).__name__}"


def relay(is_signed: Check, translate: Callable[[Json], tuple[str, Json] | None]) -> WSGIApplication:
    """Return the relay. `translate` returns path and body for the service, or None if the event doesn't matter."""

    def handle(environ: WSGIEnvironment) -> tuple[int, str]:
        try:
            if not 0 <= (length := int(environ.get("CONTENT_LENGTH") or 0)) <= MAX_BODY:
                return 413, f"The body is larger than {MAX_BODY} bytes"
            if not is_signed(environ, body := environ["wsgi.input"].read(length)):
                return 401, "The signature is missing, wrong or too old"
            request = translate(cleaned(json.loads(body)))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            return 400, f"The body is not the expected JSON: {error!r}"
        return send(request[0], fit(request[1])) if request else (204, "")

    def application(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        status, text = handle(environ)
        if status >= 400:
            print(f"{status}: {text[:1000]}", file=environ["wsgi.errors"])
        headers = [("Content-Type", "text/plain")] * (status != 204) + [("Retry-After", "60")] * (status == 503)
        start_response(f"{status} {responses[status]}", headers)
        return [text.encode()]

    return application
