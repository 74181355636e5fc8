"""Changes of an appointment through the API (docs/interface.md, A34 to A36, G47 and G48)."""

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from appointments.models import Appointment
from leads.models import CustomField
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields, assert_unreadable_body
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import (
    deactivate,
    events_of,
    make_api,
    make_custom_field,
    make_member,
    make_provider_appointment,
    make_status,
    notifications_of,
    set_columns,
    snapshot_of,
)

PATH = "/api/external/appointments"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
SOON = "2090-01-05T10:00:00.000Z"
OLD_VERSION = '"2020-01-05T10:00:00.000Z"'


@pytest.fixture
def id(api: ApiClient, host: Membership) -> str:
    """An upcoming appointment with a host and a meeting URL."""
    booking = api.book(host_email="hana@acme.example", meeting_url="https://meet.example/1", schedule_time=SOON)
    return str(booking.json()["data"]["id"])


def update(api: ApiClient, id: str, /, *, if_match: str | None = None, **changes: Any) -> Any:
    headers = {} if if_match is None else {"if_match": if_match}
    return api.patch(f"{PATH}/{id}", changes, **headers)


def custom_values(item: dict[str, Any]) -> dict[str, Any]:
    return {field["key"]: field["value"] for field in item["custom_fields"]}


def test_an_update_changes_the_fields_and_returns_the_detail(api, organization, id):
    """A34"""
    make_member(organization, "olga@acme.example")
    make_custom_field(organization, "APPOINTMENT", "color")

    response = update(
        api,
        id,
        outcome_role="WON",
        host_email="OLGA@acme.example",
        setter_email="hana@acme.example",
        triager_email="olga@acme.example",
        meeting_url=" https://meet.example/2 ",
        recording_url="https://record.example/1",
        call_category="TRIAGE_CALL",
        custom_fields={"color": "blue"},
    )

    data = response.json()["data"]
    assert response.status_code == 200
    assert response.json() == {"status": "success", "message": "Appointment updated", "data": data}
    assert data == api.get_appointment(id)
    assert [data[role]["email"] for role in ("host", "setter", "triager")] == [
        "olga@acme.example",
        "hana@acme.example",
        "olga@acme.example",
    ]
    values = [data[name] for name in ("meeting_url", "recording_url", "call_category")]
    assert values == ["https://meet.example/2", "https://record.example/1", "TRIAGE_CALL"]
    assert (data["outcome"]["role"], custom_values(data)) == ("WON", {"color": "blue"})


@pytest.mark.django_db(transaction=True)
def test_an_update_is_one_event_by_the_key(api, id):
    """A34: the event, the old values and the actor."""
    seen, before = len(api.list_events()), api.get_appointment(id)

    data = update(api, id, host_email=None, recording_url="https://record.example/1").json()["data"]

    (event,) = api.list_events()[seen:]
    assert (event["type"], event["data"], event["actor"]["kind"]) == ("appointment.updated", data, "API_KEY")
    assert event["previous"] == {"host": before["host"], "recording_url": None}
    assert data["updated_at"] > before["updated_at"]


@pytest.mark.parametrize("changes", [{}, {"call_category": "SALES_CALL"}, {"host_email": "hana@acme.example"}])
def test_an_update_that_changes_nothing_records_nothing(api, organization, id, changes):
    """A34"""
    before = snapshot_of(organization)

    response = update(api, id, **changes)

    assert (response.status_code, response.json()["data"]) == (200, api.get_appointment(id))
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_blank_value_clears_and_an_absent_one_keeps(api, id, blank):
    """G47"""
    update(api, id, recording_url="https://record.example/1", setter_email="hana@acme.example")

    data = update(api, id, host_email=blank, meeting_url=blank).json()["data"]

    assert (data["host"], data["meeting_url"]) == (None, None)
    assert (data["setter"]["email"], data["recording_url"]) == ("hana@acme.example", "https://record.example/1")


@pytest.mark.parametrize("field", ["status_id", "outcome_role", "call_category", "custom_fields"])
@pytest.mark.parametrize("blank", [None, "", " "])
def test_what_cannot_be_cleared_is_400(api, organization, id, field, blank):
    """A34"""
    before = snapshot_of(organization)

    response = update(api, id, meeting_url=None, **{field: blank})

    assert_invalid_fields(response, field)
    assert response.json()["message"] == f"{field} can't be cleared"
    assert snapshot_of(organization) == before


