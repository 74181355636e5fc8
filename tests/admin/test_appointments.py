"""Calls in the admin: booked, moved, canceled and noted with the effects that the interface has."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from appointments.models import Appointment, EventType, Note, OutcomeChange
from leads.models import CustomField, Lead
from organizations.models import Membership, Organization
from pipeline_backend.db.timestamps import isoformat_z
from statuses.models import Status
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors
from tests.factories import events_of, make_custom_field, make_event_type, notifications_of, snapshot_of

TIME = {"schedule_time_0": "2027-01-05", "schedule_time_1": "10:00:00"}


@pytest.fixture
def kind(organization: Organization) -> EventType:
    """A kind of call."""
    return make_event_type(organization, "Strategy call")


def booked(client: Client, kind: EventType, **fields: object) -> Appointment:
    """A call for Ada, booked in the admin."""
    data = form_data(
        client, admin_url(Appointment, "add"), lead_email="ada@example.com", event_type=kind.pk, **TIME, **fields
    )
    answer = client.post(admin_url(Appointment, "add"), data)
    assert answer.status_code == 302, form_errors(answer)
    return Appointment.objects.of(kind.organization).get()


def test_a_booking_makes_lead_history_event_notification_and_note(closer: Client, kind: EventType, host: Membership):
    call = booked(
        closer, kind, host=host.pk, lead_first_name="Ada", meeting_url="https://meet.example/1", notes="Wants a demo"
    )

    assert (call.lead.first_name, call.external_reference, call.source, isoformat_z(call.schedule_time)) == (
        "Ada",
        None,
        "MANUAL",
        "2027-01-05T10:00:00.000Z",
    )
    assert (call.host, call.meeting_url, call.outcome.role, call.lead.status.role) == (
        host,
        "https://meet.example/1",
        "APPOINTMENT_BOOKED",
        "APPOINTMENT_BOOKED",
    )
    assert [(note.note, note.actor_name) for note in call.notes.all()] == [("Wants a demo", "Hana Host")]
    assert [(change.from_status, change.actor_kind, change.actor_name) for change in call.outcome_changes.all()] == [
        (None, "STAFF", "Hana Host")
    ]
    assert events_of(kind.organization) == ["appointment.created", "lead.created"]
    assert notifications_of(kind.organization) == [("CALL_BOOKED", "hana@acme.example")]


def test_a_known_lead_is_booked_by_choosing_it(closer: Client, kind: EventType, ours: Appointment):
    data = form_data(closer, admin_url(Appointment, "add"), lead=ours.lead_id, event_type=kind.pk, **TIME)

    answer = closer.post(admin_url(Appointment, "add"), data)

    assert answer.status_code == 302, form_errors(answer)
    assert Appointment.objects.of(kind.organization).filter(lead=ours.lead, event_type=kind).count() == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "Choose a lead or enter an e-mail, but not both."),
        ({"lead_email": "ada@example.com", "meeting_url": "javascript:alert(1)"}, "Enter a valid URL."),
        ({"lead_email": "ada@example.com", "lead_phone": "nobody"}, "Enter a valid phone number."),
        ({"lead_email": "ada@example.com", "schedule_time_0": "0001-01-01"}, "Enter a year from 1970 to 2100."),
    ],
)
def test_a_bad_booking_is_refused_with_a_sentence(changes: dict, sentence: str, closer: Client, kind: EventType):
    before = snapshot_of(kind.organization)

    answer = closer.post(
        admin_url(Appointment, "add"),
        form_data(closer, admin_url(Appointment, "add"), event_type=kind.pk, **{**TIME, **changes}),
    )

    assert sentence in form_errors(answer)
    assert snapshot_of(kind.organization) == before


@pytest.mark.parametrize("field", ["lead", "event_type", "host", "setter", "triager"])
def test_a_booking_with_a_foreign_row_is_refused(
    field: str, owner: Client, kind: EventType, ours: Appointment, theirs: Appointment
):
    foreign = {"lead": theirs.lead_id, "event_type": theirs.event_type_id}.get(field, theirs.host_id)
    own = {"lead": ours.lead_id, "event_type": kind.pk, field: foreign}
    before = snapshot_of(kind.organization)

    answer = owner.post(admin_url(Appointment, "add"), form_data(owner, admin_url(Appointment, "add"), **TIME, **own))

    assert any("Select a valid choice" in sentence for sentence in form_errors(answer))
    assert snapshot_of(kind.organization) == before


@pytest.mark.parametrize("field", ["event_type", "host", "setter", "triager", "outcome"])
def test_a_change_to_a_foreign_row_is_refused(field: str, owner: Client, ours: Appointment, theirs: Appointment):
    foreign = {"event_type": theirs.event_type_id, "outcome": theirs.outcome_id}.get(field, theirs.host_id)
    address = admin_url(Appointment, "change", ours.pk)
    before = snapshot_of(ours.organization)

    answer = owner.post(address, form_data(owner, address, **{field: foreign}))

    assert any("Select a valid choice" in sentence for sentence in form_errors(answer))
    assert snapshot_of(ours.organization) == before


def test_a_new_time_moves_the_call_and_tells_its_people(closer: Client, kind: EventType, host: Membership):
    call = booked(closer, kind, host=host.pk)
    address = admin_url(Appointment, "change", call.pk)

    answer = closer.post(address, form_data(closer, address, schedule_time_1="11:30:00"))

    assert answer.status_code == 302, form_errors(answer)
    call.refresh_from_db()
    assert isoformat_z(call.schedule_time) == "2027-01-05T11:30:00.000Z"
    assert "appointment.rescheduled" in events_of(kind.organization)
    assert ("CALL_RESCHEDULED", "hana@acme.example") in notifications_of(kind.organization)


def test_an_outcome_is_changed_with_history_and_event(closer: Client, kind: EventType):
    call = booked(closer, kind)
    won = Status.objects.of(kind.organization).get(role="WON")
    address = admin_url(Appointment, "change", call.pk)

    closer.post(address, form_data(closer, address, outcome=won.pk))

    call.refresh_from_db()
    assert call.outcome == won
    assert OutcomeChange.objects.of(kind.organization).filter(to_status=won, actor_name="Hana Host").count() == 1
    assert "appointment.outcome_changed" in events_of(kind.organization)


def test_saving_without_a_change_does_nothing(closer: Client, ours: Appointment):
    before = snapshot_of(ours.organization)
    address = admin_url(Appointment, "change", ours.pk)

    answer = closer.post(address, form_data(closer, address))

    assert answer.status_code == 302, form_errors(answer)
    assert snapshot_of(ours.organization) == before


def test_the_button_cancels_after_a_confirmation(closer: Client, kind: EventType):
    call = booked(closer, kind, meeting_url="https://meet.example/1")
    address = admin_url(Appointment, "cancel", call.pk)

    asked = closer.get(address)
    answer = closer.post(address, {"notes": "Ill"})

    assert asked.status_code == 200
    assert answer.status_code == 302
    call.refresh_from_db()
    assert (call.outcome.role, call.meeting_url, call.notes.first().note) == ("CANCELED", None, "Ill")
    assert "appointment.canceled" in events_of(kind.organization)


def test_selected_calls_are_canceled_after_a_confirmation(closer: Client, kind: EventType):
    call = booked(closer, kind)
    chosen = {"action": "cancel_selected", "_selected_action": str(call.pk)}

    asked = closer.post(admin_url(Appointment, "changelist"), chosen)
    before = Appointment.objects.of(kind.organization).get().outcome.role
    closer.post(admin_url(Appointment, "changelist"), {**chosen, "confirmed": "yes"})

    assert (asked.status_code, before) == (200, "APPOINTMENT_BOOKED")
    assert Appointment.objects.of(kind.organization).get().outcome.role == "CANCELED"


def test_foreign_calls_cannot_be_selected(owner: Client, ours: Appointment, theirs: Appointment):
    before = snapshot_of(theirs.organization)

    owner.post(
        admin_url(Appointment, "changelist"),
        {"action": "cancel_selected", "_selected_action": str(theirs.pk), "confirmed": "yes"},
    )

    assert snapshot_of(theirs.organization) == before


def test_a_note_mentions_members(closer: Client, ours: Appointment, host: Membership):
    answer = closer.post(admin_url(Appointment, "add_note", ours.pk), {"note": "Look here", "mentions": [str(host.pk)]})

    assert answer.status_code == 302, form_errors(answer)
    note = Note.objects.of(ours.organization).get(note="Look here")
    assert (list(note.mention_users.all()), note.actor_name) == ([host], "Hana Host")


def test_a_foreign_member_cannot_be_mentioned(closer: Client, ours: Appointment, theirs: Appointment):
    answer = closer.post(
        admin_url(Appointment, "add_note", ours.pk), {"note": "Look here", "mentions": [str(theirs.host_id)]}
    )

    assert any("is not one of the available choices" in sentence for sentence in form_errors(answer))
    assert not Note.objects.of(ours.organization).filter(note="Look here").exists()


def test_the_second_of_two_who_save_is_told(owner: Client, closer: Client, ours: Appointment):
    address = admin_url(Appointment, "change", ours.pk)
    first, second = (
        form_data(owner, address, recording_url="https://rec.example/1"),
        form_data(closer, address, recording_url="https://rec.example/2"),
    )

    saved, refused = owner.post(address, first), closer.post(address, second)

    assert saved.status_code == 302
    assert any("Someone else has changed this record" in sentence for sentence in form_errors(refused))
    assert Appointment.objects.of(ours.organization).get(pk=ours.pk).recording_url == "https://rec.example/1"


def test_times_are_in_the_persons_time_zone(closer: Client, kind: EventType, host: Membership):
    host.user.time_zone = "Asia/Tokyo"
    host.user.save()

    call = booked(closer, kind)

    assert call.schedule_time == datetime(2027, 1, 5, 1, 0, tzinfo=UTC)
    assert b"10:00" in closer.get(admin_url(Appointment, "change", call.pk)).content


def test_custom_values_are_kept_by_their_type(closer: Client, kind: EventType):
    organization = kind.organization
    types = {"TEXT": "a note", "NUMBER": "12", "BOOLEAN": "true", "DATE": "2027-02-03", "SELECT": "Gold"}
    fields = {
        type: make_custom_field(
            organization, "APPOINTMENT", type.lower(), type=type, options=["Gold"] if type == "SELECT" else []
        )
        for type in types
    }
    call = booked(closer, kind)
    address = admin_url(Appointment, "change", call.pk)

    answer = closer.post(
        address, form_data(closer, address, **{f"custom_{fields[type].pk.hex}": value for type, value in types.items()})
    )

    assert answer.status_code == 302, form_errors(answer)
    call.refresh_from_db()
    kept = {type: call.custom_values[str(field.pk)] for type, field in fields.items()}
    assert kept == {"TEXT": "a note", "NUMBER": 12, "BOOLEAN": True, "DATE": "2027-02-03", "SELECT": "Gold"}
    assert form_data(closer, address)[f"custom_{fields['DATE'].pk.hex}"] == "2027-02-03"


def test_an_unknown_choice_is_refused(closer: Client, ours: Appointment):
    field = make_custom_field(ours.organization, "APPOINTMENT", "plan", type=CustomField.Type.SELECT, options=["Gold"])
    address = admin_url(Appointment, "change", ours.pk)

    answer = closer.post(address, form_data(closer, address, **{f"custom_{field.pk.hex}": "Tin"}))

    assert any("Select a valid choice" in sentence for sentence in form_errors(answer))


def test_a_leads_page_shows_its_calls_and_opt_ins(closer: Client, ours: Appointment):
    page = closer.get(admin_url(Lead, "change", ours.lead_id)).content.decode()

    assert "ours call" in page
    assert "ours campaign" in page
