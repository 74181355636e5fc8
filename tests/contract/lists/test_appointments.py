"""GET /api/external/appointments: its filters (docs/interface.md, A25 and G25 to G30)."""

import pytest

from appointments.models import Appointment
from appointments.services import edit_appointment
from statuses.models import Status
from tests.contract.assertions import assert_invalid_among, assert_invalid_fields
from tests.factories import (
    deactivate,
    make_event_type,
    make_member,
    make_provider_appointment,
    make_status,
    owner_actor,
)

PATH = "/api/external/appointments"
INVALID_QUERY = {
    "page": "0",
    "limit": "101",
    "lead_id": "x",
    "call_category": "PARTY",
    "outcome_role": "MAYBE",
    "ordering": "lead",
    "scheduled_from": "x",
    "created_to": "2027-02-30",
    "updated_from": "soon",
}


def references(api, query=None):
    return [row["external_reference"] for row in api.get_data(PATH, query)]


def book(api, *names, **fields):
    """Book an appointment with each name as its reference, and return the ids."""
    return [api.book(external_reference=name, **fields).json()["data"]["id"] for name in names]


@pytest.fixture
def categories(api, organization):
    """Book one appointment of each category, with the category as its reference."""
    for name in ["SALES", "COACHING", "TRIAGE"]:
        make_event_type(organization, name, call_category=f"{name}_CALL")
        book(api, name, event_type_name=name)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("SALES_CALL", ["SALES"]),
        ("COACHING_CALL", ["COACHING"]),
        ("TRIAGE_CALL", ["TRIAGE"]),
        ("TRIAGE_CALL,SALES_CALL", ["TRIAGE", "SALES"]),
        ("SALES_CALL,SALES_CALL", ["SALES"]),
        ("SALES_CALL,COACHING_CALL,TRIAGE_CALL", ["TRIAGE", "COACHING", "SALES"]),
        (["TRIAGE_CALL", "SALES_CALL"], ["TRIAGE", "SALES"]),
        (["TRIAGE_CALL,SALES_CALL", "", "SALES_CALL,COACHING_CALL"], ["TRIAGE", "COACHING", "SALES"]),
        (["SALES_CALL"] * 100, ["SALES"]),
        (["", " "], ["TRIAGE", "COACHING", "SALES"]),
        ("TRIAGE_CALL, SALES_CALL", ["TRIAGE", "SALES"]),
        (" TRIAGE_CALL ,\tSALES_CALL ", ["TRIAGE", "SALES"]),
        (["TRIAGE_CALL, SALES_CALL", " COACHING_CALL"], ["TRIAGE", "COACHING", "SALES"]),
    ],
)
def test_appointments_are_filtered_by_call_category(api, categories, value, expected):
    """docs/interface.md, A25, G27"""
    assert references(api, {"call_category": value}) == expected


@pytest.mark.parametrize(
    "value",
    [
        "PARTY",
        "sales_call",
        "SALES_CALL,PARTY",
        "SALES_CALL;TRIAGE_CALL",
        "5",
        "SALES_CALL,",
        ",",
        "SALES_CALL, ,TRIAGE_CALL",
    ],
)
def test_an_unknown_call_category_is_400_with_the_accepted_values(api, value):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"call_category": value})

    assert_invalid_fields(response, "call_category")
    assert all(name in response.json()["message"] for name in ["SALES_CALL", "COACHING_CALL", "TRIAGE_CALL"])


ROLES = [
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
]


@pytest.mark.parametrize("role", ROLES)
def test_appointments_are_filtered_by_each_outcome_role(api, organization, role):
    """docs/interface.md, A25"""
    (id,) = book(api, "changed")
    appointment = Appointment.objects.of(organization).get(pk=id)
    status = Status.objects.of(organization).get(role=role)
    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=status.id
    )

    assert references(api, {"outcome_role": role}) == ["changed"]
    assert references(api, {"outcome_role": ",".join(other for other in ROLES if other != role)}) == []


def test_an_outcome_role_matches_all_statuses_of_that_role(api, organization):
    """docs/interface.md, A25, S2"""
    id, _, _ = book(api, "second", "booked", "canceled")
    api.cancel(external_reference="canceled")
    second = make_status(organization, "Second thoughts", role="CANCELED")
    appointment = Appointment.objects.of(organization).get(pk=id)
    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=second.id
    )

    assert references(api, {"outcome_role": "CANCELED"}) == ["canceled", "second"]
    assert references(api, {"outcome_role": "CANCELED,APPOINTMENT_BOOKED"}) == ["canceled", "booked", "second"]


@pytest.mark.parametrize("value", ["MAYBE", "won", "WON,MAYBE"])
def test_an_unknown_outcome_role_is_400_with_the_accepted_values(api, value):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"outcome_role": value})

    assert_invalid_fields(response, "outcome_role")
    assert all(role in response.json()["message"] for role in ROLES)


@pytest.mark.parametrize(
    ("parameter", "field"), [("closer", "host_email"), ("setter", "setter_email"), ("triager", "triager_email")]
)
def test_appointments_are_filtered_by_member_case_insensitively(api, organization, parameter, field):
    """docs/interface.md, A25, G30"""
    for name in ["hana", "olga"]:
        make_member(organization, f"{name}@acme.example")
        book(api, name, **{field: f"{name}@acme.example"})
    book(api, "nobody")

    other_parameters = {"closer", "setter", "triager"} - {parameter}

    assert references(api, {parameter: "hana@acme.example"}) == ["hana"]
    assert references(api, {parameter: "HANA@Acme.Example"}) == ["hana"]
    assert references(api, {parameter: "olga@acme.example"}) == ["olga"]
    assert [references(api, {other: "hana@acme.example"}) for other in other_parameters] == [[], []]