def test_all_malformed_fields_are_named_at_once(api, id):
    """G5"""
    response = update(api, id, call_category=None, meeting_url="x", custom_fields=[], host_email=5, outcome_role="YES")

    assert_invalid_fields(response, "call_category", "meeting_url", "custom_fields", "host_email", "outcome_role")


def test_the_outcome_is_set_by_status(api, organization, id):
    """A35"""
    status = make_status(organization, "Signed", role="WON")

    data = update(api, id, status_id=str(status.pk), outcome_role="LOST").json()["data"]

    assert data["outcome"]["name"] == "Signed"


def test_the_outcome_is_set_by_role_to_its_default(api, organization, id):
    """A35"""
    make_status(organization, "A decoy", role="NO_SHOW")

    data = update(api, id, outcome_role="NO_SHOW").json()["data"]

    assert (data["outcome"]["name"], data["no_show"]) == ("No-show", True)


def test_a_role_without_a_default_is_400(api, organization, id):
    """A35"""
    Status.objects.of(organization).filter(role="LOST").update(is_appointment_default=False)
    before = snapshot_of(organization)

    response = update(api, id, outcome_role="LOST", meeting_url=None)

    assert_invalid_fields(response, "outcome_role")
    assert response.json()["message"] == "outcome_role has no default status on the appointment board"
    assert snapshot_of(organization) == before


def test_a_status_that_cannot_be_set_is_400(api, other_api, organization, id):
    """A35"""
    of_leads = make_status(organization, "Only leads", type="LEAD")
    retired = make_status(organization, "Retired", is_active=False)
    before = snapshot_of(organization)

    for status_id in [UNKNOWN_ID, other_api.get_status("WON")["id"], of_leads.pk, retired.pk]:
        assert_invalid_fields(update(api, id, status_id=str(status_id)), "status_id")

    assert snapshot_of(organization) == before


def test_a_canceled_outcome_cancels_and_a_booked_one_books_again(api, organization, id):
    """A35: with the effects on lead and people that they have when staff choose them."""
    canceled = update(api, id, outcome_role="CANCELED").json()["data"]
    lead = api.get_lead(canceled["lead"]["id"])
    assert (canceled["meeting_url"], lead["status"]["role"]) == (None, "CANCELED")
    assert lead["next_touch_point_at"] is None

    booked = update(api, id, outcome_role="APPOINTMENT_BOOKED", meeting_url="https://meet.example/2").json()["data"]
    lead = api.get_lead(booked["lead"]["id"])
    assert (booked["meeting_url"], lead["status"]["role"]) == ("https://meet.example/2", "APPOINTMENT_BOOKED")
    assert lead["next_touch_point_at"] == SOON
    assert notifications_of(organization) == [
        ("CALL_BOOKED", "hana@acme.example"),
        ("CALL_BOOKED", "hana@acme.example"),
        ("CALL_CANCELED", "hana@acme.example"),
    ]


@pytest.mark.parametrize("field", ["host_email", "setter_email", "triager_email"])
def test_an_email_that_cannot_be_named_is_400(api, other_organization, organization, id, field):
    """A12, M2"""
    make_member(organization, "vera@acme.example", role=MemberRole.VIEWER)
    deactivate(make_member(organization, "left@acme.example"))
    make_member(other_organization, "sol@globex.example")
    before = snapshot_of(organization)

    for email in ["vera@acme.example", "left@acme.example", "sol@globex.example", "nobody@acme.example"]:
        response = update(api, id, **{field: email, "meeting_url": None})
        assert_invalid_fields(response, field)
        refusal = "must belong to an active member of the organization who is not a viewer"
        assert response.json()["message"] == f"{field} {refusal}"

    assert snapshot_of(organization) == before


def test_a_member_who_has_left_may_stay(api, host, id):
    """A34"""
    deactivate(host)

    response = update(api, id, host_email="hana@acme.example", recording_url="https://record.example/1")

    assert (response.status_code, response.json()["data"]["host"]["email"]) == (200, "hana@acme.example")


