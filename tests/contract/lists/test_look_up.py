"""Filters that find one row or a few: by id, reference or phone (docs/interface.md, G44, G45, A25, L17 and O12)."""

import pytest

from appointments.models import Appointment
from appointments.services import edit_appointment
from leads.models import Lead
from statuses.models import Status
from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields
from tests.factories import make_event_type, make_provider_appointment, owner_actor, set_columns

APPOINTMENTS, LEADS, OPT_INS = (f"/api/external/{name}" for name in ("appointments", "leads", "opt-ins"))
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


def create(api, path, number):
    """Create a row of the list, and return its id."""
    email, reference = f"lead{number}@example.com", f"ref-{number}"
    if path == APPOINTMENTS:
        return api.book(external_reference=reference, lead_email=email).json()["data"]["id"]
    data = api.submit(external_reference=reference, email=email).json()["data"]
    return data["lead_id" if path == LEADS else "opt_in_id"]


def ids(api, path, query=None):
    return [row["id"] for row in api.get_data(path, query)]


@pytest.mark.parametrize("path", [APPOINTMENTS, LEADS, OPT_INS])
def test_lists_are_filtered_by_ids_and_keep_their_order(api, other_api, path):
    """docs/interface.md, G44"""
    first, second, third = (create(api, path, number) for number in range(3))
    other = create(other_api, path, 0)

    assert ids(api, path, {"id": second}) == ids(api, path, {"id": second.upper()}) == [second]
    assert ids(api, path, {"id": f"{first},{third}"}) == ids(api, path, {"id": [third, first]}) == [third, first]
    assert ids(api, path, {"id": f"{first}, {second}", "ordering": "created_at"}) == [first, second]
    assert ids(api, path, {"id": f"{first},{first}"}) == [first]
    assert ids(api, path, {"id": f"{UNKNOWN_ID},{other},{first}"}) == [first]
    assert ids(api, path, {"id": other}) == ids(api, path, {"id": UNKNOWN_ID}) == []


@pytest.mark.parametrize("path", [APPOINTMENTS, LEADS, OPT_INS])
def test_up_to_100_ids_are_accepted(api, path):
    """docs/interface.md, G44"""
    id = create(api, path, 0)

    response = api.get(path, {"id": ",".join([id] * 100), "limit": 1})

    assert response.json()["pagination"]["total"] == 1
    assert_invalid_fields(api.get(path, {"id": ",".join([f"{UNKNOWN_ID[:-3]}{n:03}" for n in range(101)])}), "id")


@pytest.mark.parametrize("path", [APPOINTMENTS, LEADS, OPT_INS])
@pytest.mark.parametrize("value", ["x", f"{UNKNOWN_ID},", f"{UNKNOWN_ID},x", ",", f"{UNKNOWN_ID};{UNKNOWN_ID}"])
def test_a_malformed_id_is_400(api, path, value):
    """docs/interface.md, G44"""
    assert_invalid_fields(api.get(path, {"id": value}), "id")


@pytest.mark.parametrize("path", [APPOINTMENTS, OPT_INS])
def test_lists_are_filtered_by_the_exact_reference(api, other_api, path):
    """docs/interface.md, G45"""
    id = create(api, path, 1)
    create(api, path, 10)
    create(other_api, path, 2)

    assert ids(api, path, {"external_reference": "ref-1"}) == [id]
    for other in ("REF-1", "ref-1 ", " ref-1", "ref", "ref-2", "r" * 300):
        assert ids(api, path, {"external_reference": other}) == []


@pytest.mark.parametrize("path", [APPOINTMENTS, OPT_INS])
def test_a_reference_is_compared_with_its_spaces_and_commas(api, path):
    """docs/interface.md, G45"""
    name = "book" if path == APPOINTMENTS else "submit"
    getattr(api, name)(external_reference=" a, b ")

    assert len(ids(api, path, {"external_reference": " a, b "})) == 1
    assert ids(api, path, {"external_reference": "a, b"}) == []
    assert_invalid_fields(api.get(path, {"external_reference": ["a", "b"]}), "external_reference")


def test_a_reference_finds_appointments_of_all_sources(api, organization):
    """docs/interface.md, G45, A8"""
    scheduled = make_provider_appointment(organization, source="SCHEDULER_B", external_reference="ref-1")
    booked = api.book().json()["data"]["id"]

    assert ids(api, APPOINTMENTS, {"external_reference": "ref-1"}) == [booked, str(scheduled.pk)]


def test_a_reference_finds_opt_ins_of_all_sources(api):
    """docs/interface.md, G45"""
    found = [
        api.submit(source=source, external_reference="ref-1").json()["data"]["opt_in_id"]
        for source in ("WEBINAR", "MANUAL")
    ]

    assert ids(api, OPT_INS, {"external_reference": "ref-1"}) == found[::-1]
    assert ids(api, OPT_INS, {"external_reference": "ref-1", "source": "WEBINAR"}) == found[:1]


