"""GET /api/external/appointments: its filters (interface 4.3, decisions 5 and 6)."""

import pytest

from appointments.models import Appointment
from appointments.services import change_outcome
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
BAD = {
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
    return [api.book(external_reference=name, **fields).json()["data"]["id"] for name in names]


@pytest.fixture
def categories(api, organization):
    """One appointment of each category."""
    for name in ["SALES", "COACHING", "TRIAGE"]:
        make_event_type(organization, name, call_category=f"{name}_CALL")
        book(api, name, event_type_name=name)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("SALES_CALL", ["SALES"]),
        ("COACHING_CALL", ["COACHING"]),
        ("TRIAGE_CALL", ["TRIAGE"]),
        ("TRIAGE_CALL,SALES_CALL", ["TRIAGE", "SALES"]),
        ("SALES_CALL,SALES_CALL", ["SALES"]),
        ("SALES_CALL,COACHING_CALL,TRIAGE_CALL", ["TRIAGE", "COACHING", "SALES"]),
    ],
)
def test_list_by_call_category(api, categories, value, found):
    assert references(api, {"call_category": value}) == found


@pytest.mark.parametrize("value", ["PARTY", "sales_call", "SALES_CALL,PARTY", "SALES_CALL;TRIAGE_CALL", "5"])
def test_decision_6_an_unknown_call_category_is_400_with_the_accepted_ones(api, value):
    answer = api.get(PATH, {"call_category": value})

    assert_invalid_fields(answer, "call_category")
    assert all(name in answer.json()["message"] for name in ["SALES_CALL", "COACHING_CALL", "TRIAGE_CALL"])


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
def test_list_by_each_outcome_role(api, organization, role):
    (id,) = book(api, "moved")
    appointment = Appointment.objects.of(organization).get(pk=id)
    to = Status.objects.of(organization).get(role=role)
    change_outcome(organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=to.id)

    assert references(api, {"outcome_role": role}) == ["moved"]
    assert references(api, {"outcome_role": ",".join(other for other in ROLES if other != role)}) == []


def test_list_by_outcome_role_means_every_status_of_the_role(api, organization):
    (id, _, _) = book(api, "second", "booked", "canceled")
    api.cancel(external_reference="canceled")
    second = make_status(organization, "Second thoughts", role="CANCELED")
    appointment = Appointment.objects.of(organization).get(pk=id)
    change_outcome(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=second.id
    )

    assert references(api, {"outcome_role": "CANCELED"}) == ["canceled", "second"]
    assert references(api, {"outcome_role": "CANCELED,APPOINTMENT_BOOKED"}) == ["canceled", "booked", "second"]


@pytest.mark.parametrize("value", ["MAYBE", "won", "WON,MAYBE"])
def test_decision_6_an_unknown_outcome_role_is_400_with_the_accepted_ones(api, value):
    answer = api.get(PATH, {"outcome_role": value})

    assert_invalid_fields(answer, "outcome_role")
    assert all(role in answer.json()["message"] for role in ROLES)


@pytest.mark.parametrize(
    ("parameter", "field"), [("closer", "host_email"), ("setter", "setter_email"), ("triager", "triager_email")]
)
def test_list_by_member_in_any_letter_case(api, organization, parameter, field):
    for name in ["hana", "olga"]:
        make_member(organization, f"{name}@acme.example")
        book(api, name, **{field: f"{name}@acme.example"})
    book(api, "nobody")

    assert (
        references(api, {parameter: "hana@acme.example"})
        == references(api, {parameter: "HANA@Acme.Example"})
        == ["hana"]
    )
    assert references(api, {parameter: "olga@acme.example"}) == ["olga"]
    others = {"closer", "setter", "triager"} - {parameter}
    assert [references(api, {other: "hana@acme.example"}) for other in others] == [[], []]


