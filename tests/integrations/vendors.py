"""Webhooks as the vendors send them: signed, with payloads from their documentation."""

import base64
import hashlib
import hmac
import io
import json
import time
from dataclasses import dataclass
from typing import Any
from wsgiref.types import WSGIApplication
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

SECRET = b"s3cret"
UTM = {"utm_campaign": None, "utm_source": None, "utm_medium": None, "utm_content": None, "utm_term": None}

# Names, times and ids are as in developer.calendly.com, Webhook Payload; the UTM values, the second question and the
# location are changed, because they are null there. A sample of invitee_no_show.created has the same fields.
CALENDLY = {
    "created_at": "2020-11-23T17:51:19.000000Z",
    "created_by": "https://api.calendly.com/users/AAAAAAAAAAAAAAAA",
    "event": "invitee.created",
    "payload": {
        "cancel_url": "https://calendly.com/cancellations/AAAAAAAAAAAAAAAA",
        "created_at": "2020-11-23T17:51:18.327602Z",
        "email": "test@example.com",
        "event": "https://api.calendly.com/scheduled_events/AAAAAAAAAAAAAAAA",
        "first_name": None,
        "last_name": None,
        "name": "John Doe",
        "new_invitee": None,
        "no_show": None,
        "old_invitee": None,
        "questions_and_answers": [
            {"answer": "30", "position": 0, "question": "How many employees do you have?"},
            {"answer": "", "position": 1, "question": "Anything else?"},
        ],
        "reschedule_url": "https://calendly.com/reschedulings/AAAAAAAAAAAAAAAA",
        "rescheduled": False,
        "status": "active",
        "text_reminder_number": "+1 415-555-2671",
        "timezone": "America/New_York",
        "tracking": {**UTM, "utm_source": "newsletter", "salesforce_uuid": None},
        "updated_at": "2020-11-23T17:51:18.341657Z",
        "uri": "https://api.calendly.com/scheduled_events/AAAAAAAAAAAAAAAA/invitees/BBBBBBBBBBBBBBBB",
        "scheduled_event": {
            "uri": "https://api.calendly.com/scheduled_events/AAAAAAAAAAAAAAAA",
            "name": "15 Minute Meeting",
            "status": "active",
            "start_time": "2027-08-24T14:15:00.000000Z",
            "end_time": "2027-08-24T14:30:00.000000Z",
            "event_type": "https://api.calendly.com/event_types/GBGBDCAADAEDCRZ2",
            "location": {"type": "zoom", "status": "pushed", "join_url": "https://zoom.us/j/1"},
            "invitees_counter": {"total": 1, "active": 1, "limit": 1},
            "created_at": "2020-11-23T17:51:18.222222Z",
            "updated_at": "2020-11-23T17:51:18.222222Z",
            "event_memberships": [
                {"user": "https://api.calendly.com/users/GBGBDCAADAEDCRZ2", "user_email": "hana@acme.example"}
            ],
            "event_guests": [],
        },
    },
}

# From cal.com/docs/developing/guides/automation/webhooks, without calendars and settings; with the answers, the
# metadata and the names that the code of the payload version 2021-10-20 adds.
CALCOM = {
    "triggerEvent": "BOOKING_CREATED",
    "createdAt": "2023-05-24T09:30:00.538Z",
    "payload": {
        "type": "60min",
        "title": "60min between Pro Example and John Doe",
        "description": "",
        "additionalNotes": "",
        "customInputs": {},
        "startTime": "2027-05-25T09:30:00Z",
        "endTime": "2027-05-25T10:30:00Z",
        "organizer": {"id": 5, "name": "Pro Example", "email": "hana@acme.example", "timeZone": "Asia/Kolkata"},
        "responses": {
            "name": {"label": "your_name", "value": "John Doe"},
            "email": {"label": "email_address", "value": "john.doe@example.com"},
            "location": {"label": "location", "value": {"optionValue": "", "value": "inPerson"}},
            "notes": {"label": "additional_notes"},
            "guests": {"label": "additional_guests"},
            "rescheduleReason": {"label": "reschedule_reason"},
            "budget": {"label": "Your budget", "value": ["5k", "10k"]},
            "attendeePhoneNumber": {"label": "phone_number", "value": "+14155552671"},
        },
        "userFieldsResponses": {"budget": {"label": "Your budget", "value": ["5k", "10k"]}},
        "attendees": [{"email": "john.doe@example.com", "name": "John Doe", "timeZone": "Asia/Kolkata"}],
        "location": "integrations:daily",
        "eventTypeId": 7,
        "uid": "bFJeNb2uX8ANpT3JL5EfXw",
        "eventTitle": "60min",
        "length": 60,
        "bookingId": 91,
        "metadata": {"videoCallUrl": "https://app.cal.com/video/bFJeNb2uX8ANpT3JL5EfXw", "utm_source": "letter"},
        "status": "ACCEPTED",
    },
}