VALUES = [
    ("TEXT", " blue ", "blue"),
    ("NUMBER", 5, 5),
    ("NUMBER", 5.0, 5),
    ("NUMBER", -0.25, -0.25),
    ("BOOLEAN", False, False),
    ("DATE", "2028-02-29", "2028-02-29"),
    ("SELECT", "large", "large"),
]
REFUSED = [
    ("TEXT", 5, "must be a string"),
    ("TEXT", ["blue"], "must be a string"),
    ("TEXT", "a" * 10_001, "must be at most 10000 characters long"),
    ("NUMBER", "5", "must be a number"),
    ("NUMBER", True, "must be a number"),
    ("NUMBER", 10**400, "must be a number"),
    ("BOOLEAN", "true", "must be true or false"),
    ("BOOLEAN", 1, "must be true or false"),
    ("DATE", "2027-02-29", "must be a date such as 2027-01-05"),
    ("DATE", "20270105", "must be a date such as 2027-01-05"),
    ("DATE", "2027-01-05T10:00:00Z", "must be a date such as 2027-01-05"),
    ("DATE", "２０２７-01-05", "must be a date such as 2027-01-05"),
    ("DATE", 20270105, "must be a date such as 2027-01-05"),
    ("SELECT", "Large", "must be one of: small, large"),
    ("SELECT", {"a": 1}, "must be one of: small, large"),
    ("SELECT", True, "must be one of: small, large"),
]


@pytest.fixture
def make_field(organization: Organization) -> Any:
    def make(type: str) -> CustomField:
        options = ["small", "large"] if type == "SELECT" else []
        return make_custom_field(organization, "APPOINTMENT", "own", type=type, options=options)

    return make


@pytest.mark.parametrize(("type", "value", "shown"), VALUES)
def test_a_custom_value_of_the_fields_type_is_stored(api, organization, id, make_field, type, value, shown):
    """A36"""
    make_field(type)
    make_custom_field(organization, "APPOINTMENT", "other")
    update(api, id, custom_fields={"other": "stays"})

    data = update(api, id, custom_fields={"own": value}).json()["data"]

    assert custom_values(data) == {"own": shown, "other": "stays"}
    assert custom_values(update(api, id, custom_fields={"own": ""}).json()["data"]) == {"own": None, "other": "stays"}


@pytest.mark.parametrize(("type", "value", "problem"), REFUSED)
def test_a_custom_value_of_another_type_is_400(api, organization, id, make_field, type, value, problem):
    """A36"""
    make_field(type)
    before = snapshot_of(organization)

    response = update(api, id, custom_fields={"own": value}, meeting_url=None)

    assert_invalid_fields(response, "custom_fields.own")
    assert response.json()["message"] == f"custom_fields.own {problem}"
    assert snapshot_of(organization) == before


def test_a_number_that_is_repeated_changes_nothing(api, organization, id, make_field):
    """A36"""
    make_field("NUMBER")
    update(api, id, custom_fields={"own": 1e23})
    before = snapshot_of(organization)

    assert update(api, id, custom_fields={"own": 1e23}).status_code == 200

    assert snapshot_of(organization) == before


def test_an_option_that_was_removed_may_stay(api, organization, id, make_field):
    """A36"""
    field = make_field("SELECT")
    update(api, id, custom_fields={"own": "large"})
    CustomField.objects.of(organization).filter(pk=field.pk).update(options=["small"])

    assert update(api, id, custom_fields={"own": "large"}).status_code == 200
    assert custom_values(api.get_appointment(id)) == {"own": "large"}


def test_values_that_are_too_long_together_are_400(api, organization, id):
    """A36: a row that has more already may have less."""
    fields = [make_custom_field(organization, "APPOINTMENT", f"key{number}") for number in range(8)]
    values = {f"key{number}": "a" * 10_000 for number in range(8)}
    before = snapshot_of(organization)

    response = update(api, id, custom_fields=values, meeting_url=None)

    assert_invalid_fields(response, "custom_fields")
    assert response.json()["message"] == "custom_fields must have at most 65536 characters together, as JSON text"
    assert snapshot_of(organization) == before
    set_columns(Appointment, organization, id, custom_values={str(field.pk): "a" * 10_000 for field in fields})
    assert update(api, id, custom_fields={"key0": "a" * 9_000}).status_code == 200
    assert_invalid_fields(update(api, id, custom_fields={"key0": "a" * 9_001}), "custom_fields")


