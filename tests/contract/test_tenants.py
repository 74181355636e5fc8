"""Another organization's things are unknown, always (interface convention 4 and 5.2; decision 5)."""

import pytest

from tests.contract.expect import bad, refused
from tests.factories import everything, facts, make_event_type, make_member
from webhooks.models import Event

UNKNOWN = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def theirs(stranger_api, stranger):
    """The ids of a stranger's full world."""
    member = make_member(stranger, "sol@globex.example")
    opt_in = stranger_api.submit(external_reference="form-1", traffic={"utm_content": member.user_id}).json()["data"]
    appointment = stranger_api.appointment(stranger_api.book(host_email="sol@globex.example").json()["data"]["id"])
    ids = {
        "lead": opt_in["lead_id"],
        "opt_in": opt_in["opt_in_id"],
        "appointment": appointment["id"],
        "status": stranger_api.status("WON")["id"],
    }
    return {**ids, "event_type": appointment["appointment_event_type"]["id"], "user": member.user_id}


def test_the_same_reference_email_and_event_type_live_in_both(api, stranger_api, organization, stranger):
    first, second = api.book(), stranger_api.book()

    shown = [api.appointment(first.json()["data"]["id"]), stranger_api.appointment(second.json()["data"]["id"])]
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
    assert facts(organization)["leads"] == facts(stranger)["leads"] == 1


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads"])
def test_lists_show_ones_own_alone(api, theirs, name):
    answer = api.get(f"/api/external/{name}").json()

    assert (answer["data"], answer["pagination"]["total"]) == ([], 0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("appointments", "appointment"), ("opt-ins", "opt_in"), ("leads", "lead"), ("statuses", "status")],
)
def test_details_of_a_stranger_are_404(api, theirs, name, kind):
    refused(api.get(f"/api/external/{name}/{theirs[kind]}"), 404, "Resource not found")


@pytest.mark.parametrize(
    ("name", "parameter", "kind"),
    [
        ("appointments", "lead_id", "lead"),
        ("opt-ins", "lead_id", "lead"),
        ("leads", "status_id", "status"),
        ("events", "after", "event"),
    ],
)
def test_filters_by_a_strangers_id_answer_as_by_an_unknown_one(api, theirs, stranger, name, parameter, kind):
    id = theirs.get(kind) or str(Event.objects.of(stranger).first().id)

    answer = api.get(f"/api/external/{name}", {parameter: id})

    bad(answer, parameter)
    assert answer.json() == api.get(f"/api/external/{name}", {parameter: UNKNOWN}).json()


@pytest.mark.parametrize("fields", ["lead", "event_type", "host", "setter", "triager"])
def test_bookings_with_a_strangers_things_are_400_and_change_nothing(api, theirs, organization, stranger, fields):
    given = {"lead": "lead_id", "event_type": "event_type_id"}.get(fields, f"{fields}_email")
    before = everything(organization), everything(stranger)

    bad(api.book(**{given: theirs.get(fields, "sol@globex.example")}), given)

    assert (everything(organization), everything(stranger)) == before


def test_writes_of_one_organization_leave_the_other_alone(api, theirs, stranger):
    before = everything(stranger)

    api.book()
    api.cancel()
    api.submit(external_reference="form-1")

    assert everything(stranger) == before


def test_a_stranger_in_utm_content_is_no_setter(api, theirs):
    lead = api.submit(traffic={"utm_content": theirs["user"]}).json()["data"]["lead_id"]

    assert api.lead(lead)["setter"] is None


def test_an_event_type_of_the_stranger_gives_nothing_away(api, stranger):
    make_event_type(stranger, "Strategy call", call_category="COACHING_CALL", provider="SCHEDULER_A", owner_name="Olga")

    shown = api.appointment(api.book().json()["data"]["id"])

    assert (shown["call_category"], shown["appointment_event_type"]["owner_name"]) == ("SALES_CALL", None)


@pytest.mark.django_db(transaction=True)
def test_the_feed_shows_ones_own_events_alone(api, theirs, organization):
    assert api.events() == []

    api.submit()

    assert [event["organization_id"] for event in api.events()] == [str(organization.id)] * 2
