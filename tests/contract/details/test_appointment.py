"""The appointment object in list and detail, field by field (docs/interface.md, A1 to A7, A26, L14 and M1)."""

import re
from uuid import UUID

import pytest

from appointments.models import Appointment
from tests.contract.assertions import assert_error
from tests.factories import (
    make_analysis,
    make_custom_field,
    make_member,
    make_note,
    make_provider_appointment,
    set_columns,
)

LIST = "/api/external/appointments"
UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]
COMMON_FIELDS = [
    "id",
    "lead",
    "schedule_time",
    "host",
    "setter",
    "triager",
    "meeting_url",
    "appointment_type",
    "call_category",
    "appointment_event_type",
    "outcome",
    "recording_url",
    "no_show",
    "source",
    "external_reference",
    "call_analysis",
    "custom_fields",
    "created_at",
    "updated_at",
]
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
CREATED_AT = "2026-02-01T08:00:00.000Z"


def user_object(member):
    """Return the member as the API shows it."""
    return {
        "id": member.user.id,
        "first_name": member.user.first_name,
        "last_name": member.user.last_name,
        "email": member.user.email,
        "profile_image_url": member.user.profile_image_url,
        "role": member.role,
    }


@pytest.fixture
def members(organization):
    """Create a host with a picture, a setter and a triager."""
    host = make_member(
        organization,
        "hana@acme.example",
        first_name="Hana",
        last_name="Host",
        profile_image_url="https://img.example/hana.png",
    )
    setter = make_member(organization, "sam@acme.example", role="SETTER", first_name="Sam", last_name="Setter")
    return {
        "host": host,
        "setter": setter,
        "triager": make_member(organization, "tri@acme.example", role="MANAGER", first_name="Tri"),
    }


@pytest.fixture
def full_appointment(api, organization, members):
    """Create an appointment with all fields set, and return its id, analysis and custom field."""
    budget = make_custom_field(organization, "APPOINTMENT", "budget", type="NUMBER")
    # Four opt-ins, because the detail shows the latest three.
    for n in range(4):
        traffic = {name: f"{name} {n}" for name in UTM_FIELDS}
        api.submit(external_reference=f"form-{n}", provider_form_id="f1", provider_form_name="Form", traffic=traffic)
    emails = {f"{role}_email": member.user.email for role, member in members.items()}
    fields = {
        "lead_phone": "+442079460000",
        "meeting_url": "https://meet.example/1",
        "schedule_time": "2090-01-05T10:00:00+01:00",
    }
    id = api.book(**emails, **fields).json()["data"]["id"]
    set_columns(
        Appointment,
        organization,
        id,
        recording_url="https://rec.example/1",
        created_at=CREATED_AT,
        custom_values={str(budget.id): 5000.5},
    )
    make_note(organization, id, "An old one")
    make_note(organization, id, "Ask @Hana", members["host"])
    return {"id": id, "analysis": make_analysis(organization, id), "budget": budget}


def common_fields(api, full_appointment, members):
    """Return the expected fields of the full appointment that list and detail share."""
    appointment, outcome = api.get_appointment(full_appointment["id"]), api.get_status("APPOINTMENT_BOOKED")
    analysis, budget = full_appointment["analysis"], full_appointment["budget"]
    return {
        "id": full_appointment["id"],
        "lead": {
            "id": api.get_data("/api/external/leads")[0]["id"],
            "first_name": "Ada",
            "last_name": "",
            "email": "ada@example.com",
            "phone_e164": "+442079460000",
            "phone_country": "GB",
            "next_touch_point_at": "2090-01-05T09:00:00.000Z",
            "next_touch_point_type": "APPOINTMENT",
        },
        "schedule_time": "2090-01-05T09:00:00.000Z",
        **{role: user_object(member) for role, member in members.items()},
        "meeting_url": "https://meet.example/1",
        "appointment_type": "Strategy call",
        "call_category": "SALES_CALL",
        "appointment_event_type": {
            "id": appointment["appointment_event_type"]["id"],
            "provider": None,
            "owner_name": None,
        },
        "outcome": {
            **{name: outcome[name] for name in ["id", "name", "role", "text_color", "bg_color"]},
            "description": outcome["description"] or "",
            "created_at": appointment["outcome"]["created_at"],
        },
        "recording_url": "https://rec.example/1",
        "no_show": False,
        "source": "MANUAL",
        "external_reference": "ref-1",
        "call_analysis": {
            "id": str(analysis.id),
            "call_analysis_call_id": "call-77",
            "ai_generated_title": "A good call",
            "ai_rationale": "They asked for the contract.",
            "ai_suggested_outcome": "Won",
            "ai_confidence_score": 0.875,
            "appointment_id": full_appointment["id"],
            "created_at": appointment["call_analysis"]["created_at"],
        },
        "custom_fields": [
            {"id": str(budget.id), "key": "budget", "label": "Budget", "type": "NUMBER", "value": 5000.5}
        ],
        "created_at": CREATED_AT,
        "updated_at": appointment["updated_at"],
    }


