"""Nothing changes silently: each change of what lists and details show moves `updated_at` and records one event.

The rules are W1 to W5, A27 to A30 and L19 in docs/interface.md. Staff change values with the admin's pages.
"""

from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment, CallAnalysis, EventType, Note
from leads.models import CustomField, Lead
from notifications.models import Notification
from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import deactivate, make_custom_field, make_event_type, make_member, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

# The events list contains committed events only, so each test needs real transactions.
pytestmark = pytest.mark.django_db(transaction=True)
SOON = "2090-01-05T10:00:00.000Z"
CUSTOM_VALUES = [("TEXT", "blue", "blue"), ("NUMBER", "5", 5), ("DATE", "2027-01-05", "2027-01-05")]


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


@pytest.fixture
def booked(api: ApiClient, host: Membership) -> str:
    """The id of an upcoming appointment with a host and a meeting URL."""
    response = api.book(host_email="hana@acme.example", meeting_url="https://meet.example/1", schedule_time=SOON)
    return str(response.json()["data"]["id"])


def post_form(client: Client, url: str, **changes: Any) -> None:
    response = client.post(url, form_data(client, url, **changes))
    assert response.status_code == 302, form_errors(response)


def change(client: Client, model: type, id: str, **changes: Any) -> None:
    """Save the row's page in the admin with these changes."""
    post_form(client, admin_url(model, "change", id), **changes)


def press(client: Client, name: str, id: str, **data: Any) -> None:
    """Confirm a button of an appointment's page."""
    assert client.post(admin_url(Appointment, name, id), data).status_code == 302


class NewEvents:
    """The events since the last look."""

    def __init__(self, api: ApiClient) -> None:
        self.api = api
        self.seen = len(api.list_events())

    def __call__(self) -> list[dict[str, Any]]:
        events = self.api.list_events()[self.seen :]
        self.seen += len(events)
        return events


@pytest.fixture
def new_events(api: ApiClient, booked: str) -> NewEvents:
    return NewEvents(api)


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the old values of the fields that differ, without the version and what other objects' events tell."""
    return {
        name: value
        for name, value in before.items()
        if value != after[name] and name not in ("updated_at", "lead", "opt_ins")
    }


def assert_one_change(api: ApiClient, events: list[dict[str, Any]], type: str, before: dict[str, Any]) -> None:
    """Assert that there is one event, with the detail as it is now and all old values, and that `updated_at` rose."""
    (event,) = events
    get = api.get_lead if type.startswith("lead") else api.get_appointment
    after = get(before["id"])
    assert (event["type"], event["data"]) == (type, after)
    assert event["previous"] == changed_fields(before, after) != {}
    assert after["updated_at"] > before["updated_at"]


@pytest.mark.parametrize("field", ["host", "setter", "triager"])
def test_a_member_replaced_by_staff_records_an_event(api, organization, owner, booked, new_events, field):
    """docs/interface.md, A30"""
    other = make_member(organization, "olga@acme.example", first_name="Olga", last_name="Other")
    before = api.get_appointment(booked)

    change(owner, Appointment, booked, **{field: other.pk})

    assert_one_change(api, new_events(), "appointment.updated", before)
    assert api.get_appointment(booked)[field]["email"] == "olga@acme.example"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("meeting_url", "https://meet.example/2"),
        ("meeting_url", ""),
        ("recording_url", "https://record.example/1"),
        ("call_category", "TRIAGE_CALL"),
    ],
)
def test_a_field_changed_by_staff_records_an_event(api, owner, booked, new_events, field, value):
    """docs/interface.md, A30"""
    before = api.get_appointment(booked)

    change(owner, Appointment, booked, **{field: value})

    assert_one_change(api, new_events(), "appointment.updated", before)
    assert api.get_appointment(booked)[field] == (value or None)


def test_another_event_type_is_in_previous_with_its_name(api, organization, owner, booked, new_events):
    """docs/interface.md, A30"""
    event_type = make_event_type(organization, "Follow-up call", provider="SCHEDULER_A", owner_name="Hana")
    before = api.get_appointment(booked)

    change(owner, Appointment, booked, event_type=event_type.pk)

    events = new_events()
    assert_one_change(api, events, "appointment.updated", before)
    assert sorted(events[0]["previous"]) == ["appointment_event_type", "appointment_type"]


