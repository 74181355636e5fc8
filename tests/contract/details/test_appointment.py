"""The appointment object in list and detail, field by field (interface 2.1 to 2.7, 4.4; decisions 16, 25, 27)."""

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
TRAFFIC = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]
BOTH = [
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
]
BOTH += [
    "recording_url",
    "no_show",
    "source",
    "external_reference",
    "call_analysis",
    "custom_fields",
    "created_at",
    "updated_at",
]
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
EARLY = "2026-02-01T08:00:00.000Z"


def user(member):
    person = member.user
    shown = {
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "profile_image_url": person.profile_image_url,
    }
    return {**shown, "id": person.id, "role": member.role}


@pytest.fixture
def people(organization):
    """A host with a picture, a setter, a triager."""
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
def full(api, organization, people):
    """The id of an appointment that has everything."""
    budget = make_custom_field(organization, "APPOINTMENT", "budget", type="NUMBER")
    for n in range(4):
        traffic = {name: f"{name} {n}" for name in TRAFFIC}
        api.submit(external_reference=f"form-{n}", provider_form_id="f1", provider_form_name="Form", traffic=traffic)
    members = {f"{part}_email": member.user.email for part, member in people.items()}
    named = {
        "lead_phone": "+442079460000",
        "meeting_url": "https://meet.example/1",
        "schedule_time": "2090-01-05T10:00:00+01:00",
    }
    id = api.book(**members, **named).json()["data"]["id"]
    set_columns(
        Appointment,
        organization,
        id,
        recording_url="https://rec.example/1",
        created_at=EARLY,
        custom_values={str(budget.id): 5000.5},
    )
    make_note(organization, id, "An old one")
    make_note(organization, id, "Ask @Hana", people["host"])
    return {"id": id, "analysis": make_analysis(organization, id), "budget": budget}


def common(api, full, people):
    """What list and detail both show of the full one."""
    shown, booked = api.get_appointment(full["id"]), api.get_status("APPOINTMENT_BOOKED")
    analysis, budget = full["analysis"], full["budget"]
    return {
        "id": full["id"],
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
        **{part: user(member) for part, member in people.items()},
        "meeting_url": "https://meet.example/1",
        "appointment_type": "Strategy call",
        "call_category": "SALES_CALL",
        "appointment_event_type": {"id": shown["appointment_event_type"]["id"], "provider": None, "owner_name": None},
        "outcome": {
            **{name: booked[name] for name in ["id", "name", "role", "text_color", "bg_color"]},
            "description": booked["description"] or "",
            "created_at": shown["outcome"]["created_at"],
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
            "appointment_id": full["id"],
            "created_at": shown["call_analysis"]["created_at"],
        },
        "custom_fields": [
            {"id": str(budget.id), "key": "budget", "label": "Budget", "type": "NUMBER", "value": 5000.5}
        ],
        "created_at": EARLY,
        "updated_at": shown["updated_at"],
    }


def test_list_shows_exactly_the_list_fields(api, full, people):
    (shown,) = api.get_data(LIST)

    campaign = {name: f"{name} 3" for name in TRAFFIC}
    note = {"note": "Ask @Hana", "mention_users": [user(people["host"])]}
    assert shown == {**common(api, full, people), "notes": note, **campaign}


def test_detail_shows_exactly_the_detail_fields(api, full, people):
    answer = api.get(f"{LIST}/{full['id']}")

    opt_ins = api.get_data("/api/external/opt-ins")[:3]
    shown = answer.json()["data"]
    sources = {
        name: {"id": shown[name]["id"], "name": text}
        for name, text in {"first_source": "utm_source 0", "last_source": "MANUAL"}.items()
    }
    assert answer.status_code == 200
    assert answer.json() == {
        "success": True,
        "message": answer.json()["message"],
        "data": {**common(api, full, people), **sources, "opt_ins": opt_ins},
    }


