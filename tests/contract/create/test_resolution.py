"""POST /api/external/appointments: which lead, event type and members a booking gets (interface 4.1, decisions 13 to 17, 24 to 26)."""

import pytest

from appointments.models import EventType
from leads.models import Lead
from tests.contract.assertions import assert_invalid_fields
from tests.factories import deactivate, make_event_type, make_member, owner_of, snapshot_of, summary_of

LATER = "2090-01-05T10:00:00.000Z"


def lead_of(api, answer):
    assert answer.status_code == 201, answer.json()
    return api.get_appointment(answer.json()["data"]["id"])["lead"]


def test_create_makes_a_lead_of_a_new_email(api, organization):
    lead = lead_of(
        api, api.book(lead_first_name="Ada", lead_last_name="Byron", lead_phone="+442079460000", schedule_time=LATER)
    )

    assert lead == {
        "id": lead["id"],
        "first_name": "Ada",
        "last_name": "Byron",
        "email": "ada@example.com",
        "phone_e164": "+442079460000",
        "phone_country": "GB",
        "next_touch_point_at": LATER,
        "next_touch_point_type": "APPOINTMENT",
    }


@pytest.mark.parametrize("email", ["ada@example.com", "ADA@EXAMPLE.COM", " Ada@Example.com "])
def test_decision_13_a_lead_is_found_by_email_in_any_case_and_trimmed(api, organization, email):
    known = api.submit(email="ada@Example.com").json()["data"]["lead_id"]

    lead = lead_of(api, api.book(lead_email=email))

    assert (lead["id"], lead["email"]) == (known, "ada@Example.com")
    assert summary_of(organization)["leads"] == 1


def test_decision_13_what_was_typed_is_kept_for_display(api):
    assert lead_of(api, api.book(lead_email=" Ada.Byron@Example.COM "))["email"] == "Ada.Byron@Example.COM"


def test_create_falls_back_to_the_email_prefix_for_the_first_name(api):
    lead = lead_of(api, api.book(lead_email="Ada.Byron+calls@example.com"))

    assert (lead["first_name"], lead["last_name"]) == ("Ada.Byron+calls", "")


def test_create_uses_the_last_name_without_a_first_name(api):
    lead = lead_of(api, api.book(lead_last_name="Byron"))

    assert (lead["first_name"], lead["last_name"]) == ("ada", "Byron")


def test_decision_14_names_are_not_used_for_an_existing_lead_not_even_empty_ones(api):
    api.submit(first_name="Ada", last_name=...)

    lead = lead_of(api, api.book(lead_first_name="Grace", lead_last_name="Hopper"))

    assert (lead["first_name"], lead["last_name"]) == ("Ada", "")


def test_decision_14_a_phone_fills_an_empty_one(api):
    api.submit()

    lead = lead_of(api, api.book(lead_phone="+442079460000"))

    assert (lead["phone_e164"], lead["phone_country"]) == ("+442079460000", "GB")


def test_decision_14_a_known_phone_is_kept(api):
    api.submit(phone_e164="+12125550123", phone_country="US")

    lead = lead_of(api, api.book(lead_phone="+442079460000"))

    assert (lead["phone_e164"], lead["phone_country"]) == ("+12125550123", "US")


@pytest.mark.parametrize(
    ("country", "typed", "stored"),
    [
        pytest.param("US", "(212) 555-0123", ("+12125550123", "US"), id="national_us"),
        pytest.param("GB", "020 7946 0000", ("+442079460000", "GB"), id="national_gb"),
        pytest.param("DE", "030 901820", ("+4930901820", "DE"), id="national_de"),
        pytest.param("DE", "+1 212 555 0123", ("+12125550123", "US"), id="international_wins"),
        pytest.param("US", " +44 20 7946 0000 ", ("+442079460000", "GB"), id="with_spaces"),
        pytest.param("US", "call me", (None, None), id="words"),
        pytest.param("US", "12", (None, None), id="too_short"),
        pytest.param("US", "+999123456789", (None, None), id="no_such_country"),
        pytest.param("US", "+1" + "2" * 40, (None, None), id="too_long"),
        pytest.param("US", "9" * 300, (None, None), id="much_too_long"),
    ],
)
def test_decision_15_a_phone_is_read_in_the_default_country_or_ignored(api, organization, country, typed, stored):
    organization.default_country = country
    organization.save()

    lead = lead_of(api, api.book(lead_phone=typed))

    assert (lead["phone_e164"], lead["phone_country"]) == stored


def test_decision_24_lead_id_wins_over_lead_email(api, organization):
    known = api.submit(email="grace@example.com").json()["data"]["lead_id"]

    lead = lead_of(api, api.book(lead_id=known, lead_email="ada@example.com", lead_first_name="Ada"))

    assert (lead["id"], lead["email"]) == (known, "grace@example.com")
    assert summary_of(organization)["leads"] == 1


def test_create_needs_no_email_beside_a_lead_id(api):
    known = api.submit().json()["data"]["lead_id"]

    assert lead_of(api, api.book(lead_id=known, lead_email=...))["id"] == known


def test_decision_24_event_type_id_wins_over_its_name(api, organization):
    known = make_event_type(organization, "Coaching", call_category="COACHING_CALL")

    id = api.book(event_type_id=str(known.id), event_type_name="Brand new").json()["data"]["id"]

    shown = api.get_appointment(id)
    assert (shown["appointment_event_type"]["id"], shown["appointment_type"]) == (str(known.id), "Coaching")
    assert summary_of(organization)["event_types"] == 1


