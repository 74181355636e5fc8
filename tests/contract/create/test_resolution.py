"""POST /api/external/appointments: the lead, event type, members and touch point of a booking
(docs/interface.md, L1 to L7, L13 and A10 to A12).
"""

import pytest

from appointments.models import EventType
from leads.models import Lead
from leads.services import edit_lead
from organizations.models import Membership
from tests.contract.assertions import assert_invalid_fields
from tests.factories import (
    deactivate,
    make_event_type,
    make_member,
    notifications_of,
    owner_actor,
    owner_of,
    snapshot_of,
    summary_of,
)

# Far in the future, so that the appointment is still to come whenever the tests run.
LATER = "2090-01-05T10:00:00.000Z"


def get_lead(api, response):
    """Return the lead in the detail of the appointment that was created."""
    assert response.status_code == 201, response.json()
    return api.get_appointment(response.json()["data"]["id"])["lead"]


def test_a_new_email_creates_a_lead(api, organization):
    """docs/interface.md, A10, L2"""
    lead = get_lead(
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
def test_a_lead_is_found_by_its_email_trimmed_and_case_insensitively(api, organization, email):
    """docs/interface.md, L1"""
    lead_id = api.submit(email="ada@Example.com").json()["data"]["lead_id"]

    lead = get_lead(api, api.book(lead_email=email))

    assert (lead["id"], lead["email"]) == (lead_id, "ada@Example.com")
    assert summary_of(organization)["leads"] == 1


def test_the_email_is_shown_as_it_was_first_sent(api):
    """docs/interface.md, L1"""
    assert get_lead(api, api.book(lead_email=" Ada.Byron@Example.COM "))["email"] == "Ada.Byron@Example.COM"


def test_the_first_name_defaults_to_the_email_prefix(api):
    """docs/interface.md, L5"""
    lead = get_lead(api, api.book(lead_email="Ada.Byron+calls@example.com"))

    assert (lead["first_name"], lead["last_name"]) == ("Ada.Byron+calls", "")


def test_a_last_name_is_used_without_a_first_name(api):
    """docs/interface.md, L5"""
    lead = get_lead(api, api.book(lead_last_name="Byron"))

    assert (lead["first_name"], lead["last_name"]) == ("ada", "Byron")


def test_the_first_real_first_name_replaces_the_email_prefix(api):
    """docs/interface.md, L5"""
    lead_id = get_lead(api, api.book())["id"]

    # A booking uses names only for a new lead (L4), so the first real name is that of the first opt-in.
    api.book(external_reference="ref-2", lead_first_name="Augusta")
    api.submit(first_name="Ada")
    api.submit(first_name="Grace")

    lead = api.get_lead(lead_id)
    assert (lead["first_name"], lead["last_name"]) == ("Ada", "")


@pytest.mark.parametrize("create", ["book", "submit"])
def test_a_real_first_name_that_equals_the_email_prefix_is_kept(api, create):
    """docs/interface.md, L4"""
    created = api.book(lead_first_name="ada") if create == "book" else api.submit(first_name="ada")

    api.submit(first_name="Grace")

    (lead,) = api.get_data("/api/external/leads")
    assert (created.status_code, lead["first_name"]) == (201, "ada")


def test_an_email_prefix_that_an_opt_in_confirms_as_first_name_is_kept(api):
    """docs/interface.md, L5"""
    lead_id = get_lead(api, api.book())["id"]
    before = api.get_lead(lead_id)

    api.submit(first_name="ada", source="MANUAL")
    api.submit(first_name="Grace", source="MANUAL")

    assert (before["first_name"], api.get_lead(lead_id)["first_name"]) == ("ada", "ada")


def test_a_first_name_that_staff_have_set_is_kept(api, organization):
    """docs/interface.md, L4, L5"""
    lead = Lead.objects.of(organization).get(pk=get_lead(api, api.book())["id"])
    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, first_name="Augusta")

    api.submit(first_name="Grace")

    assert api.get_lead(str(lead.pk))["first_name"] == "Augusta"