@pytest.mark.parametrize(("type", "text", "value"), CUSTOM_VALUES)
def test_a_custom_value_changed_by_staff_records_an_event(api, organization, owner, booked, type, text, value):
    """docs/interface.md, A30, L14"""
    field = make_custom_field(organization, "APPOINTMENT", "color", type=type)
    new_events, before = NewEvents(api), api.get_appointment(booked)

    change(owner, Appointment, booked, **{f"custom_{field.pk.hex}": text})

    assert_one_change(api, new_events(), "appointment.updated", before)
    assert api.get_appointment(booked)["custom_fields"][0]["value"] == value


def test_several_changes_in_one_form_are_one_event(api, organization, owner, booked, new_events):
    """docs/interface.md, W2"""
    other = make_member(organization, "olga@acme.example", first_name="Olga")
    before = api.get_appointment(booked)

    change(
        owner,
        Appointment,
        booked,
        host=other.pk,
        schedule_time_0="2090-02-01",
        outcome=api.get_status("WON")["id"],
    )

    events = [event for event in new_events() if not event["type"].startswith("lead.")]
    assert_one_change(api, events, "appointment.rescheduled", before)
    assert sorted(events[0]["previous"]) == ["host", "outcome", "schedule_time"]


def test_a_form_saved_without_a_change_records_nothing(api, owner, booked, new_events):
    """docs/interface.md, W2"""
    before = api.get_appointment(booked)

    change(owner, Appointment, booked)
    change(owner, Lead, before["lead"]["id"])

    assert new_events() == []
    assert api.get_appointment(booked) == before


def test_a_note_moves_updated_at_and_records_an_event(api, organization, owner, host, booked, new_events):
    """docs/interface.md, A30"""
    before = api.get_appointment(booked)

    press(owner, "add_note", booked, note=f"Call @{host} first")

    (event,) = new_events()
    after = api.get_appointment(booked)
    note = Note.objects.of(organization).get()
    assert event["type"] == "note.created"
    assert event["data"] == {
        "id": str(note.pk),
        "note": f"Call @{host} first",
        "mention_users": [after["host"]],
        "external_reference": None,
        "author": event["actor"],
        "created_at": event["data"]["created_at"],
        "appointment": after,
    }
    assert after["updated_at"] > before["updated_at"]
    assert "previous" not in event


def test_a_bookings_note_is_an_event_of_its_own(api, booked, new_events):
    """docs/interface.md, A17"""
    api.book(external_reference="ref-2", lead_email="grace@example.com", notes="Speaks French")

    events = new_events()

    assert [event["type"] for event in events] == ["lead.created", "appointment.created", "note.created"]
    assert events[2]["data"]["note"] == "Speaks French"
    assert events[2]["data"]["appointment"] == events[1]["data"]


def test_a_repeated_cancellation_with_a_new_note_records_the_note_only(api, booked, new_events):
    """docs/interface.md, A24"""
    api.cancel(notes="Ill")
    assert [event["type"] for event in new_events()] == ["lead.status_changed", "appointment.canceled", "note.created"]
    before = api.get_appointment(booked)

    api.cancel(notes="Ill")
    assert (new_events(), api.get_appointment(booked)) == ([], before)
    api.cancel(notes="And on holiday")

    (event,) = new_events()
    assert (event["type"], event["data"]["note"]) == ("note.created", "And on holiday")
    assert event["data"]["appointment"] == api.get_appointment(booked)
    assert api.get_appointment(booked)["updated_at"] > before["updated_at"]


def test_a_call_analysis_records_an_event(api, organization, owner, booked, new_events):
    """docs/interface.md, A30"""
    before = api.get_appointment(booked)
    values = {"call_analysis_call_id": "call-1", "ai_generated_title": "A call", "ai_rationale": "They said so."}

    post_form(
        owner,
        admin_url(CallAnalysis, "add"),
        appointment=booked,
        ai_suggested_outcome="Won",
        ai_confidence_score="0.5",
        **values,
    )
    assert_one_change(api, new_events(), "appointment.updated", before)
    analyzed = api.get_appointment(booked)
    change(owner, CallAnalysis, analyzed["call_analysis"]["id"], ai_confidence_score="0.75")
    assert_one_change(api, new_events(), "appointment.updated", analyzed)
    change(owner, CallAnalysis, analyzed["call_analysis"]["id"])

    assert new_events() == []