def test_create_needs_no_name_beside_an_event_type_id(api, organization):
    known = make_event_type(organization, "Coaching")

    id = api.book(event_type_id=str(known.id).upper(), event_type_name=...).json()["data"]["id"]

    assert api.get_appointment(id)["appointment_type"] == "Coaching"


@pytest.mark.parametrize("name", ["Strategy call", "strategy CALL", "STRATEGY CALL"])
def test_create_matches_an_event_type_in_any_letter_case(api, organization, name):
    known = make_event_type(
        organization, "Strategy call", call_category="TRIAGE_CALL", provider="SCHEDULER_B", owner_name="Olga"
    )

    shown = api.get_appointment(api.book(event_type_name=name).json()["data"]["id"])

    assert (shown["appointment_type"], shown["call_category"]) == ("Strategy call", "TRIAGE_CALL")
    assert shown["appointment_event_type"] == {"id": str(known.id), "provider": "SCHEDULER_B", "owner_name": "Olga"}
    assert summary_of(organization)["event_types"] == 1


def test_decision_25_a_new_event_type_is_a_sales_call_of_no_provider(api):
    shown = api.get_appointment(api.book(event_type_name="Strategy CALL").json()["data"]["id"])

    assert (shown["appointment_type"], shown["call_category"]) == ("Strategy CALL", "SALES_CALL")
    assert shown["appointment_event_type"] == {
        "id": shown["appointment_event_type"]["id"],
        "provider": None,
        "owner_name": None,
    }


def test_decision_25_the_call_category_is_the_one_at_booking(api, organization):
    known = make_event_type(organization, "Strategy call", call_category="TRIAGE_CALL")
    id = api.book().json()["data"]["id"]
    EventType.objects.of(organization).filter(pk=known.pk).update(call_category="COACHING_CALL")

    assert api.get_appointment(id)["call_category"] == "TRIAGE_CALL"
    assert (
        api.get_appointment(api.book(external_reference="ref-2").json()["data"]["id"])["call_category"]
        == "COACHING_CALL"
    )


def test_create_takes_host_setter_and_triager_by_email_in_any_case(api, organization):
    people = {part: make_member(organization, f"{part}@acme.example") for part in ["host", "setter", "triager"]}

    answer = api.book(
        host_email="HOST@acme.example", setter_email="Setter@ACME.example", triager_email=" triager@acme.example "
    )

    shown = api.get_appointment(answer.json()["data"]["id"])
    assert {part: shown[part]["id"] for part in people} == {part: member.user_id for part, member in people.items()}


@pytest.mark.parametrize(
    "who", ["nobody@acme.example", "gone@acme.example", "owner@globex.example", "ada@example.com", "nonsense"]
)
@pytest.mark.parametrize("field", ["host_email", "setter_email", "triager_email"])
def test_decision_24_an_email_of_no_active_member_is_400_and_changes_nothing(
    api, organization, other_organization, field, who
):
    deactivate(make_member(organization, "gone@acme.example"))
    api.submit()
    before = snapshot_of(organization)

    answer = api.book(**{field: who}, lead_email="new@example.com", event_type_name="New")

    assert_invalid_fields(answer, field)
    if who != "nonsense":
        assert answer.json()["message"] == f"{field} must belong to an active member of the organization"
    assert snapshot_of(organization) == before


def test_decision_24_each_unknown_member_is_named(api, host):
    answer = api.book(host_email="hana@acme.example", setter_email="x@acme.example", triager_email="y@acme.example")

    assert_invalid_fields(answer, "setter_email", "triager_email")


def test_create_takes_a_person_who_is_a_member_of_two_organizations(api, other_api, organization, other_organization):
    person = owner_of(organization).user
    owner_of(other_organization).__class__.objects.create(organization=other_organization, user=person, role="CLOSER")

    shown = [a.get_appointment(a.book(host_email=person.email).json()["data"]["id"])["host"] for a in (api, other_api)]

    assert [user["id"] for user in shown] == [person.id] * 2
    assert [user["role"] for user in shown] == ["OWNER", "CLOSER"]


def test_decision_16_the_lead_points_at_its_earliest_upcoming_appointment(api):
    times = [
        "2090-01-05T10:00:00.000Z",
        "2089-01-05T10:00:00.000Z",
        "2091-01-05T10:00:00.000Z",
        "2020-01-05T10:00:00.000Z",
    ]

    seen = [
        lead_of(api, api.book(external_reference=time, schedule_time=time))["next_touch_point_at"] for time in times
    ]

    assert seen == [times[0], times[1], times[1], times[1]]


def test_decision_16_a_booking_in_the_past_points_the_lead_nowhere(api):
    lead = lead_of(api, api.book(schedule_time="2020-01-05T10:00:00Z"))

    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == (None, None)


@pytest.mark.parametrize(
    ("at", "kept"), [("2080-01-01T00:00:00Z", True), ("2095-01-01T00:00:00Z", False), ("2020-01-01T00:00:00Z", False)]
)
def test_decision_16_an_earlier_touch_point_that_staff_set_is_kept_while_it_is_to_come(api, organization, at, kept):
    known = api.submit().json()["data"]["lead_id"]
    Lead.objects.of(organization).filter(pk=known).update(next_touch_point_at=at, next_touch_point_type="SMS")

    lead = lead_of(api, api.book(schedule_time=LATER))

    staffs, own = (at.replace("Z", ".000Z"), "SMS"), (LATER, "APPOINTMENT")
    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == (staffs if kept else own)
