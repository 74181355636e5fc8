"""The Python client verifies what the service signs."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pipeline_client import WebhookError, verify_webhook
from standardwebhooks.webhooks import Webhook

SECRET, OTHER = "whsec_" + "A" * 32, "whsec_" + "B" * 32
BODY = json.dumps({"id": "event-1", "type": "lead.created"}).encode()


def signed(secret: str = SECRET, age: float = 0, body: bytes = BODY) -> dict[str, str]:
    moment = datetime.now(UTC) - timedelta(seconds=age)
    signature = Webhook(secret).sign("event-1", moment, body.decode())
    return {"Webhook-Id": "event-1", "webhook-timestamp": str(int(moment.timestamp())), "webhook-signature": signature}


def test_a_signed_event_is_returned_also_while_a_rotated_secret_counts() -> None:
    rotated = signed(OTHER)
    rotated["webhook-signature"] += " " + signed()["webhook-signature"]

    assert verify_webhook(BODY, signed(), SECRET) == {"id": "event-1", "type": "lead.created"}
    assert verify_webhook(BODY, rotated, SECRET) == verify_webhook(BODY, rotated, OTHER) == json.loads(BODY)


@pytest.mark.parametrize(
    ("body", "headers", "message"),
    [
        (BODY, signed(OTHER), "No signature is right"),
        (BODY + b" ", signed(), "No signature is right"),
        (BODY, signed() | {"Webhook-Id": "event-2"}, "No signature is right"),
        (BODY, signed() | {"webhook-timestamp": "1"}, "No signature is right"),
        (BODY, signed(age=301), "webhook-timestamp is too old, or in the future"),
        (BODY, signed(age=-90_000), "webhook-timestamp is too old, or in the future"),
        (BODY, signed() | {"webhook-timestamp": "9" * 400}, "webhook-id, webhook-timestamp or webhook-signature is "),
        (BODY, signed() | {"webhook-timestamp": "soon"}, "webhook-id, webhook-timestamp or webhook-signature is "),
        (BODY, {}, "webhook-id, webhook-timestamp or webhook-signature is missing or malformed"),
    ],
)
def test_anything_else_is_refused(body: bytes, headers: dict[str, str], message: str) -> None:
    with pytest.raises(WebhookError, match=message):
        verify_webhook(body, headers, SECRET)
