"""What the service stores of the vendors' webhooks: the relays with the real application behind them."""

import json
from typing import Any

import pytest

from integrations import calcom, calendly, relay, typeform
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import snapshot_of
from tests.integrations.vendors import (
    CALCOM,
    CALENDLY,
    TYPEFORM,
    Answer,
    calcom_signature,
    calendly_signature,
    changed,
    encode,
    post,
    typeform_signature,
)

FORMER = CALENDLY["payload"]["uri"]
LONG = "\0\ud800" + "x" * 12_000
RESCHEDULED = {
    "uri": "https://api.calendly.com/scheduled_events/CC/invitees/DD",
    "old_invitee": FORMER,
    "updated_at": "2020-11-24T08:00:00.100000Z",
    "scheduled_event": {
        **CALENDLY["payload"]["scheduled_event"],
        "start_time": "2027-08-25T09:00:00.000000Z",
        "end_time": "2027-08-25T09:15:00.000000Z",
    },
}
CREATED = CALENDLY
MOVED_AWAY = changed(
    CALENDLY, {"rescheduled": True, "updated_at": "2020-11-24T08:00:00.000000Z"}, event="invitee.canceled"
)
MOVED = changed(CALENDLY, RESCHEDULED)
CANCELED = changed(
    CALENDLY,
    {
        **RESCHEDULED,
        "updated_at": "2020-11-25T08:00:00.000000Z",
        "cancellation": {"reason": "Ill", "canceler_type": "invitee"},
    },
    event="invitee.canceled",
)


