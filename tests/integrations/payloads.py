"""Webhooks as the vendors' documentation shows them, shortened to what a relay could read."""

from typing import Any

# https://developer.calendly.com/api-docs, Webhook payload
CALENDLY: dict[str, Any] = {
    "event": "invitee.created",
    "created_at": "2026-12-01T10:00:01.000000Z",
    "payload": {
        "uri": "https://api.calendly.com/scheduled_events/EVENT1/invitees/INVITEE1",
        "email": "ada@example.com",
        "first_name": None,
        "last_name": None,
        "name": "Ada King Lovelace",
        "status": "active",
        "created_at": "2026-12-01T10:00:00.123456Z",
        "updated_at": "2026-12-01T10:00:00.123456Z",
        "rescheduled": False,
        "old_invitee": None,
        "new_invitee": None,
        "text_reminder_number": "+442079460000",
        "questions_and_answers": [{"question": "Why now?", "answer": "We grow.", "position": 0}],
        "tracking": {"utm_source": "letter", "utm_medium": None, "salesforce_uuid": "x"},
        "scheduled_event": {
            "uri": "https://api.calendly.com/scheduled_events/EVENT1",
            "name": "Strategy call",
            "start_time": "2027-01-05T10:00:00.000000Z",
            "end_time": "2027-01-05T10:45:00.000000Z",
            "location": {"type": "zoom_conference", "join_url": "https://meet.example/1"},
            "event_memberships": [{"user": "https://api.calendly.com/users/U", "user_email": "hana@acme.example"}],
        },
    },
}
# https://cal.com/docs, Webhooks
CALCOM: dict[str, Any] = {
    "triggerEvent": "BOOKING_CREATED",
    "createdAt": "2026-12-01T10:00:00.538Z",
    "payload": {
        "type": "strategy-call",
        "title": "Strategy call between Hana and Ada",
        "eventTitle": "Strategy call",
        "additionalNotes": "Prefers mornings",
        "startTime": "2027-01-05T10:00:00Z",
        "endTime": "2027-01-05T10:45:00Z",
        "organizer": {"id": 5, "name": "Hana", "email": "hana@acme.example", "timeZone": "Europe/Berlin"},
        "responses": {
            "name": {"label": "your_name", "value": "Ada Lovelace"},
            "email": {"label": "email_address", "value": "ada@example.com"},
            "team": {"label": "How many people?", "value": "25"},
        },
        "attendees": [{"email": "ada@example.com", "name": "Ada Lovelace", "timeZone": "Europe/London"}],
        "uid": "bFJeNb2uX8ANpT3JL5EfXw",
        "metadata": {"videoCallUrl": "https://meet.example/1"},
        "status": "ACCEPTED",
    },
}
# https://www.typeform.com/developers/webhooks/example-payload
TYPEFORM: dict[str, Any] = {
    "event_id": "LtWXD3crgy",
    "event_type": "form_response",
    "form_response": {
        "form_id": "lT4Z3j",
        "token": "a3a12ec67a1365927098a606107fac15",
        "submitted_at": "2026-12-01T10:00:00Z",
        "hidden": {"utm_source": "letter", "other": "x"},
        "definition": {
            "id": "lT4Z3j",
            "title": "Strategy call",
            "fields": [
                {"id": "A", "title": "First name?", "type": "short_text"},
                {"id": "B", "title": "E-mail", "type": "email"},
                {"id": "C", "title": "Where?", "type": "multiple_choice"},
                {"id": "D", "title": "Ready?", "type": "yes_no"},
            ],
        },
        "answers": [
            {"type": "text", "text": "Ada", "field": {"id": "A", "type": "short_text"}},
            {"type": "email", "email": "ada@example.com", "field": {"id": "B", "type": "email"}},
            {"type": "choices", "choices": {"labels": ["London", "Sydney"]}, "field": {"id": "C", "type": "x"}},
            {"type": "boolean", "boolean": True, "field": {"id": "D", "type": "yes_no"}},
        ],
    },
}