def test_the_list_has_exactly_the_documented_fields(api, full_appointment, members):
    """docs/interface.md, A1"""
    (item,) = api.get_data(LIST)

    # Opt-in 3 is the latest one before the booking.
    utm = {name: f"{name} 3" for name in UTM_FIELDS}
    note = {"note": "Ask @Hana", "mention_users": [user_object(members["host"])]}
    assert item == {**common_fields(api, full_appointment, members), "notes": note, **utm}


def test_the_detail_has_exactly_the_documented_fields(api, full_appointment, members):
    """docs/interface.md, A2"""
    response = api.get(f"{LIST}/{full_appointment['id']}")

    opt_ins = api.get_data("/api/external/opt-ins")[:3]
    detail = response.json()["data"]
    sources = {
        name: {"id": detail[name]["id"], "name": text}
        for name, text in {"first_source": "utm_source 0", "last_source": "utm_source 3"}.items()
    }
    assert response.status_code == 200
    assert response.json() == {
        "success": True,
        "message": response.json()["message"],
        "data": {**common_fields(api, full_appointment, members), **sources, "opt_ins": opt_ins},
    }


def test_the_detail_has_the_three_latest_opt_ins_newest_first(api, full_appointment, members):
    """docs/interface.md, A2"""
    opt_ins = api.get_appointment(full_appointment["id"])["opt_ins"]

    assert [opt_in["external_reference"] for opt_in in opt_ins] == ["form-3", "form-2", "form-1"]
    fields = ["id", "lead_id", "source", "provider_form_id", "provider_form_name", "external_reference", "created_at"]
    assert [sorted(opt_in) for opt_in in opt_ins] == [sorted(fields)] * 3


def test_the_opt_ins_in_the_detail_are_the_leads_current_ones(api, full_appointment):
    """docs/interface.md, A2"""
    api.submit(external_reference="later")
    api.submit(external_reference="other", email="grace@example.com")

    assert [opt_in["external_reference"] for opt_in in api.get_appointment(full_appointment["id"])["opt_ins"]] == [
        "later",
        "form-3",
        "form-2",
    ]


def test_ids_and_timestamps_have_the_documented_formats(api, full_appointment):
    """docs/interface.md, G20, G21"""
    appointment = api.get_appointment(full_appointment["id"])

    uuids = [
        appointment["id"],
        appointment["lead"]["id"],
        appointment["appointment_event_type"]["id"],
        appointment["outcome"]["id"],
        appointment["first_source"]["id"],
        appointment["opt_ins"][0]["id"],
    ]
    timestamps = [
        appointment["created_at"],
        appointment["updated_at"],
        appointment["schedule_time"],
        appointment["outcome"]["created_at"],
        appointment["call_analysis"]["created_at"],
        appointment["opt_ins"][0]["created_at"],
        appointment["lead"]["next_touch_point_at"],
    ]
    assert {UUID(id).version for id in uuids} == {7}
    assert all(TIMESTAMP.fullmatch(timestamp) for timestamp in timestamps)
    assert re.fullmatch(r"user_[0-9A-Za-z]+", appointment["host"]["id"])


