"""The request that each relay makes of a vendor's webhook."""

import json
from typing import Any

import pytest

from integrations import calcom, calendly, typeform
from tests.integrations.conftest import Service
from tests.integrations.vendors import (
    CALCOM,
    CALENDLY,
    TYPEFORM,
    calcom_signature,
    calendly_signature,
    changed,
    encode,
    post,
    typeform_signature,
)

CALENDLY_STATE = {
    "changed_at": "2020-11-23T17:51:18.341657Z",
    "state": "BOOKED",
    "schedule_time": "2027-08-24T14:15:00.000000Z",
    "duration_minutes": 15,
    "lead": {"email": "test@example.com", "first_name": "John", "last_name": "Doe", "phone": "+1 415-555-2671"},
    "event_type": "15 Minute Meeting",
    "host_email": "hana@acme.example",
    "meeting_url": "https://zoom.us/j/1",
    "traffic": {
        "utm_campaign": None,
        "utm_source": "newsletter",
        "utm_medium": None,
        "utm_content": None,
        "utm_term": None,
    },
    "questions_answers": [
        {"question": "How many employees do you have?", "answer": "30"},
        {"question": "Anything else?", "answer": ""},
    ],
    "previous_reference": None,
    "canceled_by": None,
    "reason": None,
}
CALCOM_STATE = {
    "changed_at": "2023-05-24T09:30:00.538Z",
    "state": "BOOKED",
    "schedule_time": "2027-05-25T09:30:00Z",
    "duration_minutes": 60,
    "lead": {"email": "john.doe@example.com", "first_name": "John", "last_name": "Doe", "phone": "+14155552671"},
    "event_type": "60min",
    "host_email": "hana@acme.example",
    "meeting_url": "https://app.cal.com/video/bFJeNb2uX8ANpT3JL5EfXw",
    "traffic": {"utm_source": "letter"},
    "questions_answers": [
        {"question": "additional_notes", "answer": None},
        {"question": "Your budget", "answer": ["5k", "10k"]},
    ],
    "previous_reference": None,
    "canceled_by": None,
    "reason": None,
}


def relay_calendly(webhook: object) -> int:
    return post(calendly.application, encode(webhook), **calendly_signature(encode(webhook))).status


def relay_calcom(webhook: object) -> int:
    return post(calcom.application, encode(webhook), **calcom_signature(encode(webhook))).status


def relay_typeform(webhook: object) -> int:
    return post(typeform.application, encode(webhook), **typeform_signature(encode(webhook))).status


def sent(service: Service) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [(*request[:3], json.loads(request[3])) for request in service.requests]


def calendly_request(reference: str = "BBBBBBBBBBBBBBBB", **fields: Any) -> list[Any]:
    path = f"/api/external/sync/SCHEDULER_A/appointments/{reference}"
    return [("PUT", path, "pb_test", {**CALENDLY_STATE, **fields})]


def calcom_request(reference: str = "bFJeNb2uX8ANpT3JL5EfXw", **fields: Any) -> list[Any]:
    path = f"/api/external/sync/SCHEDULER_B/appointments/{reference}"
    return [("PUT", path, "pb_test", {**CALCOM_STATE, **fields})]


def test_calendlys_new_invitee_is_a_booked_appointment(service: Service) -> None:
    assert relay_calendly(CALENDLY) == 200

    assert sent(service) == calendly_request()


def test_calendlys_rescheduling_is_one_request_that_names_the_former_invitee(service: Service) -> None:
    former = CALENDLY["payload"]["uri"]
    canceled = {"rescheduled": True, "status": "canceled", "updated_at": "2020-11-24T08:00:00.000000Z"}
    created = {
        "uri": "https://api.calendly.com/scheduled_events/CC/invitees/DD",
        "old_invitee": former,
        "updated_at": "2020-11-24T08:00:00.100000Z",
    }

    statuses = [
        relay_calendly(changed(CALENDLY, canceled, event="invitee.canceled")),
        relay_calendly(changed(CALENDLY, created)),
    ]

    assert statuses == [204, 200]
    assert sent(service) == calendly_request(
        "DD", changed_at="2020-11-24T08:00:00.100000Z", previous_reference="BBBBBBBBBBBBBBBB"
    )