def test_appointments_are_filtered_by_event_type(api, other_api, organization, other_organization):
    """docs/interface.md, A25, G28"""
    kept, unused = (make_event_type(organization, name) for name in ("Kept", "Unused"))
    id = api.book(event_type_name="Kept").json()["data"]["id"]
    api.book(external_reference="other", event_type_name="Other")
    foreign = make_event_type(other_organization, "Kept")
    other_api.book(event_type_name="Kept")

    assert ids(api, APPOINTMENTS, {"event_type_id": str(kept.pk)}) == [id]
    assert ids(api, APPOINTMENTS, {"event_type_id": str(unused.pk)}) == []
    for value in ("x", UNKNOWN_ID, str(foreign.pk)):
        assert_invalid_fields(api.get(APPOINTMENTS, {"event_type_id": value}), "event_type_id")


def test_appointments_are_filtered_by_whether_their_outcome_has_been_set(api, other_api, organization):
    """docs/interface.md, A25"""
    roles = ["APPOINTMENT_BOOKED", "RESCHEDULED", "CANCELED", "NO_SHOW", "WON", "LOST", "FOLLOW_UP", "UNQUALIFIED"]
    by_role = {role: create(api, APPOINTMENTS, number) for number, role in enumerate(roles)}
    for role, id in by_role.items():
        edit_appointment(
            organization=organization,
            actor=owner_actor(organization),
            appointment=Appointment.objects.of(organization).get(pk=id),
            status_id=Status.objects.of(organization).get(role=role).pk,
        )
    without = create(api, APPOINTMENTS, 100)
    set_columns(Appointment, organization, without, outcome=None)
    create(other_api, APPOINTMENTS, 0)

    with_outcome = [by_role[role] for role in roles[1:]]
    assert ids(api, APPOINTMENTS, {"has_outcome": "true"}) == with_outcome[::-1]
    assert ids(api, APPOINTMENTS, {"has_outcome": "false"}) == [
        without,
        by_role["APPOINTMENT_BOOKED"],
    ]
    query = {"has_outcome": "false", "external_reference": "ref-100", "ordering": "schedule_time"}
    assert ids(api, APPOINTMENTS, query) == [without]
    assert ids(api, APPOINTMENTS, {"has_outcome": "true", "outcome_role": "APPOINTMENT_BOOKED"}) == []


@pytest.mark.parametrize("value", ["True", "1", "yes", "null", "true,false"])
def test_has_outcome_is_true_or_false(api, value):
    """docs/interface.md, A25"""
    assert_invalid_fields(api.get(APPOINTMENTS, {"has_outcome": value}), "has_outcome")


@pytest.fixture
def caller(api, other_api, organization):
    """A lead in London, beside others; returns its id."""
    organization.default_country = "GB"
    organization.save()
    phone = {"phone_e164": "+442079460000", "phone_country": "GB"}
    other_api.submit(**phone)
    api.submit(email="none@example.com")
    api.submit(email="other@example.com", phone_e164="+442079460001", phone_country="GB")
    return api.submit(email="caller@example.com", **phone).json()["data"]["lead_id"]


@pytest.mark.parametrize(
    "text",
    [
        "+442079460000",
        " 442079460000",  # the + of a URL that is not encoded
        "020 7946 0000",
        "(020) 7946-0000",
        "00442079460000",
        "+44 (0)20 7946 0000",
        "tel:+44-20-7946-0000",
        "+٤٤٢٠٧٩٤٦٠٠٠٠",
    ],
)
def test_leads_are_filtered_by_phone_in_any_spelling(api, caller, text):
    """docs/interface.md, L17"""
    assert ids(api, LEADS, {"phone": text}) == [caller]


def test_all_leads_with_a_phone_are_found(api, caller, organization):
    """docs/interface.md, L17"""
    second = api.submit(email="second@example.com").json()["data"]["lead_id"]
    set_columns(Lead, organization, second, phone_e164="+442079460000", phone_country="GB")

    assert ids(api, LEADS, {"phone": "+442079460000"}) == [second, caller]
    assert ids(api, LEADS, {"phone": "+442079460000", "email": "caller@example.com"}) == [caller]
    assert ids(api, LEADS, {"phone": "+14155552671"}) == []


@pytest.mark.parametrize("text", ["x", "+", "12", "+44207946000012345", "+8001234567890", "anonymous", "+15555555"])
def test_a_phone_that_cannot_be_read_is_400(api, caller, text):
    """docs/interface.md, L6, L17"""
    assert_invalid_fields(api.get(LEADS, {"phone": text}), "phone")


def test_a_phone_without_a_country_is_read_in_the_organizations_own(api, caller, organization):
    """docs/interface.md, L7, L17"""
    organization.default_country = "US"
    organization.save()

    assert_invalid_fields(api.get(LEADS, {"phone": "020 7946 0000"}), "phone")
    assert ids(api, LEADS, {"phone": "011442079460000"}) == [caller]


def test_a_plus_sign_in_an_email_need_not_be_encoded(api: ApiClient) -> None:
    lead_id = api.submit(email="ada+work@example.com").json()["data"]["lead_id"]

    found = [
        api.get(f"{LEADS}?email={text}").json()["data"] for text in ("ada+work@example.com", "ada%2Bwork@example.com")
    ]

    assert [[row["id"] for row in rows] for rows in found] == [[lead_id]] * 2
