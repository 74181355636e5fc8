"""Notes of leads and appointments: all of them on the page, edited, deleted, pinned, and with mentions."""

import json
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment, Note
from leads.models import Lead, LeadNote
from leads.privacy.erasing import request_erasure
from notifications.models import Kind, Notification
from notifications.services import set_muted_kinds
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member, owner_of, snapshot_of
from tests.jobs import send_notifications
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, list_url, logged_in_client, shown_messages
from webhooks.models import Event


@pytest.fixture
def sam(organization: Organization) -> Membership:
    """A setter, who has no lead."""
    return make_member(organization, "sam@acme.example", role=MemberRole.SETTER, first_name="Sam", last_name="Ode")


def add(client: Client, row: Lead | Appointment, text: str) -> Any:
    response = client.post(admin_url(type(row), "add_note", row.pk), {"note": text})
    assert response.status_code == 302, form_errors(response)
    model = LeadNote if isinstance(row, Lead) else Note
    return model.objects.of(row.organization).order_by("created_at").last()


def change(client: Client, note: Any, text: str) -> None:
    url = admin_url(type(note), "change", note.pk)
    response = client.post(url, form_data(client, url, note=text))
    assert response.status_code == 302, form_errors(response)


def mentions_of(organization: Organization) -> list[Any]:
    rows = Notification.objects.of(organization).filter(kind=Kind.MENTIONED)
    return [row.recipient for row in rows.order_by("created_at").select_related("recipient")]


@pytest.mark.parametrize("kind", ["lead", "appointment"])
def test_a_note_is_edited_pinned_and_deleted_by_who_wrote_it(
    kind: str, lead: Lead, appointment: Appointment, organization: Organization, sam: Membership, closer: Client
) -> None:
    """Also on a colleague's lead, which itself stays as it is. Owners and managers may change any note."""
    row: Any = lead if kind == "lead" else appointment
    topic = "lead.note_" if kind == "lead" else "note."
    setter, leader = logged_in_client(sam), logged_in_client(owner_of(organization))
    page, record = admin_url(type(row), "change", row.pk), f"{admin_url(type(row), 'change', row.pk)}#record-timeline"
    note = add(setter, row, "Call after 6 pm")
    edit, delete, pin = (admin_url(type(note), view, note.pk) for view in ("change", "delete", "pin"))

    change(setter, note, "Call after 7 pm")
    pinned = setter.post(pin)
    shown = setter.get(page)
    by_others = [closer.post(edit, {"note": "Mine"}).status_code, closer.post(delete, {"post": "yes"}).status_code]
    seen_by_others = closer.get(page).content.decode()
    change(leader, note, "Call after 8 pm")
    deleted = setter.post(delete, {"post": "yes"})

    assert (pinned.url, deleted.url) == (record, record)
    (entry,) = shown.context["record"]["pinned"]
    assert (entry.body, entry.note.edited_at is not None) == ("Call after 7 pm", True)
    assert "· edited" in shown.content.decode()
    assert edit in shown.content.decode()
    assert by_others == [403, 403]
    assert (edit in seen_by_others, "Call after 7 pm" in seen_by_others) == (False, True)
    rows = Event.objects.of(organization).filter(subject_id=note.pk).order_by("created_at", "id")
    events = [json.loads(row.body) for row in rows]
    assert [event["type"] for event in events] == [
        f"{topic}created",
        f"{topic}updated",
        f"{topic}updated",
        f"{topic}deleted",
    ]
    assert [event["previous"] for event in events[1:3]] == [{"note": "Call after 6 pm"}, {"note": "Call after 7 pm"}]
    assert not type(note).objects.of(organization).filter(pk=note.pk).exists()
    assert setter.post(admin_url(Lead, "set_status", lead.pk), {"status": lead.status_id}).status_code == 403


def test_the_message_about_a_note_names_who_gets_an_email(
    lead: Lead, organization: Organization, sam: Membership, owner: Client
) -> None:
    silent = [make_member(organization, f"{name}@acme.example", first_name=name) for name in ("Ada", "Grace")]
    set_muted_kinds(member=silent[0], kinds=["MENTIONED"])
    Membership.objects.of(organization).filter(pk=silent[1].pk).update(wants_mail=False)
    said = []
    for row in (lead, lead.appointments.first()):
        for text in ("@Ada and @Grace", f"@Sam Ode, @Ada, @{owner_of(organization)}", "@Sam, and @Tom?", "No one"):
            sent = owner.post(admin_url(type(row), "add_note", row.pk), {"note": text})
            said.append(shown_messages(sent)[-1])

    assert said[:4] == said[4:]
    assert said[:4] == [
        "Note added. Ada and Grace will get no e-mail about it.",
        "Note added. We'll e-mail Sam Ode. Ada will get no e-mail about it.",
        "Note added. No colleague is called @Sam or @Tom: write the full name or the e-mail.",
        "Note added.",
    ]