def test_names_are_not_used_for_an_existing_lead_not_even_for_empty_ones(api):
    """docs/interface.md, L4"""
    api.submit(first_name="Ada", last_name=...)

    lead = get_lead(api, api.book(lead_first_name="Grace", lead_last_name="Hopper"))

    assert (lead["first_name"], lead["last_name"]) == ("Ada", "")


def test_a_phone_is_used_if_the_lead_has_none(api):
    """docs/interface.md, L4"""
    api.submit()

    lead = get_lead(api, api.book(lead_phone="+442079460000"))

    assert (lead["phone_e164"], lead["phone_country"]) == ("+442079460000", "GB")


def test_a_known_phone_is_kept(api):
    """docs/interface.md, L4"""
    api.submit(phone_e164="+12125550123", phone_country="US")

    lead = get_lead(api, api.book(lead_phone="+442079460000"))

    assert (lead["phone_e164"], lead["phone_country"]) == ("+12125550123", "US")


@pytest.mark.parametrize(
    ("country", "phone", "expected"),
    [
        pytest.param("US", "(212) 555-0123", ("+12125550123", "US"), id="national_us"),
        pytest.param("GB", "020 7946 0000", ("+442079460000", "GB"), id="national_gb"),
        pytest.param("DE", "030 901820", ("+4930901820", "DE"), id="national_de"),
        pytest.param("DE", "+1 212 555 0123", ("+12125550123", "US"), id="international"),
        pytest.param("US", " +44 20 7946 0000 ", ("+442079460000", "GB"), id="with_spaces"),
        pytest.param("US", "call me", (None, None), id="words"),
        pytest.param("US", "12", (None, None), id="too_short"),
        pytest.param("US", "5555555", (None, None), id="without_area_code_us"),
        pytest.param("US", "+15555555", (None, None), id="international_without_area_code"),
        pytest.param("DE", "+1 555 5555", (None, None), id="without_area_code_of_another_country"),
        pytest.param("US", "+999123456789", (None, None), id="no_such_country"),
        pytest.param("US", "+1" + "2" * 40, (None, None), id="too_long"),
        pytest.param("US", "9" * 300, (None, None), id="much_too_long"),
    ],
)
def test_a_phone_is_read_in_the_default_country_or_ignored(api, organization, country, phone, expected):
    """docs/interface.md, L6, L7"""
    organization.default_country = country
    organization.save()

    lead = get_lead(api, api.book(lead_phone=phone))

    assert (lead["phone_e164"], lead["phone_country"]) == expected


def test_lead_id_takes_precedence_over_lead_email(api, organization):
    """docs/interface.md, A10"""
    lead_id = api.submit(email="grace@example.com").json()["data"]["lead_id"]

    lead = get_lead(api, api.book(lead_id=lead_id, lead_email="ada@example.com", lead_first_name="Ada"))

    assert (lead["id"], lead["email"]) == (lead_id, "grace@example.com")
    assert summary_of(organization)["leads"] == 1


def test_lead_email_is_optional_with_a_lead_id(api):
    """docs/interface.md, A9"""
    lead_id = api.submit().json()["data"]["lead_id"]

    assert get_lead(api, api.book(lead_id=lead_id, lead_email=...))["id"] == lead_id


def test_event_type_id_takes_precedence_over_event_type_name(api, organization):
    """docs/interface.md, A11"""
    event_type = make_event_type(organization, "Coaching", call_category="COACHING_CALL")

    id = api.book(event_type_id=str(event_type.id), event_type_name="Brand new").json()["data"]["id"]

    appointment = api.get_appointment(id)
    assert (appointment["appointment_event_type"]["id"], appointment["appointment_type"]) == (
        str(event_type.id),
        "Coaching",
    )
    assert summary_of(organization)["event_types"] == 1