@pytest.mark.parametrize("parameter", ["closer", "setter", "triager"])
@pytest.mark.parametrize("email", ["nobody@acme.example", "owner@globex.example", "ada@example.com"])
def test_an_email_that_no_member_has_gives_an_empty_list(api, other_api, other_organization, parameter, email):
    """docs/interface.md, G30"""
    book(api, "ref-1")
    owner = "owner@globex.example"
    other_api.book(host_email=owner, setter_email=owner, triager_email=owner)

    assert references(api, {parameter: email}) == []


def test_an_inactive_member_can_be_filtered_by(api, host):
    """docs/interface.md, G30"""
    book(api, "hana", host_email="hana@acme.example")
    deactivate(host)

    assert references(api, {"closer": "hana@acme.example"}) == ["hana"]


def test_appointments_are_filtered_by_lead(api):
    """docs/interface.md, A25"""
    book(api, "first", "second")
    (id,) = book(api, "other", lead_email="grace@example.com")
    lead = api.get_appointment(id)["lead"]["id"]

    assert references(api, {"lead_id": lead}) == references(api, {"lead_id": lead.upper()}) == ["other"]


@pytest.mark.parametrize("value", ["x", "5", "00000000-0000-7000-8000-000000000000", "user_abc"])
def test_a_malformed_or_unknown_lead_filter_is_400(api, value):
    """docs/interface.md, G28"""
    assert_invalid_fields(api.get(PATH, {"lead_id": value}), "lead_id")


def test_a_filter_by_another_organizations_lead_is_400_like_an_unknown_one(api, other_api):
    """docs/interface.md, G22, G28"""
    lead = other_api.submit().json()["data"]["lead_id"]
    # An id of the same form that no organization has.
    unknown_lead = lead[:-1] + ("0" if lead[-1] != "0" else "1")

    response = api.get(PATH, {"lead_id": lead})

    assert_invalid_fields(response, "lead_id")
    assert lead not in response.json()["message"] or "found" in response.json()["message"]
    assert response.json() == api.get(PATH, {"lead_id": unknown_lead}).json()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"scheduled_from": "2027-03-02"}, ["c", "b"]),
        ({"scheduled_to": "2027-03-01"}, ["a"]),
        ({"scheduled_from": "2027-03-02", "scheduled_to": "2027-03-02"}, ["b"]),
        ({"scheduled_from": "2027-03-02T23:59:59.999Z"}, ["c", "b"]),
        ({"scheduled_to": "2027-03-02T23:59:59.998Z"}, ["a"]),
        ({"scheduled_to": "2027-03-03T01:00:00+01:00"}, ["c", "b", "a"]),
        ({"scheduled_to": "2027-03-03T01:00:00 01:00"}, ["c", "b", "a"]),
        ({"scheduled_from": "2027-03-03T00:00:00.001Z"}, []),
        ({"scheduled_to": "2027-02-28T23:59:59.999Z"}, []),
    ],
    ids=lambda value: (
        " ".join(f"{key}={text}" for key, text in value.items()) if isinstance(value, dict) else "-".join(value)
    ),
)
def test_appointments_are_filtered_by_schedule_time(api, query, expected):
    """docs/interface.md, A25, G29"""
    book(api, "a", schedule_time="2027-03-01T00:00:00Z")
    book(api, "b", schedule_time="2027-03-02T23:59:59.999Z")
    book(api, "c", schedule_time="2027-03-03T00:00:00Z")

    assert references(api, query) == expected


def test_appointments_are_sorted_by_schedule_time(api):
    """docs/interface.md, G25"""
    for name, month in {"march": 3, "january": 1, "february": 2}.items():
        book(api, name, schedule_time=f"2027-0{month}-01T00:00:00Z")

    assert references(api) == ["february", "january", "march"]
    assert references(api, {"ordering": "schedule_time"}) == ["january", "february", "march"]
    assert references(api, {"ordering": "-schedule_time"}) == ["march", "february", "january"]


def test_several_filters_apply_together(api, host):
    """docs/interface.md, G26"""
    book(api, "hana", host_email="hana@acme.example")
    book(api, "canceled", host_email="hana@acme.example")
    book(api, "nobody")
    api.cancel(external_reference="canceled")
    query = {
        "closer": "hana@acme.example",
        "outcome_role": "APPOINTMENT_BOOKED",
        "call_category": "SALES_CALL",
        "scheduled_from": "2027-01-05",
    }

    body = api.get(PATH, query).json()

    assert [row["external_reference"] for row in body["data"]] == ["hana"]
    assert body["pagination"] == {
        "page": 1,
        "limit": 10,
        "total": 1,
        "totalPages": 1,
        "hasNext": False,
        "hasPrev": False,
    }


def test_the_list_contains_appointments_of_providers(api, organization):
    """docs/interface.md, A25"""
    make_provider_appointment(organization, source="SCHEDULER_C", external_reference="provider")
    book(api, "manual")

    assert [(row["external_reference"], row["source"]) for row in api.get_data(PATH)] == [
        ("manual", "MANUAL"),
        ("provider", "SCHEDULER_C"),
    ]


@pytest.mark.parametrize("first", INVALID_QUERY)
def test_two_invalid_parameters_are_400(api, first):
    """docs/interface.md, G5"""
    # Both together with a valid filter that matches nothing, which must not hide them.
    for second in INVALID_QUERY:
        query = {"closer": "nobody@acme.example", first: INVALID_QUERY[first], second: INVALID_QUERY[second]}
        assert_invalid_among(api.get(PATH, query), first, second)


def test_every_invalid_parameter_is_named(api):
    """docs/interface.md, G5"""
    assert_invalid_fields(api.get(PATH, INVALID_QUERY), *INVALID_QUERY)