def test_an_appointment_with_few_values_has_every_field(api, organization):
    """docs/interface.md, A1, A2"""
    id = make_provider_appointment(
        organization, event_type=None, external_reference=None, outcome=None, source="SCHEDULER_C"
    ).id

    (item,), detail = api.get_data(LIST), api.get_appointment(str(id))

    null_fields = [
        "host",
        "setter",
        "triager",
        "meeting_url",
        "appointment_type",
        "outcome",
        "recording_url",
        "external_reference",
        "call_analysis",
    ]
    assert [detail[name] for name in null_fields] == [None] * len(null_fields)
    assert detail["appointment_event_type"] == {"id": None, "provider": None, "owner_name": None}
    assert [item[name] for name in ["notes", *UTM_FIELDS]] == [None] * 6
    assert (detail["custom_fields"], detail["opt_ins"], detail["source"]) == ([], [], "SCHEDULER_C")
    assert sorted(item) == sorted([*COMMON_FIELDS, "notes", *UTM_FIELDS])
    assert sorted(detail) == sorted([*COMMON_FIELDS, "first_source", "last_source", "opt_ins"])
    assert {name: detail[name] for name in COMMON_FIELDS} == {name: item[name] for name in COMMON_FIELDS}


def test_unknown_values_of_the_lead_are_null(api, organization):
    """docs/interface.md, L2"""
    id = str(make_provider_appointment(organization).id)

    lead = api.get_appointment(id)["lead"]

    nulls = dict.fromkeys(["phone_e164", "phone_country", "next_touch_point_at", "next_touch_point_type"])
    assert lead == {"id": lead["id"], "first_name": "Grace", "last_name": "", "email": "grace@example.com", **nulls}


def test_a_no_show_is_shown(api, organization):
    """docs/interface.md, S13"""
    id = str(make_provider_appointment(organization, no_show=True).id)

    assert api.get_appointment(id)["no_show"] is True
    assert api.get_data(LIST)[0]["no_show"] is True


CUSTOM_FIELD_VALUES = {"TEXT": "Zoë", "NUMBER": 7, "BOOLEAN": False, "DATE": "2026-02-28", "SELECT": "b"}


@pytest.mark.parametrize(("type", "value"), CUSTOM_FIELD_VALUES.items(), ids=list(CUSTOM_FIELD_VALUES))
def test_custom_fields_have_json_values_of_their_type(api, organization, other_organization, type, value):
    """docs/interface.md, L14"""
    make_custom_field(other_organization, "APPOINTMENT", "other_organization")
    make_custom_field(organization, "LEAD", "of_leads")
    field = make_custom_field(
        organization, "APPOINTMENT", "own", type=type, options=["a", "b"] if type == "SELECT" else []
    )
    id = str(make_provider_appointment(organization, custom_values={str(field.id): value}).id)

    assert api.get_appointment(id)["custom_fields"] == [
        {"id": str(field.id), "key": "own", "label": "Own", "type": type, "value": value}
    ]
    assert api.get_data(LIST)[0]["custom_fields"] == api.get_appointment(id)["custom_fields"]


@pytest.mark.parametrize(
    "id",
    [
        "00000000-0000-7000-8000-000000000000",
        "x",
        "5",
        "%20",
        "user_abc",
        "00000000000070008000000000000000a",
        "'",
        "%2e%2e",
    ],
)
def test_an_unknown_or_malformed_id_in_the_path_is_404(api, id):
    """docs/interface.md, A26, G21"""
    api.book()

    assert_error(api.get(f"{LIST}/{id}"), 404, "Resource not found")


def test_an_appointment_of_another_organization_is_404(api, other_api):
    """docs/interface.md, A26, G22"""
    other_id = other_api.book().json()["data"]["id"]

    assert_error(api.get(f"{LIST}/{other_id}"), 404, "Resource not found")
