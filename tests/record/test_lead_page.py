"""A lead's page: who it is, what to do next, and all that happened."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from uuid_utils.compat import uuid7

from appointments.models import Appointment, Note
from appointments.services import edit_appointment, reschedule, save_analysis, set_next_step
from foundation.db.timestamps import now
from leads.models import Lead, LeadNote, NextStep
from leads.services import add_note, change_status, edit_lead
from organizations.models import Organization
from staff.toolkit.timeline import PAGE, TimelineEntry
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import events_of, make_custom_field, make_member, owner_actor, owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, shown_messages


def page_url(lead: Lead) -> str:
    return admin_url(Lead, "change", lead.pk)


def action_url(lead: Lead, name: str) -> str:
    return reverse(f"admin:leads_lead_{name}", args=[lead.pk])


def timeline(client: Client, lead: Lead, **parameters: Any) -> list[TimelineEntry]:
    response = client.get(page_url(lead), parameters)
    assert response.status_code == 200
    entries: list[TimelineEntry] = response.context["record"]["timeline"].entries
    return entries


def status_with_role(organization: Organization, role: str) -> Status:
    status: Status = Status.objects.of(organization).filter(role=role).first()
    return status


def write_notes(lead: Lead, number: int) -> None:
    for index in range(number):
        actor = owner_actor(lead.organization)
        add_note(organization=lead.organization, actor=actor, lead=lead, text=f"Note {index}", id=uuid7())


def test_the_page_shows_how_to_reach_the_lead(owner: Client, lead: Lead) -> None:
    Lead.objects.of(lead.organization).update(phone_e164="+14155552671", phone_country="US")

    page = owner.get(page_url(lead)).content.decode()

    assert 'href="mailto:ours@leads.example"' in page
    assert 'href="tel:+14155552671"' in page
    assert 'data-copy="+14155552671"' in page
    assert "Save and " not in page


def test_a_lead_with_many_appointments_has_a_link_to_all(
    owner: Client, lead: Lead, api: ApiClient, organization: Organization
) -> None:
    for number in range(6):
        api.book(lead_email=lead.email, external_reference=f"many-{number}")

    card = next(card for card in owner.get(page_url(lead)).context["record"]["cards"] if card.title == "Appointments")
    listed = owner.get(card.facts[-1].url).context["cl"].result_list

    assert (len(card.facts), card.facts[-1].text) == (6, "All appointments")
    assert {row.pk for row in listed} == {row.pk for row in Appointment.objects.of(organization).filter(lead=lead)}


def test_saving_the_form_returns_to_the_lead(owner: Client, lead: Lead) -> None:
    response = owner.post(page_url(lead), form_data(owner, page_url(lead), first_name="Ada"))

    lead.refresh_from_db()
    assert (response.url, lead.first_name) == (page_url(lead), "Ada")


def test_saving_a_new_lead_opens_its_page(owner: Client, lead: Lead) -> None:
    url = admin_url(Lead, "add")

    response = owner.post(url, form_data(owner, url, email="new@leads.example"))

    assert response.url == page_url(Lead.objects.of(lead.organization).get(email="new@leads.example"))


def test_the_booking_form_is_filled_in_with_the_lead(owner: Client, lead: Lead) -> None:
    buttons = {button.label: button for button in owner.get(page_url(lead)).context["record"]["main"]}

    page = owner.get(buttons["Book"].url).content.decode()

    assert buttons["Book"].key == "b"
    assert f'<option value="{lead.pk}" selected>' in page


def test_the_timeline_tells_everything_that_happened_and_who_did_it(
    owner: Client, appointment: Appointment, lead: Lead, organization: Organization
) -> None:
    """Each entry has its time and, where somebody did it, the name."""
    actor = owner_actor(organization)
    values: dict[str, Any] = {"organization": organization, "actor": actor}
    write_notes(lead, 1)
    to = appointment.schedule_time + timedelta(days=1)
    reschedule(**values, appointment=appointment, to=to)
    no_show = status_with_role(organization, "NO_SHOW")
    edit_appointment(**values, appointment=appointment, status_id=no_show.pk)
    edit_appointment(**values, appointment=appointment, meeting_url="https://meet.example/1")
    change_status(**values, lead_id=lead.pk, status_id=status_with_role(organization, "WON").pk)
    edit_lead(**values, lead=lead, last_name="Byron")

    entries = timeline(owner, lead)

    assert entries == sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True)
    assert {entry.kind for entry in entries} == {*("notes", "statuses", "changes", "opt_ins", "appointments", "mails")}
    texts = [(entry.actor_name, str(entry.text)) for entry in entries]
    assert any(text.startswith("Rescheduled") and who == actor.name for who, text in texts)
    assert any("No-show" in text and text.startswith("Outcome") and who == actor.name for who, text in texts)
    assert any(text.startswith("Status") and "Won" in text and who == actor.name for who, text in texts)
    assert any(text.startswith("Booked: ours call") for _, text in texts)
    assert (actor.name, "Last name changed") in texts
    opt_in = [entry for entry in entries if entry.kind == "opt_ins"][-1]
    assert {(detail.label, detail.text) for detail in opt_in.details} >= {
        ("ours?", "Yes"),
        ("UTM source", "ours campaign"),
    }
    (move,) = [entry for entry in entries if str(entry.text).startswith("Rescheduled")]
    assert len(move.details) == 1
    assert move.details[0].before != move.details[0].text


def test_old_and_new_values_are_shown_as_people_read_them(
    owner: Client, lead: Lead, organization: Organization
) -> None:
    field = make_custom_field(organization, "LEAD", "wants_letter", label="Wants a letter", type="BOOLEAN")
    setter = owner_of(organization)
    values = {str(field.pk): True}
    edit_lead(
        organization=organization, actor=owner_actor(organization), lead=lead, setter=setter, custom_values=values
    )

    entry = timeline(owner, lead, kind="changes")[0]

    assert [tuple(detail) for detail in entry.details] == [
        ("Setter", str(setter), "–"),
        ("Wants a letter", "Yes", "–"),
    ]


def test_a_changed_call_analysis_is_shown_by_its_title(
    owner: Client, appointment: Appointment, lead: Lead, organization: Organization
) -> None:
    analysis = appointment.call_analysis
    before, analysis.ai_generated_title = analysis.ai_generated_title, "A better title"
    save_analysis(organization=organization, actor=owner_actor(organization), analysis=analysis)

    entry = timeline(owner, lead, kind="changes")[0]

    assert [tuple(detail) for detail in entry.details] == [("Call analysis", "A better title", before)]
    assert owner.get(admin_url(Appointment, "history", appointment.pk)).status_code == 200


def test_the_timeline_has_fifty_entries_and_a_link_to_older_ones(owner: Client, lead: Lead) -> None:
    write_notes(lead, PAGE + 1)
    first = owner.get(page_url(lead)).context["record"]["timeline"]

    second = owner.get(page_url(lead) + first.older).context["record"]["timeline"]

    assert len(first.entries) == PAGE
    everything = [entry.id for entry in [*first.entries, *second.entries]]
    assert len(everything) == len(set(everything))
    assert {entry.text for entry in second.entries} > {"Note"}
    assert min(entry.at for entry in first.entries) >= max(entry.at for entry in second.entries)
    assert not second.older


def test_the_timeline_shows_one_kind_if_asked(owner: Client, lead: Lead) -> None:
    write_notes(lead, 2)

    entries = timeline(owner, lead, kind="notes")

    assert {entry.kind for entry in entries} == {"notes"}
    assert [entry.body for entry in entries[:2]] == ["Note 1", "Note 0"]


@pytest.mark.parametrize(
    "parameters",
    [{"kind": "gossip"}, {"older": "x"}, {"older": "2026-01-01T00:00:00Z_1"}, {"older": "0001-01-01T00:00:00+14:00_x"}],
)
def test_an_invalid_address_of_a_timeline_is_refused(owner: Client, lead: Lead, parameters: dict[str, str]) -> None:
    assert owner.get(page_url(lead), parameters).status_code == 400


def test_the_page_takes_the_same_number_of_statements_however_much_has_happened(owner: Client, lead: Lead) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            timeline(owner, lead)
        return len(captured)

    write_notes(lead, 1)
    count()  # fills caches
    few = count()
    write_notes(lead, 10)
    for name in ("Ada", "Grace", "Mary"):
        edit_lead(organization=lead.organization, actor=owner_actor(lead.organization), lead=lead, first_name=name)

    assert count() == few


@pytest.mark.parametrize("about", ["lead", "appointment"])
def test_a_form_for_a_note_that_is_sent_twice_stores_one(
    about: str, owner: Client, lead: Lead, organization: Organization
) -> None:
    row: Any = lead if about == "lead" else lead.appointments.first()
    model, topic = (LeadNote, "lead.note_created") if row == lead else (Note, "note.created")
    page = owner.get(admin_url(type(row), "change", row.pk))
    button = next(each for each in page.context["record"]["main"] if each.label == "Note")
    data = {"note": "Prefers mornings", "new_id": str(button.form["new_id"].value())}
    before = events_of(organization).count(topic)

    responses = [owner.post(button.url, data) for _ in range(2)]

    assert [response.status_code for response in responses] == [302, 302]
    (note,) = model.objects.of(organization).filter(note="Prefers mornings")
    assert (getattr(note, about), note.actor_name) == (row, owner_actor(organization).name)
    assert events_of(organization).count(topic) == before + 1
    assert owner.post(button.url, {**data, "new_id": str(uuid7())}).status_code == 302  # another form
    assert model.objects.of(organization).filter(note="Prefers mornings").count() == 2
    # The browser's Back shows the same form again.
    for other in model.objects.of(organization).filter(note="Prefers mornings").exclude(pk=note.pk):
        owner.post(admin_url(model, "delete", other.pk), {"post": "yes"})
    url = admin_url(model, "delete", note.pk)
    for text in ("Has a dog", "Prefers mornings"):
        if text == "Prefers mornings":
            assert owner.post(url, {"post": "yes"}).status_code == 302
        refused = owner.post(button.url, {**data, "note": text})
        again = {"note": text, "new_id": str(refused.context["form"]["new_id"].value())}
        assert "send it once more" in form_errors(refused)[0]
        assert owner.post(button.url, again).status_code == 302
        assert model.objects.of(organization).filter(note=text).count() == 1


def test_the_badge_changes_the_status_unless_somebody_else_was_faster(
    owner: Client, lead: Lead, organization: Organization
) -> None:
    won, lost = (status_with_role(organization, role) for role in ("WON", "LOST"))
    state = str(lead.status_id)

    for status in (won, lost):
        owner.post(action_url(lead, "set_status"), {"status": status.pk, "state": state})

    lead.refresh_from_db()
    assert lead.status == won


def test_the_next_step_stays_due_until_it_is_done(owner: Client, lead: Lead, organization: Organization) -> None:
    yesterday = now() - timedelta(days=1)
    data = {"at": yesterday.strftime("%Y-%m-%dT%H:%M"), "type": "CALL", "note": "About the price"}
    owner.post(action_url(lead, "set_next_step"), data)
    lead.refresh_from_db()

    shown = owner.get(page_url(lead))
    page, record = shown.content.decode(), shown.context["record"]
    home = owner.get("/admin/").content.decode()
    listed = owner.get(admin_url(Lead, "changelist"), {"work": "follow_up"}).context["cl"].result_list
    owner.post(action_url(lead, "finish_next_step"), {"step": lead.next_steps.get().pk})

    assert (lead.next_step_type, lead.next_step_note) == ("CALL", "About the price")
    assert "due yesterday" in page
    assert page.count(action_url(lead, "finish_next_step")) == 1  # the notice has the button, "More" hasn't
    assert "Next step is done" not in [button.label for button in record["more"]]
    assert "About the price" in page
    assert "due yesterday" in home
    assert list(listed) == [lead]
    lead.refresh_from_db()
    assert (lead.next_step_at, lead.next_step_type, lead.next_step_note) == (None, None, None)
    assert "due yesterday" not in owner.get("/admin/").content.decode()


def test_the_next_step_is_the_touch_point_while_no_appointment_comes_first(
    owner: Client, appointment: Appointment, lead: Lead
) -> None:
    """Done, the appointment becomes it again."""
    step = now() + timedelta(hours=3)
    assert step < appointment.schedule_time
    owner.post(action_url(lead, "set_next_step"), {"at": step.strftime("%Y-%m-%dT%H:%M"), "type": "SMS"})
    lead.refresh_from_db()
    while_open = (lead.next_touch_point_type, lead.next_touch_point_at == lead.next_step_at)

    owner.post(action_url(lead, "finish_next_step"), {"step": lead.next_steps.get().pk})

    lead.refresh_from_db()
    assert while_open == ("SMS", True)
    assert (lead.next_touch_point_type, lead.next_touch_point_at) == ("APPOINTMENT", appointment.schedule_time)


def test_the_home_page_marks_a_step_as_done_and_stays(owner: Client, lead: Lead) -> None:
    yesterday = (now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    owner.post(action_url(lead, "set_next_step"), {"at": yesterday, "type": "CALL"})
    data = {"step": lead.next_steps.get().pk, "home": "who=team"}

    response = owner.post(action_url(lead, "finish_next_step"), data)

    assert response.url == "/admin/?who=team"
    lead.refresh_from_db()
    assert lead.next_step_at is None


def test_a_done_button_that_is_pressed_twice_leaves_the_other_steps_open(owner: Client, lead: Lead) -> None:
    url, times = action_url(lead, "set_next_step"), [now() + timedelta(days=days) for days in (1, 2)]
    for at in times:
        owner.post(url, {"at": at.strftime("%Y-%m-%dT%H:%M"), "type": "CALL"})
    first, second = lead.next_steps.order_by("at")

    responses = [owner.post(action_url(lead, "finish_next_step"), {"step": first.pk}, follow=True) for _ in range(2)]

    lead.refresh_from_db()
    assert (lead.next_step_at, lead.next_touch_point_at) == (second.at, second.at)
    assert shown_messages(responses[0])[-1:] == ["The next step is done."]
    again = f"Next step is done: this was done already, by {owner_actor(lead.organization).name}."
    assert shown_messages(responses[1]) == [again]


def test_a_viewer_sees_the_record_without_buttons_and_changes_nothing(
    viewer: Client, lead: Lead, organization: Organization
) -> None:
    record = viewer.get(page_url(lead)).context["record"]
    posts = {
        "add_note": {"note": "Mine"},
        "set_status": {"status": status_with_role(organization, "WON").pk},
        "set_next_step": {"at": "2027-01-05T10:00", "type": "CALL"},
        "finish_next_step": {},
        "change_next_step": {"at": "2027-01-05T10:00", "type": "CALL"},
    }

    responses = {name: viewer.post(action_url(lead, name), data).status_code for name, data in posts.items()}

    assert (record["main"], record["more"], record["status_button"], record["can_edit"]) == ([], [], None, False)
    assert responses == dict.fromkeys(posts, 403)
    assert not {"webhooks", "mails"} & record["timeline"].kinds.keys()


def test_phone_and_setter_are_changed_in_place(owner: Client, lead: Lead, organization: Organization) -> None:
    """The next steps go to the new setter, as in the form of all fields."""
    sam = make_member(organization, "sam@acme.example")
    step = {"lead_id": lead.pk, "at": now(), "type": "CALL", "owner": None}
    set_next_step(organization=organization, actor=owner_actor(organization), **step)
    facts = {fact.label: fact for fact in owner.get(page_url(lead)).context["record"]["facts"]}

    refused = owner.post(action_url(lead, "set_phone"), {"phone": "12"})
    owner.post(action_url(lead, "set_phone"), {"phone": "(415) 555-2671", "state": facts["Phone"].button.state})
    data = {"setter": sam.pk, "hand_over_steps": "on", "state": facts["Setter"].button.state}
    response = owner.post(action_url(lead, "set_setter"), data)
    stale = owner.post(action_url(lead, "set_setter"), {**data, "setter": ""})

    lead.refresh_from_db()
    assert form_errors(refused) == ["Enter a valid phone number."]
    assert (lead.phone_e164, lead.phone_country, lead.setter) == ("+14155552671", "US", sam)
    assert NextStep.objects.of(organization).get().owner == sam
    assert shown_messages(response)[-1] == f"{lead} now belongs to {sam}."
    assert "someone has changed this" in shown_messages(stale)[-1]


def test_a_cancellation_is_one_entry(owner: Client, lead: Lead, appointment: Appointment) -> None:
    """It has the reason and the lead's status; without the end of the meeting, and what connected systems got."""
    edit_appointment(
        organization=lead.organization,
        actor=owner_actor(lead.organization),
        appointment=appointment,
        meeting_url="https://meet.example/1",
    )
    before = {entry.id for entry in timeline(owner, lead)}

    owner.post(admin_url(Appointment, "cancel", appointment.pk), {"notes": "Ill"})

    (entry,) = [entry for entry in timeline(owner, lead) if entry.id not in before and entry.kind != "mails"]
    assert ("Outcome" in entry.text, entry.body) == (True, "Ill")
    assert [tuple(detail) for detail in entry.details] == [("Lead", "Canceled", "Appointment booked")]
    assert timeline(owner, lead, kind="notes")[0].body == "Ill"
    assert str(timeline(owner, lead, kind="statuses")[0].text).startswith("Status: ")


