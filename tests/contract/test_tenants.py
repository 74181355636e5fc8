"""Another organization's things are unknown, always (interface convention 4 and 5.2; decision 5)."""

import pytest

from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.factories import make_event_type, make_member, snapshot_of, summary_of
from webhooks.models import Event

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def theirs(other_api, other_organization):
    """The ids of a stranger's full world."""
    member = make_member(other_organization, "sol@globex.example")
    opt_in = other_api.submit(external_reference="form-1", traffic={"utm_content": member.user_id}).json()["data"]
    appointment = other_api.get_appointment(other_api.book(host_email="sol@globex.example").json()["data"]["id"])
    ids = {
        "lead": opt_in["lead_id"],
        "opt_in": opt_in["opt_in_id"],
        "appointment": appointment["id"],
        "status": other_api.get_status("WON")["id"],
    }
    return {**ids, "event_type": appointment["appointment_event_type"]["id"], "user": member.user_id}


def test_the_same_reference_email_and_event_type_live_in_both(api, other_api, organization, other_organization):
    first, second = api.book(), other_api.book()

    shown = [api.get_appointment(first.json()["data"]["id"]), other_api.get_appointment(second.json()["data"]["id"])]
    assert (first.status_code, second.status_code) == (201, 201)
    ids = [
        [
            one["id"],
            one["lead"]["id"],
            one["appointment_event_type"]["id"],
            one["outcome"]["id"],
            one["first_source"]["id"],
        ]
        for one in shown
    ]
    assert not set(ids[0]) & set(ids[1])
    assert summary_of(organization)["leads"] == summary_of(other_organization)["leads"] == 1


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads"])
def test_lists_show_ones_own_alone(api, theirs, name):
    answer = api.get(f"/api/external/{name}").json()

    assert (answer["data"], answer["pagination"]["total"]) == ([], 0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("appointments", "appointment"), ("opt-ins", "opt_in"), ("leads", "lead"), ("statuses", "status")],
)
def test_details_of_a_stranger_are_404(api, theirs, name, kind):
    assert_error(api.get(f"/api/external/{name}/{theirs[kind]}"), 404, "Resource not found")


@pytest.mark.parametrize(
    ("name", "parameter", "kind"),
    [
        ("appointments", "lead_id", "lead"),
        ("opt-ins", "lead_id", "lead"),
        ("leads", "status_id", "status"),
        ("events", "after", "event"),
    ],
)
def test_filters_by_a_strangers_id_answer_as_by_an_unknown_one(api, theirs, other_organization, name, parameter, kind):
    id = theirs.get(kind) or str(Event.objects.of(other_organization).first().id)

    answer = api.get(f"/api/external/{name}", {parameter: id})

    assert_invalid_fields(answer, parameter)
    assert answer.json() == api.get(f"/api/external/{name}", {parameter: UNKNOWN}).json()


@pytest.mark.parametrize("fields", ["lead", "event_type", "host", "setter", "triager"])
def test_bookings_with_a_strangers_things_are_400_and_change_nothing(
    api, theirs, organization, other_organization, fields
):
    given = {"lead": "lead_id", "event_type": "event_type_id"}.get(fields, f"{fields}_email")
    before = snapshot_of(organization), snapshot_of(other_organization)

    assert_invalid_fields(api.book(**{given: theirs.get(fields, "sol@globex.example")}), given)

    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


def test_writes_of_one_organization_leave_the_other_alone(api, theirs, other_organization):
    before = snapshot_of(other_organization)

    api.book()
    api.cancel()
    api.submit(external_reference="form-1")

    assert snapshot_of(other_organization) == before


def test_a_stranger_in_utm_content_is_no_setter(api, theirs):
    lead = api.submit(traffic={"utm_content": theirs["user"]}).json()["data"]["lead_id"]

    assert api.get_lead(lead)["setter"] is None


def test_an_event_type_of_the_stranger_gives_nothing_away(api, other_organization):
    make_event_type(
        other_organization, "Strategy call", call_category="COACHING_CALL", provider="SCHEDULER_A", owner_name="Olga"
    )

    shown = api.get_appointment(api.book().json()["data"]["id"])

    assert (shown["call_category"], shown["appointment_event_type"]["owner_name"]) == ("SALES_CALL", None)


@pytest.mark.django_db(transaction=True)
def test_the_feed_shows_ones_own_events_alone(api, theirs, organization):
    assert api.list_events() == []

    api.submit()

    assert [event["organization_id"] for event in api.list_events()] == [str(organization.id)] * 2
