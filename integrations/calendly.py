"""Relays Calendly's bookings. Subscribe to invitee.created, invitee.canceled, invitee_no_show.created and .deleted.

Rescheduling makes a new invitee: Calendly cancels the former one with `rescheduled: true` and creates one that names
it in `old_invitee`. The cancellation is not relayed, because the appointment is not canceled, and the new invitee
has the whole state.
"""

import hmac
import os
import time
from datetime import datetime, timedelta
from urllib.parse import quote
from wsgiref.simple_server import make_server
from wsgiref.types import WSGIEnvironment

from integrations.relay import Json, digest, relay

TOLERANCE = 180  # seconds, as Calendly recommends
STATES = {
    "invitee.created": "BOOKED",
    "invitee.canceled": "CANCELED",
    "invitee_no_show.created": "NO_SHOW",
    "invitee_no_show.deleted": "BOOKED",
}
CANCELERS = {"invitee": "LEAD", "host": "HOST"}


def is_signed(environ: WSGIEnvironment, body: bytes) -> bool:
    """Check `Calendly-Webhook-Signature: t=<seconds>,v1=<hex of the HMAC of t.body>`."""
    header = environ.get("HTTP_CALENDLY_WEBHOOK_SIGNATURE", "")
    parts = dict(part.strip().partition("=")[::2] for part in header.split(","))
    signed_at, signature = parts.get("t", ""), parts.get("v1", "")
    expected = digest(f"{signed_at}.".encode() + body).hex()
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return False
    return abs(time.time() - int(signed_at)) <= TOLERANCE


def translate(webhook: Json) -> tuple[str, Json] | None:
    state, invitee = STATES.get(webhook["event"]), webhook["payload"]
    if state is None or (state == "CANCELED" and invitee["rescheduled"]):
        return None
    event = invitee["scheduled_event"]
    start, end = (datetime.fromisoformat(event[name]) for name in ("start_time", "end_time"))
    location, cancellation = event.get("location") or {}, invitee.get("cancellation") or {}
    url = location.get("join_url") or location.get("location") or ""
    first_name, _, last_name = (invitee["name"] or "").partition(" ")
    # Marking a no-show doesn't always change the invitee.
    times = [invitee["updated_at"]] + [webhook["created_at"]] * webhook["event"].startswith("invitee_no_show.")
    body = {
        "changed_at": max(times, key=datetime.fromisoformat),
        "state": state,
        "schedule_time": event["start_time"],
        "duration_minutes": (end - start) // timedelta(minutes=1),
        "lead": {
            "email": invitee["email"],
            "first_name": invitee.get("first_name") or first_name,
            "last_name": invitee.get("last_name") or last_name,
            "phone": invitee.get("text_reminder_number"),
        },
        "event_type": event["name"] or "Calendly",
        "host_email": event["event_memberships"][0]["user_email"] if event["event_memberships"] else None,
        "meeting_url": url if url.startswith(("https://", "http://")) else None,
        "traffic": {name: value for name, value in (invitee["tracking"] or {}).items() if name.startswith("utm_")},
        "questions_answers": [
            {"question": each["question"], "answer": each["answer"]}
            for each in invitee["questions_and_answers"] or []
            if each["question"].strip()
        ],
        "previous_reference": invitee["old_invitee"] and invitee["old_invitee"].rpartition("/")[2],
        "canceled_by": CANCELERS.get(cancellation.get("canceler_type", "")),
        "reason": cancellation.get("reason"),
    }
    reference = quote(invitee["uri"].rpartition("/")[2], safe="")
    return f"{os.environ.get('SOURCE', 'SCHEDULER_A')}/appointments/{reference}", body


application = relay(is_signed, translate)

if __name__ == "__main__":
    make_server(os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080")), application).serve_forever()