@pytest.mark.parametrize("role", ["CANCELED", "NO_SHOW"])
def test_set_back_to_booked_has_the_effects_of_a_booking(api, organization, owner, booked, new_events, role):
    """docs/interface.md, A29"""
    change(owner, Appointment, booked, outcome=api.get_status(role)["id"])
    new_events()
    before = api.get_appointment(booked)
    sent = set(Notification.objects.of(organization).values_list("pk", flat=True))
    sequence = Appointment.objects.of(organization).get().invitation_sequence

    change(owner, Appointment, booked, outcome=api.get_status("APPOINTMENT_BOOKED")["id"])

    after = api.get_appointment(booked)
    appointment_events = [event for event in new_events() if event["type"].startswith("appointment.")]
    assert_one_change(api, appointment_events, "appointment.outcome_changed", before)
    assert api.get_lead(after["lead"]["id"])["status"]["role"] == "APPOINTMENT_BOOKED"
    assert after["lead"]["next_touch_point_at"] == after["schedule_time"]
    (notification,) = Notification.objects.of(organization).exclude(pk__in=sent)
    assert (notification.kind, notification.context["sequence"]) == ("CALL_BOOKED", sequence + 1)


def test_a_paid_lead_stays_paid_when_its_appointment_is_booked_again(api, owner, booked):
    """docs/interface.md, S10, A29"""
    lead = api.get_appointment(booked)["lead"]["id"]
    api.cancel()
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": api.get_status("WON")["id"]})

    change(owner, Appointment, booked, outcome=api.get_status("APPOINTMENT_BOOKED")["id"])

    assert api.get_lead(lead)["status"]["role"] == "WON"


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"first_name": "Augusta"}, ["first_name"]),
        ({"last_name": "King"}, ["last_name"]),
        ({"email": "king@example.com"}, ["email"]),
        ({"phone_e164": "+493012345678"}, ["phone_country", "phone_e164"]),
        (
            {"next_touch_point_type": "CALL", "next_touch_point_at_0": "2089-03-01", "next_touch_point_at_1": "09:00"},
            ["next_touch_point_at", "next_touch_point_type"],
        ),
    ],
)
def test_a_leads_field_changed_by_staff_records_an_event(api, owner, booked, new_events, changes, fields):
    """docs/interface.md, L19"""
    lead = api.get_lead(api.get_appointment(booked)["lead"]["id"])

    change(owner, Lead, lead["id"], **changes)

    events = new_events()
    assert_one_change(api, events, "lead.updated", lead)
    assert sorted(events[0]["previous"]) == fields


def test_a_leads_setter_and_status_changed_by_staff_are_one_event(api, owner, host, booked, new_events):
    """docs/interface.md, L19, W2"""
    lead = api.get_lead(api.get_appointment(booked)["lead"]["id"])

    change(owner, Lead, lead["id"], setter=host.pk, status=api.get_status("LOST")["id"])

    events = new_events()
    assert_one_change(api, events, "lead.status_changed", lead)
    assert events[0]["previous"] == {"setter": None, "status": lead["status"]}


def test_a_leads_custom_value_changed_by_staff_records_an_event(api, organization, owner, booked):
    """docs/interface.md, L14, L19"""
    field = make_custom_field(organization, "LEAD", "color")
    new_events, lead = NewEvents(api), api.get_lead(api.get_appointment(booked)["lead"]["id"])

    change(owner, Lead, lead["id"], **{f"custom_{field.pk.hex}": "blue"})

    assert_one_change(api, new_events(), "lead.updated", lead)


def test_an_opt_in_that_fills_a_lead_records_one_event_of_the_lead(api, host, booked, new_events):
    """docs/interface.md, O11, L19"""
    lead = api.get_lead(api.get_appointment(booked)["lead"]["id"])

    traffic = {"utm_source": "newsletter", "utm_content": host.user_id}
    api.submit(last_name="King", phone_e164="+493012345678", phone_country="DE", traffic=traffic)

    lead_events, others = split_events(new_events())
    assert_one_change(api, lead_events, "lead.updated", lead)
    assert {"last_name", "phone_e164", "phone_country", "setter", "last_source"} <= lead_events[0]["previous"].keys()
    assert [event["type"] for event in others] == ["opt_in.created"]


