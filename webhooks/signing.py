"""Signatures by the Standard Webhooks specification (decision 31)."""

import base64
import secrets
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook


def new_secret() -> str:
    """A signing secret: `whsec_` and 32 random bytes in base64."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def signed_headers(webhook_id: str, body: str, signing_secrets: list[str]) -> dict[str, str]:
    """The three headers. Every secret signs; the signatures stand side by side."""
    moment = datetime.now(UTC)
    signatures = [Webhook(secret).sign(webhook_id, moment, body) for secret in signing_secrets]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
