"""Appointments in the admin: booking, changing, canceling and notes have the same effects as in the API."""

from datetime import UTC, datetime

import pytest
from django.test import Client

from appointments.models import Appointment, EventType, Note, OutcomeChange
from foundation.db.timestamps import isoformat_z
from leads.models import CustomField, Lead
from notifications.models import Kind, Notification
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.factories import events_of, make_custom_field, make_event_type, make_member, notifications_of, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

TIME = {"schedule_time_0": "2027-01-05", "schedule_time_1": "10:00:00"}


@pytest.fixture
def event_type(organization: Organization) -> EventType:
    """An event type of Acme."""
    return make_event_type(organization, "Strategy call")


def book_in_admin(client: Client, event_type: EventType, **fields: object) -> Appointment:
    """Book an appointment for Ada in the admin, and return it."""
    data = form_data(
        client, admin_url(Appointment, "add"), lead_email="ada@example.com", event_type=event_type.pk, **TIME, **fields
    )
    response = client.post(admin_url(Appointment, "add"), data)
    assert response.status_code == 302, form_errors(response)
    return Appointment.objects.of(event_type.organization).get()


def test_who_books_has_their_part_in_the_form_already(
    closer: Client, owner: Client, appointment: Appointment, host: Membership, organization: Organization
):
    sam = make_member(organization, "sam@acme.example", role=MemberRole.SETTER)
    setter, url = logged_in_client(sam), admin_url(Appointment, "add")
    lead = {"lead": appointment.lead_id}

    def chosen(client: Client, parameters: dict[str, object]) -> tuple[str, str]:
        initial = client.get(url, parameters).context["adminform"].form.initial
        return initial.get("host", ""), initial.get("setter", "")

    assert chosen(closer, {}) == (host.pk, "")
    assert chosen(closer, {"host": "another"}) == ("another", "")  # such as a free time in the calendar
    assert chosen(owner, {}) == ("", "")
    # A known lead's next call has the host of the last one.
    assert (chosen(setter, {}), chosen(setter, lead)) == (("", sam.pk), (appointment.host_id, sam.pk))
    Lead.objects.of(organization).update(setter=host)
    assert chosen(setter, lead) == (appointment.host_id, "")  # the service takes the lead's setter


def test_a_viewer_is_not_offered_but_stays_who_they_are(owner: Client, appointment: Appointment):
    viewer = make_member(appointment.organization, "vera@acme.example", role=MemberRole.VIEWER)
    change = admin_url(Appointment, "change", appointment.pk)

    def offered(url: str, name: str) -> bool:
        return viewer in owner.get(url).context["adminform"].form.fields[name].queryset

    roles = ("host", "setter", "triager")
    assert not any(offered(url, name) for url in (admin_url(Appointment, "add"), change) for name in roles)
    assert not offered(admin_url(Lead, "change", appointment.lead_id), "setter")
    Appointment.objects.of(appointment.organization).update(host=viewer)
    assert offered(change, "host")
    assert owner.post(change, form_data(owner, change, meeting_url="https://meet.example/9")).status_code == 302


def test_a_booking_creates_lead_history_event_notification_and_note(
    closer: Client, event_type: EventType, host: Membership
):
    appointment = book_in_admin(
        closer,
        event_type,
        host=host.pk,
        lead_first_name="Ada",
        meeting_url="https://meet.example/1",
        notes="Wants a demo",
    )

    assert (
        appointment.lead.first_name,
        appointment.external_reference,
        appointment.source,
        isoformat_z(appointment.schedule_time),
    ) == (
        "Ada",
        None,
        "MANUAL",
        "2027-01-05T10:00:00.000Z",
    )
    assert (appointment.host, appointment.meeting_url, appointment.outcome.role, appointment.lead.status.role) == (
        host,
        "https://meet.example/1",
        "APPOINTMENT_BOOKED",
        "APPOINTMENT_BOOKED",
    )
    assert [(note.note, note.actor_name) for note in appointment.notes.all()] == [("Wants a demo", "Hana Host")]
    assert [
        (change.from_status, change.actor_kind, change.actor_name) for change in appointment.outcome_changes.all()
    ] == [(None, "STAFF", "Hana Host")]
    assert events_of(event_type.organization) == ["appointment.created", "lead.created", "note.created"]
    assert notifications_of(event_type.organization) == [("CALL_BOOKED", "hana@acme.example")]


def test_an_existing_lead_can_be_chosen_for_a_booking(closer: Client, event_type: EventType, appointment: Appointment):
    time = {**TIME, "schedule_time_1": "15:00:00"}  # the lead's other appointment is at 10:00
    data = form_data(closer, admin_url(Appointment, "add"), lead=appointment.lead_id, event_type=event_type.pk, **time)

    response = closer.post(admin_url(Appointment, "add"), data)

    assert response.status_code == 302, form_errors(response)
    assert (
        Appointment.objects.of(event_type.organization).filter(lead=appointment.lead, event_type=event_type).count()
        == 1
    )


