"""Relays bookings of Calendly: python calendly.py, or with any WSGI server `calendly:application`.

Subscribe the webhook to invitee.created and invitee.canceled. Each rescheduling gives a new invitee, which names the
old one, so the cancellation of the old one is not needed.
"""

import hashlib
import hmac
import os
import time
from collections.abc import Mapping
from datetime import datetime

from relay import Event, State, relay, serve

TOLERANCE_SECONDS = 180
CANCELERS = {"invitee": "LEAD", "host": "HOST"}


def verify(body: bytes, headers: Mapping[str, str], secret: bytes) -> bool:
    parts = dict(part.partition("=")[::2] for part in headers.get("calendly-webhook-signature", "").split(","))
    timestamp = parts.get("t", "")
    expected = hmac.new(secret, timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_recent = timestamp.isdecimal() and abs(time.time() - int(timestamp)) < TOLERANCE_SECONDS
    return is_recent and hmac.compare_digest(expected.encode(), parts.get("v1", "").encode())


def read(event: Event) -> State | None:
    invitee = event["payload"]
    is_canceled = event["event"] == "invitee.canceled"
    if event["event"] != "invitee.created" and not is_canceled:
        return None
    if is_canceled and invitee.get("rescheduled"):
        return None
    call = invitee["scheduled_event"]
    start, end = (datetime.fromisoformat(call[name]) for name in ("start_time", "end_time"))
    cancellation = invitee.get("cancellation") or {}
    hosts = call.get("event_memberships") or [{}]
    first_name, _, last_name = (invitee.get("name") or "").partition(" ")
    state = {
        "changed_at": invitee["updated_at"],
        "state": "CANCELED" if is_canceled else "BOOKED",
        "schedule_time": call["start_time"],
        "duration_minutes": max(5, round((end - start).total_seconds() / 60)),
        "lead": {
            "email": invitee["email"],
            "first_name": invitee.get("first_name") or first_name,
            "last_name": invitee.get("last_name") or last_name,
            "phone": invitee.get("text_reminder_number"),
        },
        "event_type": call["name"],
        "host_email": hosts[0].get("user_email"),
        "meeting_url": (call.get("location") or {}).get("join_url"),
        "traffic": {name: value for name, value in (invitee.get("tracking") or {}).items() if name.startswith("utm_")},
        "questions_answers": [
            {"question": answer["question"], "answer": answer["answer"]}
            for answer in invitee.get("questions_and_answers") or []
        ],
        "previous_reference": invitee.get("old_invitee") and id_of(invitee["old_invitee"]),
        "canceled_by": CANCELERS.get(cancellation.get("canceler_type", "")),
        "reason": cancellation.get("reason"),
    }
    return f"{os.environ.get('SOURCE', 'SCHEDULER_A')}/appointments/{id_of(invitee['uri'])}", state


def id_of(uri: str) -> str:
    return uri.rstrip("/").rpartition("/")[2]


application = relay(verify, read)

if __name__ == "__main__":
    serve(application)
