"""Signatures as the Standard Webhooks specification defines them (docs/interface.md, W11 and W12)."""

import base64
import secrets
from datetime import UTC, datetime

from standardwebhooks.webhooks import Webhook


def new_secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def signed_headers(webhook_id: str, body: str, signing_secrets: list[str]) -> dict[str, str]:
    signed_at = datetime.now(UTC)
    # During a rotation two secrets sign. Receivers accept the delivery if either signature matches.
    signatures = [Webhook(secret).sign(webhook_id, signed_at, body) for secret in signing_secrets]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(signed_at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