# From typeform.com/developers/webhooks/example-payload, with fewer answers; a contact-info question, as in the Create
# API, and UTM values are added.
TYPEFORM = {
    "event_id": "LtWXD3crgy",
    "event_type": "form_response",
    "form_response": {
        "form_id": "lT4Z3j",
        "token": "a3a12ec67a1365927098a606107fac15",
        "submitted_at": "2018-01-18T18:17:02Z",
        "landed_at": "2018-01-18T18:07:02Z",
        "calculated": {"score": 9},
        "hidden": {"user_id": "abc123456", "utm_source": "ads", "landing_page": "https://acme.example/"},
        "definition": {
            "id": "lT4Z3j",
            "title": "Webhooks example",
            "fields": [
                {"id": "DlXFaesGBpoF", "title": "What's it like where you live?", "type": "long_text", "ref": "place"},
                {
                    "id": "JwWggjAKtOkA",
                    "title": "Who are you?",
                    "type": "contact_info",
                    "ref": "who",
                    "properties": {
                        "fields": [
                            {"id": "f1", "title": "First name", "subfield_key": "first_name", "type": "short_text"},
                            {"id": "f2", "title": "Last name", "subfield_key": "last_name", "type": "short_text"},
                            {"id": "f3", "title": "Phone", "subfield_key": "phone_number", "type": "phone_number"},
                            {"id": "f4", "title": "Email", "subfield_key": "email", "type": "email"},
                        ]
                    },
                },
                {"id": "k6TP9oLGgHjl", "title": "Which city?", "type": "multiple_choice"},
                {"id": "PNe8ZKBK8C2Q", "title": "Which days?", "type": "multiple_choice"},
                {"id": "gFFf3xAkJKsr", "title": "Agreed?", "type": "legal"},
                {"id": "WOTdC00F8A3h", "title": "How well?", "type": "rating"},
            ],
        },
        "answers": [
            {"type": "text", "text": "Cold", "field": {"id": "DlXFaesGBpoF", "type": "long_text"}},
            {"type": "text", "text": "Laura", "field": {"id": "f1", "type": "short_text"}},
            {"type": "text", "text": "Palmer", "field": {"id": "f2", "type": "short_text"}},
            {"type": "phone_number", "phone_number": "+34960123456", "field": {"id": "f3", "type": "phone_number"}},
            {"type": "email", "email": "laura@example.com", "field": {"id": "f4", "type": "email"}},
            {"type": "choice", "choice": {"label": "London"}, "field": {"id": "k6TP9oLGgHjl"}},
            {"type": "choices", "choices": {"labels": ["Mo"], "other": "Never"}, "field": {"id": "PNe8ZKBK8C2Q"}},
            {"type": "boolean", "boolean": True, "field": {"id": "gFFf3xAkJKsr", "type": "legal"}},
            {"type": "number", "number": 3, "field": {"id": "WOTdC00F8A3h", "type": "rating"}},
        ],
    },
}


def changed(webhook: dict[str, Any], payload: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return the webhook of a scheduler with other fields, outside and inside its payload."""
    return {**webhook, **fields, "payload": {**webhook["payload"], **(payload or {})}}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


def post(application: WSGIApplication, body: bytes, **headers: Any) -> Answer:
    """Call the relay as a WSGI server does, with a check of both sides' behaviour."""
    environ: dict[str, Any] = {"REQUEST_METHOD": "POST", "QUERY_STRING": "", "CONTENT_LENGTH": str(len(body))}
    environ |= {"CONTENT_TYPE": "application/json", "wsgi.input": io.BytesIO(body), **headers}
    setup_testing_defaults(environ)
    started: list[Any] = []
    answer = validator(application)(environ, lambda *args: started.append(args) or (lambda data: None))
    text = b"".join(answer).decode()
    answer.close()  # type: ignore[attr-defined]
    return Answer(int(started[0][0].split()[0]), dict(started[0][1]), text)


def mac(message: bytes) -> bytes:
    return hmac.new(SECRET, message, hashlib.sha256).digest()


def calendly_signature(body: bytes, age: int = 0) -> dict[str, str]:
    at = str(int(time.time()) - age)
    return {"HTTP_CALENDLY_WEBHOOK_SIGNATURE": f"t={at},v1={mac(at.encode() + b'.' + body).hex()}"}


def calcom_signature(body: bytes) -> dict[str, str]:
    return {"HTTP_X_CAL_SIGNATURE_256": mac(body).hex()}


def typeform_signature(body: bytes) -> dict[str, str]:
    return {"HTTP_TYPEFORM_SIGNATURE": "sha256=" + base64.b64encode(mac(body)).decode()}


def encode(webhook: object) -> bytes:
    return json.dumps(webhook).encode()