URL_PROBLEM = "Enter an http or https URL. Quotes, <, >, backslashes and invisible characters aren't allowed."


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "Choose a lead or enter an e-mail, but not both."),
        ({"lead_email": "ada@example.com", "meeting_url": "javascript:alert(1)"}, URL_PROBLEM),
        # As pasted from a chat. The API refuses these, too.
        ({"lead_email": "ada@example.com", "meeting_url": "https://meet.example/a\u200b"}, URL_PROBLEM),
        ({"lead_email": "ada@example.com", "meeting_url": "https://meet.example/<b>"}, URL_PROBLEM),
        ({"lead_email": "ada@example.com", "lead_phone": "nobody"}, "Enter a valid phone number."),
        ({"lead_email": "ada@example.com", "lead_phone": "555-5555"}, "Enter a valid phone number."),
        ({"lead_email": "ada@example.com", "schedule_time_0": "0001-01-01"}, "Enter a year from 1970 to 2100."),
    ],
)
def test_an_invalid_booking_is_refused_with_a_message(
    changes: dict, message: str, closer: Client, event_type: EventType
):
    before = snapshot_of(event_type.organization)

    response = closer.post(
        admin_url(Appointment, "add"),
        form_data(closer, admin_url(Appointment, "add"), event_type=event_type.pk, **{**TIME, **changes}),
    )

    assert message in form_errors(response)
    assert snapshot_of(event_type.organization) == before


@pytest.mark.parametrize("field", ["lead", "event_type", "host", "setter", "triager"])
def test_a_booking_with_a_row_of_another_organization_is_refused(
    field: str, owner: Client, event_type: EventType, appointment: Appointment, other_appointment: Appointment
):
    foreign = {"lead": other_appointment.lead_id, "event_type": other_appointment.event_type_id}.get(
        field, other_appointment.host_id
    )
    own = {"lead": appointment.lead_id, "event_type": event_type.pk, field: foreign}
    before = snapshot_of(event_type.organization)

    response = owner.post(admin_url(Appointment, "add"), form_data(owner, admin_url(Appointment, "add"), **TIME, **own))

    assert any("Select a valid choice" in message for message in form_errors(response))
    assert snapshot_of(event_type.organization) == before


@pytest.mark.parametrize("field", ["event_type", "host", "setter", "triager", "outcome"])
def test_a_change_to_a_row_of_another_organization_is_refused(
    field: str, owner: Client, appointment: Appointment, other_appointment: Appointment
):
    foreign = {"event_type": other_appointment.event_type_id, "outcome": other_appointment.outcome_id}.get(
        field, other_appointment.host_id
    )
    url = admin_url(Appointment, "change", appointment.pk)
    before = snapshot_of(appointment.organization)

    response = owner.post(url, form_data(owner, url, **{field: foreign}))

    assert any("Select a valid choice" in message for message in form_errors(response))
    assert snapshot_of(appointment.organization) == before


def test_a_new_time_reschedules_the_appointment_and_notifies_its_participants(
    closer: Client, event_type: EventType, host: Membership
):
    appointment = book_in_admin(closer, event_type, host=host.pk)
    url = admin_url(Appointment, "change", appointment.pk)

    response = closer.post(url, form_data(closer, url, schedule_time_1="11:30:00"))

    assert response.status_code == 302, form_errors(response)
    appointment.refresh_from_db()
    assert isoformat_z(appointment.schedule_time) == "2027-01-05T11:30:00.000Z"
    assert "appointment.rescheduled" in events_of(event_type.organization)
    assert ("CALL_RESCHEDULED", "hana@acme.example") in notifications_of(event_type.organization)


def test_a_changed_outcome_has_a_history_entry_and_an_event(closer: Client, event_type: EventType):
    appointment = book_in_admin(closer, event_type)
    won = Status.objects.of(event_type.organization).get(role="WON")
    url = admin_url(Appointment, "change", appointment.pk)

    closer.post(url, form_data(closer, url, outcome=won.pk))

    appointment.refresh_from_db()
    assert appointment.outcome == won
    assert OutcomeChange.objects.of(event_type.organization).filter(to_status=won, actor_name="Hana Host").count() == 1
    assert "appointment.outcome_changed" in events_of(event_type.organization)


def test_saving_without_a_change_does_nothing(manager: Client, appointment: Appointment):
    before = snapshot_of(appointment.organization)
    url = admin_url(Appointment, "change", appointment.pk)

    response = manager.post(url, form_data(manager, url))

    assert response.status_code == 302, form_errors(response)
    assert snapshot_of(appointment.organization) == before


def test_the_cancel_button_works_after_a_confirmation(closer: Client, event_type: EventType):
    appointment = book_in_admin(closer, event_type, meeting_url="https://meet.example/1")
    url = admin_url(Appointment, "cancel", appointment.pk)

    confirmation = closer.get(url)
    response = closer.post(url, {"notes": "Ill"})

    assert confirmation.status_code == 200
    assert response.status_code == 302
    appointment.refresh_from_db()
    assert (appointment.outcome.role, appointment.meeting_url, appointment.notes.first().note) == (
        "CANCELED",
        None,
        "Ill",
    )
    assert "appointment.canceled" in events_of(event_type.organization)