def test_only_who_may_see_events_sees_webhooks(owner: Client, closer: Client, lead: Lead) -> None:
    """And only on request."""
    assert "webhooks" in owner.get(page_url(lead)).context["record"]["timeline"].kinds
    assert {entry.kind for entry in timeline(owner, lead, kind="webhooks")} == {"webhooks"}
    assert closer.get(page_url(lead), {"kind": "webhooks"}).status_code == 400


def test_the_history_page_shows_old_and_new_values(owner: Client, lead: Lead, organization: Organization) -> None:
    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, last_name="Byron")

    page = owner.get(admin_url(Lead, "history", lead.pk)).content.decode()

    assert "Last name: <del>–</del>" in page
    assert "<ins>Byron</ins>" in page
    assert owner_actor(organization).name in page


def test_texts_of_a_record_are_escaped(owner: Client, lead: Lead, organization: Organization) -> None:
    evil = '<script>alert("1")</script>'
    add_note(organization=organization, actor=owner_actor(organization), lead=lead, text=evil, id=uuid7())
    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, first_name=evil, last_name=evil)

    pages = [owner.get(admin_url(Lead, view, lead.pk)).content.decode() for view in ("change", "history")]

    assert [page for page in pages if "<script>alert(" in page] == []


def test_a_lead_about_which_nothing_is_known_has_a_page(owner: Client, organization: Organization) -> None:
    data = {"email": "new@leads.example"}
    owner.post(admin_url(Lead, "add"), data)
    lead = Lead.objects.of(organization).get()

    (entry,) = timeline(owner, lead)

    assert str(entry.text).startswith("Lead added")