def test_the_message_about_a_note_knows_the_daily_limit_of_mentions(
    lead: Lead, organization: Organization, sam: Membership, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("notifications.daily_limit.MENTION_MAILS_PER_DAY", 1)
    said = []
    for text in ("@Sam Ode 1", "@Sam Ode 2"):
        said.append(shown_messages(owner.post(admin_url(Lead, "add_note", lead.pk), {"note": text}))[-1])
        send_notifications(str(organization.pk))

    assert said == ["Note added. We'll e-mail Sam Ode.", "Note added. Sam Ode will get no e-mail about it."]


def test_members_whom_a_note_of_a_lead_names_are_notified_once(
    lead: Lead, organization: Organization, sam: Membership, owner: Client, mailoutbox: list[Any]
) -> None:
    """An `@` in an address is none, the author isn't told, and erasing the lead erases what they were sent."""
    ada = make_member(organization, "ada@acme.example", first_name="Sam", last_name="Odette")
    Notification.objects.of(organization).delete()

    note = add(owner, lead, f"@sam ode: she is x@sam ode, see ({owner_of(organization)}) @{owner_of(organization)}")
    change(owner, note, "@Sam Ode, and @Sam Odette, and @Sam Odelia")
    change(owner, note, "Only @Sam Odette.")
    send_notifications(str(organization.pk))

    assert mentions_of(organization) == [sam, ada]
    assert [email.to for email in mailoutbox] == [["sam@acme.example"], ["ada@acme.example"]]
    assert mailoutbox[0].subject == f"Mentioned in a note: {lead}"
    assert f"http://testserver{admin_url(Lead, 'change', lead.pk)}" in mailoutbox[0].body
    assert "Appointment" not in mailoutbox[0].body
    texts = [
        str(entry.text)
        for entry in owner.get(f"{admin_url(Lead, 'change', lead.pk)}?kind=mails").context["record"]["timeline"].entries
    ]
    assert any("to Sam Odette" in text for text in texts)
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    assert mentions_of(organization) == []


def test_the_mentions_of_an_appointments_note_follow_its_text(
    appointment: Appointment, organization: Organization, sam: Membership, owner: Client
) -> None:
    """Those that the API has given without naming them stay."""
    ada = make_member(organization, "ada@acme.example", first_name="Ada")
    note = add(owner, appointment, "Look, @Sam Ode")
    note.mention_users.add(ada)
    Notification.objects.of(organization).delete()

    change(owner, note, "Look, all")

    assert ([*note.mention_users.all()], mentions_of(organization)) == ([ada], [])


def test_an_edit_notifies_nobody_whom_the_text_named_before(
    appointment: Appointment, api: ApiClient, organization: Organization, sam: Membership, owner: Client
) -> None:
    """A text of the API notifies nobody by itself."""
    written = api.post(f"/api/external/appointments/{appointment.pk}/notes", {"note": "@Sam Ode, plese call"})
    note = Note.objects.of(organization).get(pk=written.json()["data"]["id"])

    change(owner, note, "@Sam Ode, please call")

    assert mentions_of(organization) == []


def test_an_edit_that_somebody_else_has_overtaken_is_refused(lead: Lead, owner: Client) -> None:
    note = add(owner, lead, "First")
    url = admin_url(LeadNote, "change", note.pk)
    stale = form_data(owner, url, note="Stale")
    change(owner, note, "Second")

    response = owner.post(url, stale)

    note.refresh_from_db()
    assert ("Someone else has changed" in form_errors(response)[0], note.note) == (True, "Second")


def test_the_text_of_a_logged_call_keeps_its_result(lead: Lead, organization: Organization, owner: Client) -> None:
    owner.post(admin_url(Lead, "log_call", lead.pk), {"result": "TALKED", "note": "Wants a demo"})
    call = LeadNote.objects.of(organization).get(call_result="TALKED")
    shown = form_data(owner, admin_url(LeadNote, "change", call.pk))["note"]

    change(owner, call, "")

    call.refresh_from_db()
    assert (shown.strip(), call.note) == ("Wants a demo", "Talked")


def test_the_lists_have_the_notes_of_leads_and_of_appointments(lead: Lead, owner: Client, viewer: Client) -> None:
    """A long text ends with dots."""
    add(owner, lead, "word " * 40)

    listed, others = (viewer.get(list_url(model)).content.decode() for model in (LeadNote, Note))

    assert "word word…" in listed
    assert ("ours lead note" in listed, "ours second note" in others) == (True, True)
    assert f'href="{admin_url(Note, "changelist")}' in listed
    assert viewer.post(admin_url(Lead, "add_note", lead.pk), {"note": "x"}).status_code == 403


def test_an_erased_lead_takes_no_note(lead: Lead, organization: Organization, owner: Client) -> None:
    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead.pk)
    before = snapshot_of(organization)

    response = owner.post(admin_url(Lead, "add_note", lead.pk), {"note": "x"})

    assert form_errors(response) == ["This is not possible at the moment."]
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("kind", ["lead", "appointment"])
def test_a_note_that_is_saved_as_it_is_stays_as_it_is(
    kind: str, lead: Lead, appointment: Appointment, organization: Organization
) -> None:
    """Browsers send line breaks as two characters."""
    client, row = logged_in_client(owner_of(organization)), lead if kind == "lead" else appointment
    note = add(client, row, "First line\r\nsecond line")
    stored = note.note
    type(note).objects.of(organization).filter(pk=note.pk).update(note=f"\t{stored} \n")  # as the API can store it
    url = admin_url(type(note), "change", note.pk)
    sent = form_data(client, url)["note"].replace("\n", "\r\n")
    before = snapshot_of(organization)

    client.post(url, form_data(client, url, note=sent))

    assert stored == "First line\nsecond line"
    assert snapshot_of(organization) == before