def split_events(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the events of leads and the others."""
    leads = [event for event in events if event["type"].startswith("lead.")]
    return leads, [event for event in events if event not in leads]


def test_an_opt_in_that_tells_nothing_new_leaves_the_lead(api, new_events):
    """docs/interface.md, L19, W2"""
    lead = api.submit(email="grace@example.com").json()["data"]["lead_id"]
    before = api.get_lead(lead)
    new_events()

    api.submit(email="grace@example.com")

    assert [event["type"] for event in new_events()] == ["opt_in.created"]
    assert api.get_lead(lead) == before


def test_a_booking_that_changes_status_touch_point_and_phone_records_one_event_of_the_lead(api, new_events):
    """docs/interface.md, A17, W2"""
    lead = api.get_lead(api.submit(email="grace@example.com").json()["data"]["lead_id"])
    new_events()

    booking = {"external_reference": "ref-2", "lead_email": "grace@example.com", "schedule_time": SOON}
    api.book(**booking, lead_phone="+493012345678")

    lead_events, others = split_events(new_events())
    assert_one_change(api, lead_events, "lead.status_changed", lead)
    fields = {"status", "phone_e164", "phone_country", "next_touch_point_at", "next_touch_point_type"}
    assert fields <= lead_events[0]["previous"].keys()
    assert [event["type"] for event in others] == ["appointment.created"]


def test_a_moved_touch_point_records_an_event_of_the_lead(api, owner, booked, new_events):
    """docs/interface.md, L13, L19"""
    lead = api.get_lead(api.get_appointment(booked)["lead"]["id"])

    change(owner, Appointment, booked, schedule_time_0="2090-02-01")

    lead_events, others = split_events(new_events())
    assert_one_change(api, lead_events, "lead.updated", lead)
    assert [event["type"] for event in others] == ["appointment.rescheduled"]


def test_previous_has_the_old_values_as_the_detail_showed_them(api, booked, new_events):
    """docs/interface.md, W4"""
    before = api.get_appointment(booked)

    api.cancel()

    _, events = split_events(new_events())
    assert_one_change(api, events, "appointment.canceled", before)
    assert events[0]["previous"] == {"meeting_url": "https://meet.example/1", "outcome": before["outcome"]}


def test_an_event_names_its_actor(api, organization, owner, booked, new_events):
    """docs/interface.md, W3"""
    user = owner_of(organization).user
    change(owner, Appointment, booked, call_category="TRIAGE_CALL")
    api.cancel()

    updated, _, canceled = new_events()

    assert updated["actor"] == {"kind": "STAFF", "id": user.pk, "name": user.get_full_name()}
    assert canceled["actor"] == {"kind": "API_KEY", "id": api.key.split("_")[1], "name": "Tests"}
    assert list(updated)[-3:] == ["previous", "attribution", "actor"]


def test_updated_at_rises_strictly_while_the_clock_stands_still(api, owner, booked, new_events, stopped_clock):
    """docs/interface.md, W5"""
    lead = api.get_appointment(booked)["lead"]["id"]
    versions = [(api.get_appointment(booked)["updated_at"], api.get_lead(lead)["updated_at"])]
    for number in range(3):
        change(owner, Appointment, booked, meeting_url=f"https://meet.example/{number + 2}")
        change(owner, Lead, lead, last_name=f"King {number}")
        versions.append((api.get_appointment(booked)["updated_at"], api.get_lead(lead)["updated_at"]))

    assert [len({version[column] for version in versions}) for column in (0, 1)] == [4, 4]
    assert versions == sorted(versions)


def assert_events(events: list[dict[str, Any]], *expected: tuple[str, dict[str, Any], dict[str, Any] | None]) -> None:
    """Assert the type, data and `previous` of each event."""
    assert [(event["type"], event["data"], event.get("previous")) for event in events] == list(expected)


def test_a_changed_profile_is_an_event_in_each_organization_of_the_member(
    api, other_api, organization, other_organization, host, booked, new_events
):
    """docs/interface.md, M3"""
    former = add_member(organization=other_organization, user=host.user, role=MemberRole.SETTER)
    deactivate(former)
    elsewhere, before = NewEvents(other_api), api.get_appointment(booked)

    change(logged_in_client(host), User, host.user_id, first_name="Johanna", profile_image_url="https://img.example/1")

    after = api.get_appointment(booked)
    assert after == before | {"host": after["host"]}
    assert after["host"] == before["host"] | {"first_name": "Johanna", "profile_image_url": "https://img.example/1"}
    previous = {"first_name": "Hana", "profile_image_url": None}
    assert_events(new_events(), ("member.updated", after["host"], previous))
    assert_events(elsewhere(), ("member.updated", after["host"] | {"role": "SETTER"}, previous))


def test_a_profile_saved_without_a_visible_change_records_nothing(host, booked, new_events):
    """docs/interface.md, M3"""
    change(logged_in_client(host), User, host.user_id, time_zone="Europe/Berlin")

    assert new_events() == []


def test_a_changed_role_is_an_event_of_the_member(api, owner, host, booked, new_events):
    """docs/interface.md, M3"""
    change(owner, Membership, host.pk, role="MANAGER")
    change(owner, Membership, host.pk)

    shown = api.get_appointment(booked)["host"]
    assert_events(new_events(), ("member.updated", shown, {"role": "CLOSER"}))


def test_a_status_is_an_event_when_it_is_added_changed_and_deleted(api, organization, owner, booked, new_events):
    """docs/interface.md, S14"""
    post_form(owner, admin_url(Status, "add"), name="Thinking", role="FOLLOW_UP")
    status = Status.objects.of(organization).get(name="Thinking")
    listed = next(row for row in api.get_data("/api/external/statuses") if row["id"] == str(status.pk))
    added = listed | {"is_active": True}
    change(owner, Status, status.pk, name="Thinks", bg_color="#ffffff")
    changed = added | {"name": "Thinks", "bg_color": "#ffffff"}
    change(owner, Status, status.pk)
    post_form(owner, admin_url(Status, "delete", status.pk))

    previous = {"name": "Thinking", "bg_color": added["bg_color"]}
    assert_events(
        new_events(),
        ("status.created", added, None),
        ("status.updated", changed, previous),
        ("status.deleted", changed, None),
    )


def test_a_renamed_status_is_shown_but_moves_no_row(api, organization, owner, booked, new_events):
    """docs/interface.md, S14, W5"""
    before = api.get_appointment(booked)

    change(owner, Status, before["outcome"]["id"], name="Call booked")

    after = api.get_appointment(booked)
    assert after == before | {"outcome": before["outcome"] | {"name": "Call booked"}}
    assert [event["type"] for event in new_events()] == ["status.updated"]


def test_a_custom_field_is_an_event_when_it_is_added_changed_and_deleted(api, organization, owner, booked, new_events):
    """docs/interface.md, L14"""
    post_form(owner, admin_url(CustomField, "add"), entity="LEAD", key="color", label="Color", type="TEXT")
    field = CustomField.objects.of(organization).get()
    change(owner, CustomField, field.pk, label="Colour", position=3)
    change(owner, CustomField, field.pk)
    post_form(owner, admin_url(CustomField, "delete", field.pk))

    shown = {"id": str(field.pk), "entity": "LEAD", "key": "color", "label": "Color", "type": "TEXT", "position": 0}
    shown["options"] = []
    changed = shown | {"label": "Colour", "position": 3}
    assert_events(
        new_events(),
        ("custom_field.created", shown, None),
        ("custom_field.updated", changed, {"label": "Color", "position": 0}),
        ("custom_field.deleted", changed, None),
    )


def test_a_renamed_event_type_is_an_event(api, organization, owner, booked, new_events):
    """docs/interface.md, A11"""
    before = api.get_appointment(booked)

    change(owner, EventType, before["appointment_event_type"]["id"], name="Discovery call")
    change(owner, EventType, before["appointment_event_type"]["id"])

    (event,) = new_events()
    assert (event["type"], event["previous"]) == ("event_type.updated", {"name": "Strategy call"})
    assert api.get_appointment(booked) == before | {"appointment_type": "Discovery call"}
