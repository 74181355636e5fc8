"""integrations/: relays accept a vendor's signed webhooks and report whole states to the service."""

import base64
import hashlib
import hmac
import io
import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import calcom
import calendly
import pytest
import relay
import typeform

from appointments.models import Appointment
from tests.client import ApiClient
from tests.factories import make_api, make_member
from tests.integrations.payloads import CALCOM, CALENDLY, TYPEFORM
from tests.receiver import Receiver

KEY = b"signing-key"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", KEY.decode())
    monkeypatch.setenv("PIPELINE_API_KEY", "pb_key")


@pytest.fixture
def service(organization: Any, monkeypatch: pytest.MonkeyPatch) -> ApiClient:
    """Let relays send to the service."""
    make_member(organization, "hana@acme.example")
    scheduler = make_api(organization, scopes=["sync"])

    def send(path: str, body: dict[str, Any]) -> tuple[int, str]:
        response = scheduler.put(f"/api/external/sync/{path}", body)
        return response.status_code, response.content.decode()

    monkeypatch.setattr(relay, "send", send)
    return scheduler


def digest(body: bytes, *, before: bytes = b"") -> str:
    return hmac.new(KEY, before + body, hashlib.sha256).hexdigest()


def signed(module: Any, body: bytes, *, age: int = 0) -> dict[str, str]:
    timestamp = str(int(time.time()) - age)
    if module is calendly:
        v1 = digest(body, before=f"{timestamp}.".encode())
        return {"HTTP_CALENDLY_WEBHOOK_SIGNATURE": f"t={timestamp},v1={v1}"}
    if module is calcom:
        return {"HTTP_X_CAL_SIGNATURE_256": digest(body)}
    return {"HTTP_TYPEFORM_SIGNATURE": "sha256=" + base64.b64encode(bytes.fromhex(digest(body))).decode()}


def post(module: Any, event: Any, **environ: str) -> tuple[int, str]:
    """Send a webhook with a valid signature, or with other entries of the environment."""
    body = json.dumps(event).encode()
    statuses: list[str] = []
    request = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), **signed(module, body), **environ}
    (text,) = module.application(request, lambda status, headers: statuses.append(status))
    return int(statuses[0][:3]), text.decode()


def changed(event: dict[str, Any], type: str, **values: Any) -> dict[str, Any]:
    copy = deepcopy(event)
    copy["event" if "event" in copy else "triggerEvent"] = type
    copy["payload"] |= values
    return copy


def stored(organization: Any) -> list[tuple[str, str]]:
    return sorted(Appointment.objects.of(organization).values_list("external_reference", "outcome__role"))


@pytest.mark.parametrize(("module", "event"), [(calendly, CALENDLY), (calcom, CALCOM)])
def test_a_booking_is_stored_with_all_that_the_scheduler_knows(
    service: ApiClient, api: ApiClient, organization: Any, module: Any, event: Any
) -> None:
    status, _ = post(module, event)

    (shown,) = api.get_data("/api/external/appointments")
    assert (status, shown["schedule_time"]) == (201, "2027-01-05T10:00:00.000Z")
    assert (shown["lead"]["email"], shown["lead"]["first_name"]) == ("ada@example.com", "Ada")
    assert (shown["appointment_type"], shown["host"]["email"]) == ("Strategy call", "hana@acme.example")
    assert shown["meeting_url"] == "https://meet.example/1"
    assert Appointment.objects.of(organization).get().duration_minutes == 45
    assert len(api.get_data("/api/external/opt-ins")) == 1


@pytest.mark.parametrize("is_late", [False, True])
def test_a_booking_that_is_moved_in_calendly_stays_one_appointment_in_either_order(
    service: ApiClient, organization: Any, is_late: bool
) -> None:
    new_uri = CALENDLY["payload"]["uri"].replace("INVITEE1", "INVITEE2")
    old_uri, moved_at = CALENDLY["payload"]["uri"], "2026-12-02T10:00:00.000000Z"
    events = [
        CALENDLY,
        changed(CALENDLY, "invitee.canceled", rescheduled=True, new_invitee=new_uri, updated_at=moved_at),
        changed(CALENDLY, "invitee.created", uri=new_uri, old_invitee=old_uri, updated_at=moved_at),
    ]

    statuses = {post(calendly, event)[0] for event in (reversed(events) if is_late else events)}

    assert statuses == {200, 201, 204}
    assert stored(organization) == [("INVITEE2", "APPOINTMENT_BOOKED")]


def test_a_cancellation_in_calendly_cancels(service: ApiClient, organization: Any) -> None:
    post(calendly, CALENDLY)
    cancellation = {"canceled_by": "Ada", "reason": "Is ill", "canceler_type": "invitee"}

    post(
        calendly,
        changed(CALENDLY, "invitee.canceled", cancellation=cancellation, updated_at="2026-12-02T10:00:00Z"),
    )

    assert stored(organization) == [("INVITEE1", "CANCELED")]


