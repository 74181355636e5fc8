"""Leads: status update, list and detail (interface 4.9, decision 18)."""

import re

import pytest

from leads.models import Lead, LeadStatusChange
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.factories import make_custom_field, make_member, make_status, set_columns, snapshot_of, summary_of

PATH = "/api/external/leads"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
FIELDS = [
    "created_at",
    "custom_fields",
    "email",
    "first_name",
    "first_source",
    "id",
    "last_name",
    "last_source",
    "next_touch_point_at",
]
FIELDS += ["next_touch_point_type", "phone_country", "phone_e164", "setter", "status", "updated_at"]


def lead(api, email="ada@example.com", **fields):
    return api.submit(email=email, **fields).json()["data"]["lead_id"]


def move(api, id, status_id):
    return api.patch(f"{PATH}/{id}/status", {"status_id": status_id})


def emails(api, query=None):
    return [row["email"] for row in api.get_data(PATH, query)]


def test_decision_18_a_lead_is_moved_to_a_status(api, organization):
    id, won = lead(api), api.get_status("WON")

    answer = move(api, id, won["id"])

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "success",
        "message": answer.json()["message"],
        "data": {"id": id, "status": won},
    }
    assert api.get_lead(id)["status"] == won
    assert summary_of(organization)["events"] == ["lead.created", "lead.status_changed", "opt_in.created"]


def test_decision_21_a_move_is_recorded_with_its_actor(api, organization):
    id = lead(api)

    move(api, id, api.get_status("WON")["id"])

    record = LeadStatusChange.objects.of(organization).filter(lead_id=id).latest("id")
    assert (record.actor_kind, record.actor_id, record.actor_name) == ("API_KEY", api.key[3:15], "Tests")
    assert (record.from_status.role, record.to_status.role) == ("NEW_LEAD", "WON")


@pytest.mark.parametrize(
    "role",
    [
        "NEW_LEAD",
        "APPOINTMENT_BOOKED",
        "NO_SHOW",
        "RESCHEDULED",
        "CANCELED",
        "PARTIAL_PAYMENT",
        "WON",
        "UNQUALIFIED",
        "FOLLOW_UP",
        "LOST",
    ],
)
def test_decision_18_a_lead_can_leave_won_for_any_status(api, role):
    id = lead(api)
    move(api, id, api.get_status("WON")["id"])

    answer = move(api, id, api.get_status(role)["id"])

    assert (answer.status_code, answer.json()["data"]["status"]["role"]) == (200, role)


def test_decision_18_the_same_status_again_is_200_and_records_nothing(api, organization):
    id, won = lead(api), api.get_status("WON")["id"]
    move(api, id, won)
    before = snapshot_of(organization)

    answer = move(api, id, won)

    assert (answer.status_code, answer.json()["data"]["status"]["id"]) == (200, won)
    assert snapshot_of(organization) == before


def test_decision_18_a_status_of_the_lead_board_is_good(api, organization):
    id, status = lead(api), make_status(organization, "Warm", type="LEAD")

    assert move(api, id, str(status.id)).json()["data"]["status"]["type"] == "LEAD"


def test_decision_18_a_status_of_the_appointment_board_is_400(api, organization):
    id, status = lead(api), make_status(organization, "Warm", type="APPOINTMENT")
    before = snapshot_of(organization)

    assert_invalid_fields(move(api, id, str(status.id)), "status_id")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", ["x", "5", UNKNOWN, 5, True, ["a"], {}, "WON"])
def test_decision_5_a_malformed_or_unknown_status_is_400(api, organization, value):
    id = lead(api)
    before = snapshot_of(organization)

    assert_invalid_fields(move(api, id, value), "status_id")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("body", [{}, {"status_id": None}, {"status_id": ""}], ids=str)
def test_status_id_is_required(api, organization, body):
    id = lead(api)
    before = snapshot_of(organization)

    answer = api.patch(f"{PATH}/{id}/status", body)

    sentence = "status_id is required"
    assert answer.status_code == 400
    assert answer.json() == {"status": "error", "message": sentence, "errors": {"status_id": [sentence]}}
    assert snapshot_of(organization) == before


def test_a_strangers_status_is_an_unknown_one(api, other_api, organization):
    id = lead(api)
    before = snapshot_of(organization)

    answer = move(api, id, other_api.get_status("WON")["id"])

    assert_invalid_fields(answer, "status_id")
    assert answer.json() == move(api, id, UNKNOWN).json()
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("id", [UNKNOWN, "x", "5"])
def test_moving_an_unknown_lead_is_404(api, id):
    assert_error(move(api, id, api.get_status("WON")["id"]), 404, "Resource not found")