def test_unknown_keys_are_400(api, other_organization, organization, id):
    """A36: also those of leads, and of another organization. The response names the first three."""
    make_custom_field(organization, "LEAD", "of_leads")
    make_custom_field(other_organization, "APPOINTMENT", "foreign")
    before = snapshot_of(organization)

    response = update(api, id, custom_fields={"of_leads": "x", "foreign": None, "k" * 100: 5, "fourth": 1})

    assert_invalid_fields(response, "custom_fields.of_leads", "custom_fields.foreign", "custom_fields." + "k" * 64)
    assert response.json()["message"] == "custom_fields.of_leads is not known in the organization"
    assert snapshot_of(organization) == before


def test_a_schedulers_appointment_is_changed_as_staff_change_it(api, organization, host):
    """A34"""
    id = str(make_provider_appointment(organization, schedule_time=datetime.fromisoformat(SOON)).pk)

    data = update(api, id, outcome_role="WON", host_email="hana@acme.example").json()["data"]

    assert (data["source"], data["outcome"]["role"]) == ("SCHEDULER_A", "WON")
    assert data["host"]["email"] == "hana@acme.example"


@pytest.mark.parametrize("role", ["NO_SHOW", "UNQUALIFIED", "PARTIAL_PAYMENT", "WON", "FOLLOW_UP", "LOST"])
def test_an_outcome_that_says_how_the_call_went_moves_the_lead(api, organization, id, role):
    """A29: to the default status of its role, with one event; a repetition changes nothing."""
    lead = api.get_appointment(id)["lead"]["id"]

    for _ in range(2):
        assert update(api, id, outcome_role=role).status_code == 200

    assert api.get_lead(lead)["status"]["role"] == role
    assert events_of(organization).count("lead.status_changed") == 1


def test_an_outcome_moves_no_lead_that_has_paid_nor_to_a_role_without_default(api, organization, id):
    """A29, S10"""
    lead = api.get_appointment(id)["lead"]["id"]
    Status.objects.of(organization).filter(role="LOST").update(is_lead_default=False)
    update(api, id, outcome_role="LOST")
    before = api.get_lead(lead)["status"]["role"]

    update(api, id, outcome_role="WON")
    update(api, id, outcome_role="NO_SHOW")

    assert (before, api.get_lead(lead)["status"]["role"]) == ("APPOINTMENT_BOOKED", "WON")


@pytest.mark.parametrize(
    "changes", [{"meeting_url": "https://meet.example"}, {"recording_url": None}, {"custom_fields": {"color": "x"}}]
)
def test_what_can_be_personal_of_an_erased_leads_appointment_is_409(api, organization, id, changes):
    """A34, L20"""
    make_custom_field(organization, "APPOINTMENT", "color")
    request_erasure(organization=organization, actor=SYSTEM, lead_id=UUID(api.get_appointment(id)["lead"]["id"]))
    before = snapshot_of(organization)

    assert_error(update(api, id, outcome_role="WON", **changes), 409, "The lead was erased")

    assert snapshot_of(organization) == before
    assert update(api, id, outcome_role="WON").status_code == 200


@pytest.mark.parametrize("unknown", [UNKNOWN_ID, "x", "cancel"])
def test_an_unknown_appointment_is_404(api, unknown):
    """A26"""
    if unknown == "cancel":
        assert update(api, unknown, meeting_url=None).status_code == 405
    else:
        assert_error(update(api, unknown, meeting_url=None, if_match=OLD_VERSION), 404, "Resource not found")


def test_an_appointment_of_another_organization_is_404(api, other_api, other_organization):
    """G22"""
    id = other_api.book().json()["data"]["id"]
    before = snapshot_of(other_organization)

    for if_match in (None, OLD_VERSION, "*"):
        assert_error(update(api, id, meeting_url=None, if_match=if_match), 404, "Resource not found")

    assert snapshot_of(other_organization) == before


def test_a_key_without_the_scope_write_is_403(organization, id):
    """K9"""
    reader = make_api(organization, scopes=["read"])

    assert_error(update(reader, id, meeting_url=None), 403, "This API key lacks the scope write")


