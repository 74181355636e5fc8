"""Relays bookings of Cal.com: python calcom.py, or with any WSGI server `calcom:application`.

Subscribe the webhook to BOOKING_CREATED, BOOKING_RESCHEDULED and BOOKING_CANCELLED. Each rescheduling gives a new uid.
"""

import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from relay import Event, State, relay, serve

STATES = {"BOOKING_CREATED": "BOOKED", "BOOKING_RESCHEDULED": "BOOKED", "BOOKING_CANCELLED": "CANCELED"}
STANDARD = {"name", "email", "location", "guests", "rescheduleReason", "title"}  # responses that are no questions


def verify(body: bytes, headers: Mapping[str, str], secret: bytes) -> bool:
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), headers.get("x-cal-signature-256", "").encode())


def read(event: Event) -> State | None:
    if event["triggerEvent"] not in STATES:
        return None
    booking = event["payload"]
    start, end = (datetime.fromisoformat(booking[name]) for name in ("startTime", "endTime"))
    attendee, responses = booking["attendees"][0], booking.get("responses") or {}
    first_name, _, last_name = (attendee.get("name") or "").partition(" ")
    moved = responses.get("rescheduleReason") or {}
    state = {
        "changed_at": event["createdAt"],
        "state": STATES[event["triggerEvent"]],
        "schedule_time": booking["startTime"],
        "duration_minutes": max(5, round((end - start).total_seconds() / 60)),
        "lead": {
            "email": attendee["email"],
            "first_name": first_name,
            "last_name": last_name,
            "phone": attendee.get("phoneNumber"),
        },
        "event_type": booking.get("eventTitle") or booking["type"],
        "host_email": (booking.get("organizer") or {}).get("email"),
        "meeting_url": (booking.get("metadata") or {}).get("videoCallUrl"),
        "notes": booking.get("additionalNotes"),
        "questions_answers": [
            {"question": response.get("label") or name, "answer": response.get("value")}
            for name, response in responses.items()
            if name not in STANDARD and response.get("value")
        ],
        "previous_reference": booking.get("rescheduleUid"),
        "reason": booking.get("cancellationReason") or moved.get("value"),
    }
    return f"{os.environ.get('SOURCE', 'SCHEDULER_B')}/appointments/{quote(booking['uid'], safe='')}", state


application = relay(verify, read)

if __name__ == "__main__":
    serve(application)