def test_a_strangers_lead_is_an_unknown_one(api, other_api, other_organization):
    id = lead(other_api)
    before = snapshot_of(other_organization)

    assert_error(move(api, id, api.get_status("WON")["id"]), 404, "Resource not found")
    assert_error(move(api, id, other_api.get_status("WON")["id"]), 404, "Resource not found")
    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")

    assert snapshot_of(other_organization) == before


def test_decision_1_a_malformed_body_comes_before_an_unknown_lead(api):
    assert_invalid_fields(move(api, UNKNOWN, "x"), "status_id")


def test_decision_18_a_lead_shows_exactly_its_fields(api, organization, host):
    size = make_custom_field(organization, "LEAD", "size", type="NUMBER")
    make_custom_field(organization, "APPOINTMENT", "of_appointments")
    id = lead(
        api,
        last_name="Byron",
        phone_e164="+442079460000",
        phone_country="GB",
        traffic={"utm_content": host.user_id, "utm_source": "google"},
    )
    set_columns(Lead, organization, id, custom_values={str(size.id): 12})

    answer = api.get(f"{PATH}/{id}")

    shown = answer.json()["data"]
    source = {"id": shown["first_source"]["id"], "name": "google"}
    user = {
        "first_name": "Hana",
        "last_name": "Host",
        "email": "hana@acme.example",
        "profile_image_url": None,
        "id": host.user_id,
        "role": "CLOSER",
    }
    assert answer.status_code == 200
    assert answer.json() == {"success": True, "message": answer.json()["message"], "data": shown}
    assert sorted(shown) == FIELDS
    assert {name: shown[name] for name in FIELDS[1:-1]} == {
        "custom_fields": [{"id": str(size.id), "key": "size", "label": "Size", "type": "NUMBER", "value": 12}],
        "email": "ada@example.com",
        "first_name": "Ada",
        "first_source": source,
        "id": id,
        "last_name": "Byron",
        "last_source": source,
        "next_touch_point_at": None,
        "next_touch_point_type": None,
        "phone_country": "GB",
        "phone_e164": "+442079460000",
        "setter": user,
        "status": api.get_status("NEW_LEAD"),
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", shown["created_at"])
    assert api.get_data(PATH) == [shown]


@pytest.mark.parametrize("id", [UNKNOWN, "x", "5", "user_abc"])
def test_decision_5_an_unknown_or_malformed_path_id_is_404(api, id):
    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")


@pytest.mark.parametrize("email", ["grace@example.com", "GRACE@Example.com"])
def test_leads_by_email_in_any_letter_case(api, other_api, email):
    for name in ["ada", "Grace", "gracey"]:
        lead(api, f"{name}@example.com")
    lead(other_api, "grace@example.com")

    assert emails(api, {"email": email}) == ["Grace@example.com"]


def test_leads_by_an_email_nobody_has(api):
    lead(api)

    assert emails(api, {"email": "nobody@example.com"}) == []


def test_leads_by_status(api):
    won, booked = lead(api, "won@example.com"), lead(api, "booked@example.com")
    lead(api, "new@example.com")
    move(api, won, api.get_status("WON")["id"])
    move(api, booked, api.get_status("APPOINTMENT_BOOKED")["id"])

    assert emails(api, {"status_id": api.get_status("WON")["id"]}) == ["won@example.com"]
    assert emails(api, {"status_role": "NEW_LEAD"}) == ["new@example.com"]
    assert emails(api, {"status_role": "LOST"}) == []
    assert emails(api, {"status_id": api.get_status("WON")["id"], "status_role": "NEW_LEAD"}) == []


@pytest.mark.parametrize("value", ["x", UNKNOWN])
def test_decision_5_a_malformed_or_unknown_status_filter_is_400(api, value):
    assert_invalid_fields(api.get(PATH, {"status_id": value}), "status_id")


def test_decision_5_a_strangers_status_filter_is_an_unknown_one(api, other_api):
    assert_invalid_fields(api.get(PATH, {"status_id": other_api.get_status("WON")["id"]}), "status_id")


def test_decision_6_an_unknown_status_role_is_400_with_the_accepted_ones(api):
    answer = api.get(PATH, {"status_role": "MAYBE"})

    assert_invalid_fields(answer, "status_role")
    assert all(role in answer.json()["message"] for role in ["NEW_LEAD", "WON", "LOST"])


def test_leads_by_setter(api, organization, host):
    make_member(organization, "olga@acme.example")
    lead(api, "hanas@example.com", traffic={"utm_content": host.user_id})
    lead(api)

    assert (
        emails(api, {"setter": "hana@acme.example"})
        == emails(api, {"setter": "HANA@ACME.example"})
        == ["hanas@example.com"]
    )
    assert emails(api, {"setter": "olga@acme.example"}) == emails(api, {"setter": "nobody@acme.example"}) == []