def test_selected_appointments_are_canceled_after_a_confirmation(closer: Client, event_type: EventType):
    appointment = book_in_admin(closer, event_type)
    selection = {"action": "cancel_selected", "_selected_action": str(appointment.pk)}

    confirmation = closer.post(admin_url(Appointment, "changelist"), selection)
    before = Appointment.objects.of(event_type.organization).get().outcome.role
    closer.post(admin_url(Appointment, "changelist"), {**selection, "confirmed": "yes"})

    assert (confirmation.status_code, before) == (200, "APPOINTMENT_BOOKED")
    assert Appointment.objects.of(event_type.organization).get().outcome.role == "CANCELED"


def test_appointments_of_another_organization_cannot_be_selected(
    owner: Client, appointment: Appointment, other_appointment: Appointment
):
    before = snapshot_of(other_appointment.organization)

    owner.post(
        admin_url(Appointment, "changelist"),
        {"action": "cancel_selected", "_selected_action": str(other_appointment.pk), "confirmed": "yes"},
    )

    assert snapshot_of(other_appointment.organization) == before


def test_a_note_mentions_members(manager: Client, appointment: Appointment, host: Membership):
    response = manager.post(admin_url(Appointment, "add_note", appointment.pk), {"note": f"Look here, @{host}!"})

    assert response.status_code == 302, form_errors(response)
    note = Note.objects.of(appointment.organization).get(note=f"Look here, @{host}!")
    assert (list(note.mention_users.all()), note.actor_name) == ([host], "Mia")


def test_a_member_of_another_organization_is_not_mentioned(
    manager: Client, appointment: Appointment, other_appointment: Appointment
):
    stranger = other_appointment.host
    assert stranger

    manager.post(admin_url(Appointment, "add_note", appointment.pk), {"note": f"Look here, @{stranger.user.email}"})

    note = Note.objects.of(appointment.organization).get(note__startswith="Look here")
    assert list(note.mention_users.all()) == []
    assert not Notification.objects.of(other_appointment.organization).filter(kind=Kind.MENTIONED).exists()


def test_the_second_of_two_concurrent_saves_is_refused(owner: Client, manager: Client, appointment: Appointment):
    url = admin_url(Appointment, "change", appointment.pk)
    first, second = (
        form_data(owner, url, recording_url="https://rec.example/1"),
        form_data(manager, url, recording_url="https://rec.example/2"),
    )

    saved, rejected = owner.post(url, first), manager.post(url, second)

    assert saved.status_code == 302
    assert any("Someone else has changed this record" in message for message in form_errors(rejected))
    assert (
        Appointment.objects.of(appointment.organization).get(pk=appointment.pk).recording_url == "https://rec.example/1"
    )


def test_times_are_in_the_time_zone_of_the_user(closer: Client, event_type: EventType, host: Membership):
    host.user.time_zone = "Asia/Tokyo"
    host.user.save()

    appointment = book_in_admin(closer, event_type)

    assert appointment.schedule_time == datetime(2027, 1, 5, 1, 0, tzinfo=UTC)
    assert b"10:00" in closer.get(admin_url(Appointment, "change", appointment.pk)).content


def test_custom_values_are_stored_by_their_type(closer: Client, event_type: EventType):
    organization = event_type.organization
    types = {"TEXT": "a note", "NUMBER": "12", "BOOLEAN": "true", "DATE": "2027-02-03", "SELECT": "Gold"}
    fields = {
        type: make_custom_field(
            organization, "APPOINTMENT", type.lower(), type=type, options=["Gold"] if type == "SELECT" else []
        )
        for type in types
    }
    appointment = book_in_admin(closer, event_type)
    url = admin_url(Appointment, "change", appointment.pk)

    response = closer.post(
        url, form_data(closer, url, **{f"custom_{fields[type].pk.hex}": value for type, value in types.items()})
    )

    assert response.status_code == 302, form_errors(response)
    appointment.refresh_from_db()
    values = {type: appointment.custom_values[str(field.pk)] for type, field in fields.items()}
    assert values == {"TEXT": "a note", "NUMBER": 12, "BOOLEAN": True, "DATE": "2027-02-03", "SELECT": "Gold"}
    assert form_data(closer, url)[f"custom_{fields['DATE'].pk.hex}"] == "2027-02-03"


def test_an_unknown_option_of_a_custom_field_is_refused(manager: Client, appointment: Appointment):
    field = make_custom_field(
        appointment.organization, "APPOINTMENT", "plan", type=CustomField.Type.SELECT, options=["Gold"]
    )
    url = admin_url(Appointment, "change", appointment.pk)

    response = manager.post(url, form_data(manager, url, **{f"custom_{field.pk.hex}": "Tin"}))

    assert any("Select a valid choice" in message for message in form_errors(response))


def test_the_page_of_a_lead_shows_its_appointments_and_opt_ins(closer: Client, appointment: Appointment):
    page = closer.get(admin_url(Lead, "change", appointment.lead_id)).content.decode()

    assert "ours call" in page
    assert "ours campaign" in page