def test_a_booking_is_moved_and_canceled_in_calcom(service: ApiClient, organization: Any) -> None:
    moved = changed(CALCOM, "BOOKING_RESCHEDULED", uid="new", rescheduleUid=CALCOM["payload"]["uid"])
    canceled = changed(CALCOM, "BOOKING_CANCELLED", uid="new", cancellationReason="Is ill")

    for event, second in ((CALCOM, 0), (moved, 1), (canceled, 2)):
        post(calcom, event | {"createdAt": f"2026-12-01T10:00:0{second}.538Z"})

    assert stored(organization) == [("new", "CANCELED")]


def test_a_submission_of_typeform_is_an_opt_in(service: ApiClient, api: ApiClient) -> None:
    status, _ = post(typeform, TYPEFORM)

    (row,) = api.get_data("/api/external/opt-ins")
    opt_in = api.get_opt_in(row["id"])
    assert (status, row["source"], row["external_reference"]) == (
        201,
        "FORMBUILDER_A",
        TYPEFORM["form_response"]["token"],
    )
    assert row["provider_form_name"] == "Strategy call"
    assert opt_in["traffic_attribution"]["utm_source"] == "letter"
    assert [(answer["question"], answer["answer"]) for answer in opt_in["question_answers"]] == [
        ("First name?", "Ada"),
        ("Where?", "London, Sydney"),
        ("Ready?", "true"),
    ]
    assert api.get_lead(row["lead_id"])["first_name"] == "Ada"


@pytest.mark.parametrize(("module", "event"), [(calendly, CALENDLY), (calcom, CALCOM), (typeform, TYPEFORM)])
def test_a_wrong_signature_is_401_and_nothing_is_sent(monkeypatch: Any, module: Any, event: Any) -> None:
    monkeypatch.setattr(relay, "send", pytest.fail)
    other = signed(module, json.dumps(event | {"x": 1}).encode())

    assert post(module, event, **other)[0] == 401
    assert post(module, event, **dict.fromkeys(other, ""))[0] == 401


def test_an_old_signature_of_calendly_is_401(monkeypatch: Any) -> None:
    monkeypatch.setattr(relay, "send", pytest.fail)

    assert post(calendly, CALENDLY, **signed(calendly, json.dumps(CALENDLY).encode(), age=600))[0] == 401


@pytest.mark.parametrize(("module", "field"), [(calendly, "event"), (calcom, "triggerEvent"), (typeform, "event_type")])
def test_other_events_are_204_and_other_bodies_400(monkeypatch: Any, module: Any, field: str) -> None:
    monkeypatch.setattr(relay, "send", pytest.fail)

    assert post(module, {field: "other", "payload": {}})[0] == 204
    assert [post(module, body)[0] for body in ({}, [], "x")] == [400, 400, 400]
    assert post(module, {}, CONTENT_LENGTH="2000000")[0] == 400


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(200, 200), (400, 422), (404, 422), (409, 422), (401, 503), (403, 503), (429, 503), (500, 503), (503, 503)],
)
def test_the_vendor_repeats_what_can_succeed_later(monkeypatch: pytest.MonkeyPatch, answer: int, expected: int) -> None:
    with Receiver(status_codes=[answer]) as receiver:
        monkeypatch.setenv("PIPELINE_URL", receiver.url)

        assert post(calendly, CALENDLY)[0] == expected

    (request,) = receiver.requests
    assert request.path.endswith("/api/external/sync/SCHEDULER_A/appointments/INVITEE1")
    assert request.headers["x-api-key"] == "pb_key"


def test_a_service_that_can_not_be_reached_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIPELINE_URL", "http://127.0.0.1:9")

    assert post(calcom, CALCOM)[0] == 503


@pytest.mark.django_db(transaction=True)
def test_a_host_who_is_no_member_is_left_out(organization: Any, live_server: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PIPELINE_URL", live_server.url)
    monkeypatch.setenv("PIPELINE_API_KEY", make_api(organization, scopes=["sync"]).key)

    assert post(calendly, CALENDLY)[0] == 200

    assert Appointment.objects.of(organization).get().host is None


def test_the_n8n_template_connects_its_nodes() -> None:
    template = json.loads((Path(relay.__file__).with_name("n8n.json")).read_text())

    names = [node["name"] for node in template["nodes"]]
    targets = [link["node"] for links in template["connections"].values() for link in links["main"][0]]
    assert [*template["connections"], *targets] == names
    assert template["nodes"][1]["parameters"]["method"] == "PUT"