def test_detail_shows_the_three_latest_opt_ins_newest_first(api, full, people):
    opt_ins = api.get_appointment(full["id"])["opt_ins"]

    assert [opt_in["external_reference"] for opt_in in opt_ins] == ["form-3", "form-2", "form-1"]
    fields = ["id", "lead_id", "source", "provider_form_id", "provider_form_name", "external_reference", "created_at"]
    assert [sorted(opt_in) for opt_in in opt_ins] == [sorted(fields)] * 3


def test_the_opt_ins_are_those_of_the_lead_today(api, full):
    api.submit(external_reference="later")
    api.submit(external_reference="other", email="grace@example.com")

    assert [opt_in["external_reference"] for opt_in in api.get_appointment(full["id"])["opt_ins"]] == [
        "later",
        "form-3",
        "form-2",
    ]


def test_the_identifiers_and_moments_have_their_forms(api, full):
    shown = api.get_appointment(full["id"])

    uuids = [
        shown["id"],
        shown["lead"]["id"],
        shown["appointment_event_type"]["id"],
        shown["outcome"]["id"],
        shown["first_source"]["id"],
        shown["opt_ins"][0]["id"],
    ]
    moments = [
        shown["created_at"],
        shown["updated_at"],
        shown["schedule_time"],
        shown["outcome"]["created_at"],
        shown["call_analysis"]["created_at"],
    ]
    assert {UUID(id).version for id in uuids} == {7}
    assert all(
        MOMENT.fullmatch(moment)
        for moment in [*moments, shown["opt_ins"][0]["created_at"], shown["lead"]["next_touch_point_at"]]
    )
    assert re.fullmatch(r"user_[0-9A-Za-z]+", shown["host"]["id"])


def test_a_bare_appointment_shows_every_field(api, organization):
    id = str(
        make_provider_appointment(
            organization, event_type=None, external_reference=None, outcome=None, source="SCHEDULER_C"
        ).id
    )
    (listed,) = api.get_data(LIST)
    detail = api.get_appointment(id)

    nulls = [
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
    assert [detail[name] for name in nulls] == [None] * len(nulls)
    assert detail["appointment_event_type"] == {"id": None, "provider": None, "owner_name": None}
    assert [listed[name] for name in ["notes", *TRAFFIC]] == [None] * 6
    assert (detail["custom_fields"], detail["opt_ins"], detail["source"]) == ([], [], "SCHEDULER_C")
    assert sorted(listed) == sorted([*BOTH, "notes", *TRAFFIC])
    assert sorted(detail) == sorted([*BOTH, "first_source", "last_source", "opt_ins"])
    assert {name: detail[name] for name in BOTH} == {name: listed[name] for name in BOTH}


def test_a_lead_of_whom_little_is_known_shows_nulls(api, organization):
    id = str(make_provider_appointment(organization).id)

    lead = api.get_appointment(id)["lead"]

    unknown = dict.fromkeys(["phone_e164", "phone_country", "next_touch_point_at", "next_touch_point_type"])
    assert lead == {"id": lead["id"], "first_name": "Grace", "last_name": "", "email": "grace@example.com", **unknown}


def test_decision_21_a_no_show_is_shown(api, organization):
    id = str(make_provider_appointment(organization, no_show=True).id)

    assert api.get_appointment(id)["no_show"] is True
    assert api.get_data(LIST)[0]["no_show"] is True


VALUES = {"TEXT": "Zoë", "NUMBER": 7, "BOOLEAN": False, "DATE": "2026-02-28", "SELECT": "b"}


@pytest.mark.parametrize(("type", "value"), VALUES.items(), ids=list(VALUES))
def test_decision_27_custom_fields_have_json_values_of_their_type(api, organization, other_organization, type, value):
    make_custom_field(other_organization, "APPOINTMENT", "theirs")
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
def test_decision_5_an_unknown_or_malformed_path_id_is_404(api, id):
    api.book()

    assert_error(api.get(f"{LIST}/{id}"), 404, "Resource not found")


def test_detail_of_a_strangers_appointment_is_404(api, other_api):
    theirs = other_api.book().json()["data"]["id"]

    assert_error(api.get(f"{LIST}/{theirs}"), 404, "Resource not found")