def test_event_type_name_is_optional_with_an_event_type_id(api, organization):
    """docs/interface.md, A9"""
    event_type = make_event_type(organization, "Coaching")

    id = api.book(event_type_id=str(event_type.id).upper(), event_type_name=...).json()["data"]["id"]

    assert api.get_appointment(id)["appointment_type"] == "Coaching"


@pytest.mark.parametrize("name", ["Strategy call", "strategy CALL", "STRATEGY CALL"])
def test_an_event_type_is_found_by_its_name_case_insensitively(api, organization, name):
    """docs/interface.md, A11"""
    event_type = make_event_type(
        organization, "Strategy call", call_category="TRIAGE_CALL", provider="SCHEDULER_B", owner_name="Olga"
    )

    appointment = api.get_appointment(api.book(event_type_name=name).json()["data"]["id"])

    assert (appointment["appointment_type"], appointment["call_category"]) == ("Strategy call", "TRIAGE_CALL")
    assert appointment["appointment_event_type"] == {
        "id": str(event_type.id),
        "provider": "SCHEDULER_B",
        "owner_name": "Olga",
    }
    assert summary_of(organization)["event_types"] == 1


def test_a_new_event_type_is_a_sales_call_without_provider(api):
    """docs/interface.md, A11, A3"""
    appointment = api.get_appointment(api.book(event_type_name="Strategy CALL").json()["data"]["id"])

    assert (appointment["appointment_type"], appointment["call_category"]) == ("Strategy CALL", "SALES_CALL")
    assert appointment["appointment_event_type"] == {
        "id": appointment["appointment_event_type"]["id"],
        "provider": None,
        "owner_name": None,
    }


def test_an_appointment_keeps_the_call_category_at_booking(api, organization):
    """docs/interface.md, A11"""
    event_type = make_event_type(organization, "Strategy call", call_category="TRIAGE_CALL")
    id = api.book().json()["data"]["id"]
    EventType.objects.of(organization).filter(pk=event_type.pk).update(call_category="COACHING_CALL")

    new_id = api.book(external_reference="ref-2").json()["data"]["id"]

    assert api.get_appointment(id)["call_category"] == "TRIAGE_CALL"
    assert api.get_appointment(new_id)["call_category"] == "COACHING_CALL"


def test_members_are_found_by_their_email_case_insensitively(api, organization):
    """docs/interface.md, A12"""
    members = {role: make_member(organization, f"{role}@acme.example") for role in ["host", "setter", "triager"]}

    response = api.book(
        host_email="HOST@acme.example", setter_email="Setter@ACME.example", triager_email=" triager@acme.example "
    )

    appointment = api.get_appointment(response.json()["data"]["id"])
    assert {role: appointment[role]["id"] for role in members} == {
        role: member.user_id for role, member in members.items()
    }


@pytest.mark.parametrize(
    "email", ["nobody@acme.example", "gone@acme.example", "owner@globex.example", "ada@example.com", "nonsense"]
)
@pytest.mark.parametrize("field", ["host_email", "setter_email", "triager_email"])
def test_an_email_that_no_active_member_has_is_400_and_changes_nothing(
    api, organization, other_organization, field, email
):
    """docs/interface.md, A12, A13"""
    # Not a member, no longer a member, a member of another organization, a lead, and no e-mail address.
    deactivate(make_member(organization, "gone@acme.example"))
    api.submit()
    before = snapshot_of(organization)

    response = api.book(**{field: email}, lead_email="new@example.com", event_type_name="New")

    assert_invalid_fields(response, field)
    # A malformed address has another message.
    if email != "nonsense":
        refusal = "must belong to an active member of the organization who is not a viewer"
        assert response.json()["message"] == f"{field} {refusal}"
    assert snapshot_of(organization) == before


def test_every_unknown_member_is_named(api, host):
    """docs/interface.md, A12"""
    response = api.book(host_email="hana@acme.example", setter_email="x@acme.example", triager_email="y@acme.example")

    assert_invalid_fields(response, "setter_email", "triager_email")