@pytest.fixture(autouse=True)
def _application(api: ApiClient, host: Membership, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the relays send to the application, whose host is the one in the vendors' payloads."""

    def send(path: str, state: relay.Json) -> tuple[int, str]:
        # Through JSON, as on the wire.
        response = api.put(f"/api/external/sync/{path}", json.loads(json.dumps(state)))
        return response.status_code, response.content.decode()

    monkeypatch.setattr(relay, "send", send)


def relay_calendly(webhook: object) -> Answer:
    return post(calendly.application, encode(webhook), **calendly_signature(encode(webhook)))


def only_appointment(api: ApiClient) -> dict[str, Any]:
    (appointment,) = api.get_data("/api/external/appointments")
    return appointment


def shown(api: ApiClient) -> tuple[object, ...]:
    item = only_appointment(api)
    return item["external_reference"], item["schedule_time"], item["outcome"]["role"], item["no_show"]


def test_a_booking_of_calendly_is_an_appointment_with_all_that_the_payload_says(
    api: ApiClient, other_organization: Organization
) -> None:
    before = snapshot_of(other_organization)

    answer = relay_calendly(CREATED)

    assert (answer.status, json.loads(answer.text)["data"]["applied"]) == (201, True)
    item = only_appointment(api)
    assert (item["source"], item["external_reference"]) == ("SCHEDULER_A", "BBBBBBBBBBBBBBBB")
    assert (item["schedule_time"], item["appointment_type"]) == ("2027-08-24T14:15:00.000Z", "15 Minute Meeting")
    assert (item["meeting_url"], item["utm_source"]) == ("https://zoom.us/j/1", "newsletter")
    assert item["host"]["email"] == "hana@acme.example"
    lead = api.get_lead(item["lead"]["id"])
    assert (lead["email"], lead["first_name"], lead["last_name"]) == ("test@example.com", "John", "Doe")
    (opt_in,) = api.get_appointment(item["id"])["opt_ins"]
    assert [(each["question"], each["answer"]) for each in api.get_opt_in(opt_in["id"])["question_answers"]] == [
        ("How many employees do you have?", "30"),
        ("Anything else?", None),
    ]
    assert snapshot_of(other_organization) == before


@pytest.mark.parametrize("end_time", ["2027-08-24T14:16:00.000000Z", "2027-08-31T14:15:00.000000Z"])
def test_a_booking_with_side_facts_that_the_service_refuses_is_stored_with_what_it_takes(
    api: ApiClient, end_time: str
) -> None:
    event = {**CALENDLY["payload"]["scheduled_event"], "end_time": end_time, "name": LONG}
    invitee = {"first_name": LONG, "last_name": LONG, "text_reminder_number": LONG, "scheduled_event": event}
    answers = [{"question": LONG, "answer": LONG, "position": 0}] + [{"question": "Why?", "answer": "So"}] * 60
    cancellation = {"reason": LONG, "canceler_type": "invitee"}
    payload = {**invitee, "questions_and_answers": answers, "cancellation": cancellation}

    answer = relay_calendly(changed(CALENDLY, payload, event="invitee.canceled"))

    assert (answer.status, only_appointment(api)["appointment_type"]) == (201, "x" * 255)
    lead = api.get_lead(only_appointment(api)["lead"]["id"])
    assert (lead["first_name"], lead["last_name"]) == ("x" * 255, "x" * 255)
    (opt_in,) = api.get_appointment(only_appointment(api)["id"])["opt_ins"]
    stored = api.get_opt_in(opt_in["id"])["question_answers"]
    assert [(len(each["question"]), len(each["answer"])) for each in stored] == [(10_000, 10_000)] + [(4, 2)] * 49


def test_what_a_vendor_leaves_empty_costs_no_booking(api: ApiClient) -> None:
    event = {**CALENDLY["payload"]["scheduled_event"], "name": None}
    blank = [{"question": " ", "answer": "So", "position": 0}]
    invitee = {"scheduled_event": event, "tracking": None, "questions_and_answers": None}
    attendee = {"email": "ada@example.com", "timeZone": "UTC", "language": {"locale": "en"}}
    responses = {"why": None, "budget": "1,000", "attendeePhoneNumber": None}
    booking = encode(changed(CALCOM, {"responses": responses, "attendees": [attendee]}))

    calls = [
        relay_calendly(changed(CALENDLY, invitee)),
        relay_calendly(changed(CALENDLY, {**invitee, "questions_and_answers": blank, "uri": "https://x.example/2"})),
        post(calcom.application, booking, **calcom_signature(booking)),
    ]

    assert [answer.status for answer in calls] == [201, 201, 201]
    answers = [api.get_opt_in(opt_in["id"])["question_answers"] for opt_in in api.get_data("/api/external/opt-ins")]
    assert [[(each["question"], each["answer"]) for each in some] for some in answers] == [
        [("why", None), ("budget", "1,000")]
    ]


@pytest.mark.parametrize("blank", [" ", "\0", "\n\0 "])
def test_a_text_of_white_space_costs_neither_booking_nor_opt_in(api: ApiClient, blank: str) -> None:
    responses = {"why": {"label": blank, "value": "So"}}
    booking = encode(changed(CALCOM, {"responses": responses, "eventTitle": blank}))
    response = TYPEFORM["form_response"]
    form = {
        **response["definition"],
        "fields": [{"id": "f1", "title": blank, "ref": "first_name"}, {"id": "f2", "title": blank}],
    }
    named, asked = ({"type": "text", "text": text, "field": {"id": id}} for id, text in (("f1", blank), ("f2", "So")))
    filled = {**response, "definition": form, "answers": [*response["answers"], named, asked]}
    opt_in = encode({**TYPEFORM, "form_response": filled})

    answers = [
        post(calcom.application, booking, **calcom_signature(booking)),
        post(typeform.application, opt_in, **typeform_signature(opt_in)),
    ]

    assert [answer.status for answer in answers] == [201, 201], [answer.text for answer in answers]


def test_the_form_of_calcom_or_typeform_is_cut_too(api: ApiClient) -> None:
    responses = {f"q{number}": {"label": LONG, "value": LONG} for number in range(10)}
    responses |= {f"s{number}": {"label": "Why?", "value": "So"} for number in range(50)}
    booking = encode(changed(CALCOM, {"responses": responses, "eventTitle": LONG, "endTime": "2027-06-25T09:30:00Z"}))
    text = {"type": "text", "text": LONG, "field": {"id": "f1", "type": "short_text"}}
    response = {**TYPEFORM["form_response"], "answers": [*TYPEFORM["form_response"]["answers"], *[text] * 10]}
    form = encode({**TYPEFORM, "form_response": response})

    answers = [
        post(calcom.application, booking, **calcom_signature(booking)),
        post(typeform.application, form, **typeform_signature(form)),
    ]

    assert [answer.status for answer in answers] == [201, 201]


@pytest.mark.parametrize(
    "webhooks",
    [
        [CREATED, MOVED_AWAY, MOVED, CANCELED],
        [CREATED, MOVED, MOVED_AWAY, CANCELED],
        [CREATED, CANCELED, MOVED, CREATED],
        [MOVED, CREATED, MOVED_AWAY, CANCELED],
        [CANCELED, MOVED_AWAY, MOVED, CREATED],
    ],
)
def test_calendlys_webhooks_have_the_same_result_in_any_order(api: ApiClient, webhooks: list[object]) -> None:
    statuses = [relay_calendly(webhook).status for webhook in webhooks]

    assert set(statuses) <= {200, 201, 204}
    assert shown(api) == ("DD", "2027-08-25T09:00:00.000Z", "CANCELED", False)


def test_calendlys_rescheduling_keeps_the_appointment(api: ApiClient) -> None:
    relay_calendly(CREATED)
    id = only_appointment(api)["id"]

    statuses = [relay_calendly(MOVED_AWAY).status, relay_calendly(MOVED).status]

    assert (statuses, only_appointment(api)["id"]) == ([204, 200], id)
    assert shown(api)[:2] == ("DD", "2027-08-25T09:00:00.000Z")


def test_calendlys_no_show_can_be_taken_back(api: ApiClient) -> None:
    relay_calendly(CREATED)
    marked_at, unmarked_at = "2027-08-24T15:00:00.000000Z", "2027-08-24T16:00:00.000000Z"

    relay_calendly(changed(CALENDLY, event="invitee_no_show.created", created_at=marked_at))
    marked = shown(api)
    relay_calendly(changed(CALENDLY, event="invitee_no_show.deleted", created_at=unmarked_at))

    assert (marked[2], marked[3]) == ("NO_SHOW", True)
    assert only_appointment(api)["schedule_time"] == "2027-08-24T14:15:00.000Z"


def test_calcoms_booking_is_moved_and_canceled(api: ApiClient) -> None:
    moved = {"uid": "new", "rescheduleUid": CALCOM["payload"]["uid"], "startTime": "2027-05-26T09:30:00Z"}
    moved |= {"endTime": "2027-05-26T10:30:00Z"}
    webhooks = [
        CALCOM,
        changed(CALCOM, moved, triggerEvent="BOOKING_RESCHEDULED", createdAt="2023-05-25T08:00:00.000Z"),
        changed(CALCOM, moved, triggerEvent="BOOKING_CANCELLED", createdAt="2023-05-26T08:00:00.000Z"),
    ]

    statuses = []
    for webhook in webhooks:
        body = encode(webhook)
        statuses.append(post(calcom.application, body, **calcom_signature(body)).status)

    assert statuses == [201, 200, 200]
    assert only_appointment(api)["source"] == "SCHEDULER_B"
    assert shown(api) == ("new", "2027-05-26T09:30:00.000Z", "CANCELED", False)


def test_typeforms_response_is_an_opt_in_and_a_repeat_changes_nothing(
    api: ApiClient, organization: Organization
) -> None:
    body = encode(TYPEFORM)

    first = post(typeform.application, body, **typeform_signature(body))
    before = snapshot_of(organization)
    second = post(typeform.application, body, **typeform_signature(body))

    assert (first.status, second.status) == (201, 200)
    assert snapshot_of(organization) == before
    opt_in = api.get_opt_in(json.loads(first.text)["data"]["opt_in_id"])
    assert (opt_in["source"], opt_in["external_reference"]) == ("FORMBUILDER_A", TYPEFORM["form_response"]["token"])
    assert (opt_in["provider_form_name"], opt_in["traffic_attribution"]["utm_source"]) == ("Webhooks example", "ads")
    assert [(each["question"], each["answer"]) for each in opt_in["question_answers"]] == [
        ("What's it like where you live?", "Cold"),
        ("Phone", "+34960123456"),
        ("Which city?", "London"),
        ("Which days?", "Mo, Never"),
        ("Agreed?", "true"),
        ("How well?", "3"),
    ]
    lead = api.get_lead(opt_in["lead_id"])
    assert (lead["email"], lead["first_name"], lead["last_name"]) == ("laura@example.com", "Laura", "Palmer")