@pytest.mark.parametrize("parameter", ["closer", "setter", "triager"])
@pytest.mark.parametrize("email", ["nobody@acme.example", "owner@globex.example", "ada@example.com"])
def test_decision_6_an_email_nobody_has_gives_an_empty_list(api, other_api, other_organization, parameter, email):
    book(api, "ours")
    other_api.book(
        host_email="owner@globex.example", setter_email="owner@globex.example", triager_email="owner@globex.example"
    )

    assert references(api, {parameter: email}) == []


def test_list_by_a_member_who_has_left(api, host):
    book(api, "hana", host_email="hana@acme.example")
    deactivate(host)

    assert references(api, {"closer": "hana@acme.example"}) == ["hana"]


def test_list_by_lead(api):
    book(api, "first", "second")
    (id,) = book(api, "other", lead_email="grace@example.com")

    lead = api.get_appointment(id)["lead"]["id"]

    assert references(api, {"lead_id": lead}) == references(api, {"lead_id": lead.upper()}) == ["other"]


@pytest.mark.parametrize("value", ["x", "5", "00000000-0000-7000-8000-000000000000", "user_abc"])
def test_decision_5_a_malformed_or_unknown_lead_is_400(api, value):
    assert_invalid_fields(api.get(PATH, {"lead_id": value}), "lead_id")


def test_decision_5_a_strangers_lead_is_an_unknown_one(api, other_api):
    lead = other_api.submit().json()["data"]["lead_id"]

    answer = api.get(PATH, {"lead_id": lead})

    assert_invalid_fields(answer, "lead_id")
    assert lead not in answer.json()["message"] or "found" in answer.json()["message"]
    assert answer.json() == api.get(PATH, {"lead_id": lead[:-1] + ("0" if lead[-1] != "0" else "1")}).json()


@pytest.mark.parametrize(
    ("query", "found"),
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
def test_list_by_schedule_time(api, query, found):
    for name, time in {
        "a": "2027-03-01T00:00:00Z",
        "b": "2027-03-02T23:59:59.999Z",
        "c": "2027-03-03T00:00:00Z",
    }.items():
        book(api, name, schedule_time=time)

    assert references(api, query) == found


def test_decision_6_ordering_by_schedule_time(api):
    for name, month in {"march": 3, "january": 1, "february": 2}.items():
        book(api, name, schedule_time=f"2027-0{month}-01T00:00:00Z")

    assert references(api) == ["february", "january", "march"]
    assert references(api, {"ordering": "schedule_time"}) == ["january", "february", "march"]
    assert references(api, {"ordering": "-schedule_time"}) == ["march", "february", "january"]


def test_list_filters_are_all_of_them(api, host):
    book(api, "hana", host_email="hana@acme.example")
    book(api, "gone", host_email="hana@acme.example")
    book(api, "nobody")
    api.cancel(external_reference="gone")

    query = {
        "closer": "hana@acme.example",
        "outcome_role": "APPOINTMENT_BOOKED",
        "call_category": "SALES_CALL",
        "scheduled_from": "2027-01-05",
    }

    answer = api.get(PATH, query).json()
    assert [row["external_reference"] for row in answer["data"]] == ["hana"]
    assert answer["pagination"] == {
        "page": 1,
        "limit": 10,
        "total": 1,
        "totalPages": 1,
        "hasNext": False,
        "hasPrev": False,
    }


def test_list_shows_providers_appointments_too(api, organization):
    make_provider_appointment(organization, source="SCHEDULER_C", external_reference="theirs")
    book(api, "ours")

    assert [(row["external_reference"], row["source"]) for row in api.get_data(PATH)] == [
        ("ours", "MANUAL"),
        ("theirs", "SCHEDULER_C"),
    ]


@pytest.mark.parametrize("first", BAD)
def test_decision_6_any_two_bad_values_are_400(api, first):
    for second in BAD:
        query = {"closer": "nobody@acme.example", first: BAD[first], second: BAD[second]}
        assert_invalid_among(api.get(PATH, query), first, second)


def test_decision_6_every_bad_value_is_named(api):
    assert_invalid_fields(api.get(PATH, BAD), *BAD)