def test_a_booking_without_setter_email_takes_the_leads_setter(api, organization, other_organization):
    """docs/interface.md, L9"""
    setter = make_member(organization, "sam@acme.example")
    lead_id = api.submit(traffic={"utm_content": setter.user_id}).json()["data"]["lead_id"]
    other = make_member(organization, "other@acme.example")

    ids = [
        api.book(external_reference=f"ref-{number}", **fields).json()["data"]["id"]
        for number, fields in enumerate([{}, {"setter_email": None}, {"setter_email": "other@acme.example"}])
    ]

    setters = [api.get_appointment(id)["setter"]["id"] for id in ids]
    assert setters == [setter.user_id, setter.user_id, other.user_id]
    assert api.get_lead(lead_id)["setter"]["id"] == setter.user_id
    # As a participant, the setter is notified; the owner would be if there were none.
    assert notifications_of(organization) == [
        ("CALL_BOOKED", "other@acme.example"),
        ("CALL_BOOKED", "sam@acme.example"),
        ("CALL_BOOKED", "sam@acme.example"),
    ]


def test_a_setter_who_has_left_is_not_taken_over(api, organization):
    """docs/interface.md, L9"""
    setter = make_member(organization, "sam@acme.example")
    lead_id = api.submit(traffic={"utm_content": setter.user_id}).json()["data"]["lead_id"]
    deactivate(setter)

    appointment = api.get_appointment(api.book().json()["data"]["id"])

    assert (appointment["setter"], api.get_lead(lead_id)["setter"]["id"]) == (None, setter.user_id)


def test_a_member_of_two_organizations_can_be_host_in_both(api, other_api, organization, other_organization):
    """docs/interface.md, M1, A12"""
    user = owner_of(organization).user
    Membership.objects.create(organization=other_organization, user=user, role="CLOSER")

    ids = [client.book(host_email=user.email).json()["data"]["id"] for client in (api, other_api)]

    hosts = [api.get_appointment(ids[0])["host"], other_api.get_appointment(ids[1])["host"]]
    assert [host["id"] for host in hosts] == [user.id] * 2
    assert [host["role"] for host in hosts] == ["OWNER", "CLOSER"]


def test_the_touch_point_is_the_leads_earliest_upcoming_appointment(api):
    """docs/interface.md, L13"""
    times = [
        "2090-01-05T10:00:00.000Z",
        "2089-01-05T10:00:00.000Z",
        "2091-01-05T10:00:00.000Z",
        "2020-01-05T10:00:00.000Z",
    ]

    touch_points = [
        get_lead(api, api.book(external_reference=time, schedule_time=time))["next_touch_point_at"] for time in times
    ]

    # The third appointment is later than the second, and the last one is in the past.
    assert touch_points == [times[0], times[1], times[1], times[1]]


def test_a_booking_in_the_past_sets_no_touch_point(api):
    """docs/interface.md, L13"""
    lead = get_lead(api, api.book(schedule_time="2020-01-05T10:00:00Z"))

    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == (None, None)


@pytest.mark.parametrize(
    ("touch_point_at", "is_kept"),
    [("2080-01-01T00:00:00Z", True), ("2095-01-01T00:00:00Z", False), ("2020-01-01T00:00:00Z", False)],
)
def test_an_earlier_future_touch_point_that_staff_set_is_kept(api, organization, touch_point_at, is_kept):
    """docs/interface.md, L13"""
    lead_id = api.submit().json()["data"]["lead_id"]
    Lead.objects.of(organization).filter(pk=lead_id).update(
        next_touch_point_at=touch_point_at, next_touch_point_type="SMS"
    )

    lead = get_lead(api, api.book(schedule_time=LATER))

    expected = (touch_point_at.replace("Z", ".000Z"), "SMS") if is_kept else (LATER, "APPOINTMENT")
    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == expected
