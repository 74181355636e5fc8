"""Errors to Sentry: each exception that is logged as an error, with its frames, and the request's route and id.

The log is the only source: Django, Celery and the dispatcher log every error there, and Sentry's integrations with
them would collect headers, bodies and task arguments, and follow every request.
"""

import logging
from typing import cast

import sentry_sdk
from django.conf import settings
from django.http import HttpRequest
from django.views import View
from rest_framework.request import Request
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.logging import LoggingIntegration
from sentry_sdk.types import Event, Hint

from foundation.api.request_id import current_request_id

EVENT_KEYS = ("event_id", "timestamp", "platform", "level", "logger", "release", "environment")
FRAME_KEYS = ("filename", "function", "module", "lineno", "in_app")


def start() -> None:
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        release=settings.VERSION,
        default_integrations=False,
        auto_enabling_integrations=False,
        integrations=[
            LoggingIntegration(level=None, event_level=logging.ERROR, sentry_logs_level=None),
            AtexitIntegration(callback=lambda pending, timeout: None),  # sends what is left, and prints nothing
        ],
        before_send=keep_allowed,
        # Not even collected, although the list below would leave them out.
        send_default_pii=False,
        include_local_variables=False,
        include_source_context=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        auto_session_tracking=False,
        send_client_reports=False,
    )


def keep_allowed(event: Event, hint: Hint) -> Event | None:
    """Return the types of exceptions and the places in the code. None, which sends nothing, without an exception."""
    if "exception" not in event:
        return None
    allowed = cast("Event", {key: event[key] for key in EVENT_KEYS if key in event})  # type: ignore[literal-required]
    # An exception's message often quotes what a client has sent.
    allowed["exception"] = {
        "values": [
            {
                "type": error["type"],
                "module": error.get("module"),
                "stacktrace": {
                    "frames": [
                        {key: frame.get(key) for key in FRAME_KEYS}
                        for frame in (error.get("stacktrace") or {}).get("frames", [])
                    ]
                },
            }
            for error in event["exception"]["values"]
        ]
    }
    allowed["tags"] = {"request_id": current_request_id(), **request_tags(hint.get("log_record"))}
    return allowed


def request_tags(record: logging.LogRecord | None) -> dict[str, str]:
    # Django's attribute, and that of our API's exception handler.
    request = getattr(record, "request", None) or getattr(record, "api_request", None)
    if not isinstance(request, HttpRequest | Request):
        return {}
    is_known = (request.method or "").lower() in View.http_method_names
    return {
        "route": request.resolver_match.route if request.resolver_match else "",
        "method": str(request.method) if is_known else "other",
    }