@pytest.mark.parametrize(("canceler_type", "canceled_by"), [("invitee", "LEAD"), ("host", "HOST"), ("robot", None)])
def test_calendlys_cancellation_says_who_and_why(service: Service, canceler_type: str, canceled_by: str | None) -> None:
    cancellation = {"canceled_by": "John Doe", "reason": "Ill", "canceler_type": canceler_type}
    canceled = {"cancellation": cancellation, "status": "canceled", "updated_at": "2020-11-24T08:00:00.000000Z"}

    assert relay_calendly(changed(CALENDLY, canceled, event="invitee.canceled")) == 200

    assert sent(service) == calendly_request(
        changed_at="2020-11-24T08:00:00.000000Z", state="CANCELED", canceled_by=canceled_by, reason="Ill"
    )


def test_webhooks_in_the_wrong_order_are_sent_as_they_come(service: Service) -> None:
    """A relay remembers nothing. Each state says when it was true, so the service keeps the newest one."""
    canceled = {"cancellation": {}, "updated_at": "2020-11-24T08:00:00.000000Z"}

    statuses = [relay_calendly(changed(CALENDLY, canceled, event="invitee.canceled")), relay_calendly(CALENDLY)]

    assert statuses == [200, 200]
    assert [(body["state"], body["changed_at"]) for _, _, _, body in sent(service)] == [
        ("CANCELED", "2020-11-24T08:00:00.000000Z"),
        ("BOOKED", "2020-11-23T17:51:18.341657Z"),
    ]


@pytest.mark.parametrize(
    ("event", "state"), [("invitee_no_show.created", "NO_SHOW"), ("invitee_no_show.deleted", "BOOKED")]
)
def test_calendlys_no_show_is_newer_than_the_invitee(service: Service, event: str, state: str) -> None:
    """The invitee's `updated_at` doesn't say when it was marked."""
    assert relay_calendly(changed(CALENDLY, event=event, created_at="2027-08-24T15:00:00.000000Z")) == 200

    assert sent(service) == calendly_request(changed_at="2027-08-24T15:00:00.000000Z", state=state)


@pytest.mark.parametrize(
    ("location", "meeting_url"),
    [
        (None, None),
        ({"type": "physical", "location": "Calendly Office"}, None),
        ({"type": "custom", "location": "https://meet.example/1"}, "https://meet.example/1"),
        ({"type": "zoom", "status": "initiated", "join_url": None}, None),
    ],
)
def test_only_an_address_of_the_web_is_a_meeting_url(
    service: Service, location: object, meeting_url: str | None
) -> None:
    event = {**CALENDLY["payload"]["scheduled_event"], "location": location, "event_memberships": []}

    assert relay_calendly(changed(CALENDLY, {"scheduled_event": event})) == 200

    assert sent(service) == calendly_request(meeting_url=meeting_url, host_email=None)


def test_calcoms_booking_is_a_booked_appointment(service: Service) -> None:
    assert relay_calcom(CALCOM) == 200

    assert sent(service) == calcom_request()


def test_calcoms_rescheduling_names_the_former_booking(service: Service) -> None:
    moved = {"uid": "new/uid", "rescheduleId": 91, "rescheduleUid": "bFJeNb2uX8ANpT3JL5EfXw"}

    webhook = changed(CALCOM, moved, triggerEvent="BOOKING_RESCHEDULED", createdAt="2023-05-25T08:00:00.000Z")
    assert relay_calcom(webhook) == 200

    assert sent(service) == calcom_request(
        "new%2Fuid", changed_at="2023-05-25T08:00:00.000Z", previous_reference="bFJeNb2uX8ANpT3JL5EfXw"
    )