def test_if_match_lets_the_version_pass_that_the_client_has_seen(api, id):
    """G48"""
    for version in [f'"{api.get_appointment(id)["updated_at"]}"', "*"]:
        assert update(api, id, recording_url=None, if_match=version).status_code == 200
    seen = api.get_appointment(id)["updated_at"]

    first = update(api, id, if_match=f'"{seen}"', recording_url="https://record.example/1")
    second = update(api, id, if_match=f'"{seen}"', recording_url="https://record.example/2")

    assert (first.status_code, second.status_code) == (200, 412)


def test_another_version_is_412_with_the_present_object(api, organization, id):
    """G48"""
    before = snapshot_of(organization)

    response = update(api, id, meeting_url=None, host_email="nobody@acme.example", if_match=OLD_VERSION)

    assert (response.status_code, response.json()) == (
        412,
        {
            "status": "error",
            "message": "The appointment has another updated_at than If-Match",
            "data": api.get_appointment(id),
        },
    )
    assert snapshot_of(organization) == before


MALFORMED = ["", '"', '""', "x", '"x"', '"2027-01-05"', '"*"', "2027-01-05T10:00:00.000Z"]


@pytest.mark.parametrize("if_match", [*MALFORMED, f"W/{OLD_VERSION}", f"{OLD_VERSION}, {OLD_VERSION}"])
def test_a_malformed_if_match_is_400(api, organization, id, if_match):
    """G48"""
    before = snapshot_of(organization)

    assert_invalid_fields(update(api, id, meeting_url=None, if_match=if_match), "If-Match")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("path", [PATH, "/api/external/leads"])
def test_media_type_and_json_come_before_if_match(api, path):
    """G1"""
    path = f"{path}/{UNKNOWN_ID}"

    text = api.request("PATCH", path, "{}", content_type="text/plain", if_match="x")
    broken = api.request("PATCH", path, "{", if_match="x")

    assert text.status_code == 415
    assert_unreadable_body(broken)
    assert "If-Match" not in broken.json()["message"]


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_updates_with_one_version_one_wins(api, organization, id):
    """G48: the version is compared under the row's lock."""
    version = f'"{api.get_appointment(id)["updated_at"]}"'
    urls = [f"https://record.example/{number}" for number in range(8)]

    responses = run_concurrently(
        api.key, *(lambda api, url=url: update(api, id, if_match=version, recording_url=url) for url in urls)
    )

    assert status_codes(responses) == {200: 1, 412: 7}
    (winner,) = [response.json()["data"] for response in responses if response.status_code == 200]
    assert all(response.json()["data"] == winner for response in responses)
    assert api.get_appointment(id) == winner


@pytest.mark.django_db(transaction=True)
def test_simultaneous_updates_of_different_custom_values_keep_all(api, organization, id):
    """A36: values are merged under the row's lock."""
    keys = [f"key{number}" for number in range(6)]
    for key in keys:
        make_custom_field(organization, "APPOINTMENT", key, type="NUMBER")

    responses = run_concurrently(
        api.key, *(lambda api, key=key: update(api, id, custom_fields={key: 1}) for key in keys)
    )

    assert status_codes(responses) == {200: 6}
    assert custom_values(api.get_appointment(id)) == dict.fromkeys(keys, 1)


def test_an_update_of_a_row_whose_stored_values_the_api_does_not_know_keeps_them(api, organization, id):
    """A36: values of a deleted custom field stay stored."""
    set_columns(Appointment, organization, id, custom_values={UNKNOWN_ID: "kept"})
    make_custom_field(organization, "APPOINTMENT", "color")

    update(api, id, custom_fields={"color": "blue"})

    assert Appointment.objects.of(organization).get(pk=id).custom_values[UNKNOWN_ID] == "kept"


def test_an_error_shows_the_beginning_of_many_options(api, organization, id):
    """A36: 200 rows of an import have such errors, and options are up to 2,000 long texts."""
    options = [f"{number} {'😀' * 200}" for number in range(400)]
    make_custom_field(organization, "APPOINTMENT", "own", type="SELECT", options=options)

    message = update(api, id, custom_fields={"own": "x"}).json()["message"]

    assert message.startswith(f"custom_fields.own must be one of: {options[0]}, 1 😀")
    assert message.endswith("😀 … (400 options)")
    assert len(message) < 400
