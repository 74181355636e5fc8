"""Relays Cal.com's bookings. Choose the triggers Booking Created, Rescheduled and Cancelled, and version 2021-10-20.

BOOKING_NO_SHOW_UPDATED is not relayed: its payload has the booking's uid, but neither its time nor its event type.
"""

import hmac
import os
from datetime import datetime, timedelta
from urllib.parse import quote
from wsgiref.simple_server import make_server
from wsgiref.types import WSGIEnvironment

from integrations.relay import Json, digest, relay

STATES = {"BOOKING_CREATED": "BOOKED", "BOOKING_RESCHEDULED": "BOOKED", "BOOKING_CANCELLED": "CANCELED"}
# Fields of every booking form that say nothing about the lead, or that other fields of the state have.
NOT_ASKED = {"name", "email", "attendeePhoneNumber", "location", "title", "guests", "rescheduleReason"}


def is_signed(environ: WSGIEnvironment, body: bytes) -> bool:
    """Check `X-Cal-Signature-256: <hex of the body's HMAC>`."""
    return hmac.compare_digest(digest(body).hex().encode(), environ.get("HTTP_X_CAL_SIGNATURE_256", "").encode())


def translate(webhook: Json) -> tuple[str, Json] | None:
    state, booking = STATES.get(webhook["triggerEvent"]), webhook["payload"]
    if state is None:
        return None
    start, end = (datetime.fromisoformat(booking[name]) for name in ("startTime", "endTime"))
    attendee, host_email = booking["attendees"][0], booking["organizer"]["email"]
    metadata = booking.get("metadata") or {}
    responses = {
        name: response if isinstance(response, dict) else {"value": response}
        for name, response in (booking.get("responses") or {}).items()
    }
    url = metadata.get("videoCallUrl") or booking.get("location") or ""
    first_name, _, last_name = (attendee.get("name") or "").partition(" ")
    answers = [
        {"question": response.get("label") or name, "answer": response.get("value")}
        for name, response in responses.items()
        if name not in NOT_ASKED
    ]
    body = {
        "changed_at": webhook["createdAt"],
        "state": state,
        "schedule_time": booking["startTime"],
        "duration_minutes": (end - start) // timedelta(minutes=1),
        "lead": {
            "email": attendee["email"],
            "first_name": attendee.get("firstName") or first_name,
            "last_name": attendee.get("lastName") or last_name,
            "phone": attendee.get("phoneNumber") or responses.get("attendeePhoneNumber", {}).get("value"),
        },
        "event_type": booking.get("eventTitle") or booking["type"],
        "host_email": host_email,
        "meeting_url": url if url.startswith(("https://", "http://")) else None,
        # Links have them as metadata[utm_source]=….
        "traffic": {name: value for name, value in metadata.items() if name.startswith("utm_")},
        "questions_answers": answers,
        "previous_reference": booking.get("rescheduleUid"),
        "canceled_by": {attendee["email"]: "LEAD", host_email: "HOST"}.get(booking.get("cancelledBy")),
        "reason": booking.get("cancellationReason"),
    }
    reference = quote(booking["uid"], safe="")
    return f"{os.environ.get('SOURCE', 'SCHEDULER_B')}/appointments/{reference}", body


application = relay(is_signed, translate)

if __name__ == "__main__":
    make_server(os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "8080")), application).serve_forever()