@pytest.mark.parametrize(
    ("email", "canceled_by"), [("john.doe@example.com", "LEAD"), ("hana@acme.example", "HOST"), (None, None)]
)
def test_calcoms_cancellation_says_who_and_why(service: Service, email: str | None, canceled_by: str | None) -> None:
    """Its payload has no metadata."""
    canceled = {"status": "CANCELLED", "cancelledBy": email, "cancellationReason": "Ill", "metadata": None}

    assert relay_calcom(changed(CALCOM, canceled, triggerEvent="BOOKING_CANCELLED")) == 200

    assert sent(service) == calcom_request(
        state="CANCELED", canceled_by=canceled_by, reason="Ill", meeting_url=None, traffic={}
    )


def test_typeforms_response_is_an_opt_in(service: Service) -> None:
    assert relay_typeform(TYPEFORM) == 200

    path = "/api/external/sync/FORMBUILDER_A/opt-ins/a3a12ec67a1365927098a606107fac15"
    body = {
        "changed_at": "2018-01-18T18:17:02Z",
        "email": "laura@example.com",
        "first_name": "Laura",
        "last_name": "Palmer",
        "provider_form_id": "lT4Z3j",
        "provider_form_name": "Webhooks example",
        "traffic": {"utm_source": "ads", "landing_page": "https://acme.example/"},
        "questions_answers": [
            {"question": "What's it like where you live?", "answer": "Cold"},
            {"question": "Phone", "answer": "+34960123456"},
            {"question": "Which city?", "answer": "London"},
            {"question": "Which days?", "answer": ["Mo", "Never"]},
            {"question": "Agreed?", "answer": True},
            {"question": "How well?", "answer": 3},
        ],
    }
    assert sent(service) == [("PUT", path, "pb_test", body)]


@pytest.mark.parametrize(
    ("hidden", "names"),
    [({}, ("laura", None)), ({"first_name": "Laura", "last_name": "P"}, ("Laura", "P")), (None, ("laura", None))],
)
def test_without_a_question_the_name_comes_from_hidden_fields_or_the_email(
    service: Service, hidden: dict[str, str] | None, names: tuple[str, str | None]
) -> None:
    answers = [{"type": "email", "email": "laura@example.com", "field": {"id": "f4", "type": "email"}}]
    response = {**TYPEFORM["form_response"], "answers": answers, "hidden": hidden}

    assert relay_typeform({**TYPEFORM, "form_response": response}) == 200

    (request,) = sent(service)
    assert (request[3]["first_name"], request[3]["last_name"], request[3]["questions_answers"]) == (*names, [])


def test_a_form_with_more_answers_than_the_service_stores_is_not_lost(service: Service) -> None:
    answer = {"type": "number", "number": 3, "field": {"id": "WOTdC00F8A3h", "type": "rating"}}
    answers = [*TYPEFORM["form_response"]["answers"], *[answer] * 60]

    assert relay_typeform({**TYPEFORM, "form_response": {**TYPEFORM["form_response"], "answers": answers}}) == 200

    (request,) = sent(service)
    assert len(request[3]["questions_answers"]) == 50


@pytest.mark.parametrize(
    ("relay", "webhook"),
    [
        (relay_calendly, changed(CALENDLY, event="routing_form_submission.created")),
        (relay_calcom, changed(CALCOM, triggerEvent="MEETING_ENDED")),
        (relay_calcom, {"triggerEvent": "BOOKING_NO_SHOW_UPDATED", "createdAt": "", "payload": {"bookingUid": "b"}}),
        (relay_typeform, {**TYPEFORM, "event_type": "form_response_partial"}),
        (relay_typeform, {**TYPEFORM, "form_response": {**TYPEFORM["form_response"], "answers": None}}),
    ],
)
def test_an_event_that_does_not_matter_is_204_and_sends_nothing(service: Service, relay: Any, webhook: object) -> None:
    assert relay(webhook) == 204

    assert service.requests == []


def test_the_customer_chooses_the_source(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE", "SCHEDULER_C")

    assert [relay_calendly(CALENDLY), relay_calcom(CALCOM)] == [200, 200]

    assert [request[1].split("/")[4] for request in service.requests] == ["SCHEDULER_C", "SCHEDULER_C"]
