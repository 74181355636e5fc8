"""Signatures of webhooks, as https://www.standardwebhooks.com defines them."""

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any


class WebhookError(ValueError): ...


def verify_webhook(body: bytes, headers: Mapping[str, str], secret: str, tolerance: float = 300) -> dict[str, Any]:
    """Return the event. Raises WebhookError if no signature is right, or it is older than `tolerance` seconds.

    `body` is what was received, byte for byte; `secret` is the endpoint's, `whsec_…`.
    """
    named = {name.lower(): value for name, value in headers.items()}
    try:
        id, timestamp, signatures = (named[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        is_recent = abs(time.time() - int(timestamp)) <= tolerance
    except (KeyError, OverflowError, ValueError):
        raise WebhookError("webhook-id, webhook-timestamp or webhook-signature is missing or malformed") from None
    digest = hmac.digest(
        base64.b64decode(secret.removeprefix("whsec_")), f"{id}.{timestamp}.".encode() + body, "sha256"
    )
    expected = b"v1," + base64.b64encode(digest)
    if not any(hmac.compare_digest(expected, signature.encode()) for signature in signatures.split()):
        raise WebhookError("No signature is right")
    if not is_recent:
        raise WebhookError("webhook-timestamp is too old, or in the future")
    return dict(json.loads(body))
