"""Leads by hand, and what an organization sets up for itself."""

import pytest
from django.db import IntegrityError
from django.test import Client

from appointments.models import Appointment, EventType
from leads.models import CustomField, Lead
from organizations.models import Organization
from statuses.models import Status
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, shown_messages
from tests.factories import events_of, make_custom_field, make_event_type, make_status, snapshot_of


def status(organization: Organization, role: str) -> Status:
    return Status.objects.of(organization).filter(role=role).first()


def test_an_added_lead_has_status_history_source_and_event(closer: Client, organization: Organization):
    data = form_data(
        closer, admin_url(Lead, "add"), email=" ada@example.com ", first_name="Ada", phone_e164="(415) 555-2671"
    )

    answer = closer.post(admin_url(Lead, "add"), data)

    assert answer.status_code == 302, form_errors(answer)
    lead = Lead.objects.of(organization).get()
    assert (lead.email, lead.first_name, lead.phone_e164, lead.phone_country) == (
        "ada@example.com",
        "Ada",
        "+14155552671",
        "US",
    )
    assert (lead.status.role, lead.first_source.name, lead.last_source.name) == ("NEW_LEAD", "MANUAL", "MANUAL")
    assert [change.actor_name for change in lead.status_changes.all()] == ["Hana Host"]
    assert events_of(organization) == ["lead.created"]


def test_a_changed_lead_moves_with_history_and_event(closer: Client, ours: Appointment):
    address, won = admin_url(Lead, "change", ours.lead_id), status(ours.organization, "WON")

    answer = closer.post(address, form_data(closer, address, status=won.pk, last_name="Lovelace"))

    assert answer.status_code == 302, form_errors(answer)
    lead = Lead.objects.of(ours.organization).get()
    assert (lead.status, lead.last_name, lead.status_changes.first().actor_name) == (won, "Lovelace", "Hana Host")
    assert "lead.status_changed" in events_of(ours.organization)


def test_saving_without_a_change_does_nothing(closer: Client, ours: Appointment):
    before = snapshot_of(ours.organization)
    address = admin_url(Lead, "change", ours.lead_id)

    answer = closer.post(address, form_data(closer, address))

    assert answer.status_code == 302, form_errors(answer)
    assert snapshot_of(ours.organization) == before


@pytest.mark.parametrize("field", ["status", "setter"])
def test_a_foreign_row_is_no_choice(field: str, owner: Client, ours: Appointment, theirs: Appointment):
    address, before = admin_url(Lead, "change", ours.lead_id), snapshot_of(ours.organization)

    answer = owner.post(
        address, form_data(owner, address, **{field: {"status": theirs.outcome_id, "setter": theirs.host_id}[field]})
    )

    assert any("Select a valid choice" in sentence for sentence in form_errors(answer))
    assert snapshot_of(ours.organization) == before


def test_a_status_of_the_other_board_is_no_choice(owner: Client, ours: Appointment):
    elsewhere = make_status(ours.organization, "Only calls", type="APPOINTMENT")
    address = admin_url(Lead, "change", ours.lead_id)

    answer = owner.post(address, form_data(owner, address, status=elsewhere.pk))

    assert any("Select a valid choice" in sentence for sentence in form_errors(answer))


def test_an_e_mail_that_another_lead_has_is_refused(closer: Client, ours: Appointment):
    answer = closer.post(admin_url(Lead, "add"), form_data(closer, admin_url(Lead, "add"), email="OURS@leads.example"))

    assert form_errors(answer) == ["This e-mail belongs to another lead."]


def test_two_who_add_the_same_at_the_same_moment_are_told(
    closer: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    def lose_the_race(**facts: object) -> None:
        raise IntegrityError

    monkeypatch.setattr("leads.admin.leads.add_lead", lose_the_race)

    answer = closer.post(admin_url(Lead, "add"), form_data(closer, admin_url(Lead, "add"), email="ada@example.com"))

    assert form_errors(answer) == [
        "Someone else just saved a record with the same value. Check the list before you try again."
    ]


def test_the_second_of_two_who_save_is_told(owner: Client, closer: Client, ours: Appointment):
    address = admin_url(Lead, "change", ours.lead_id)
    first, second = form_data(owner, address, last_name="First"), form_data(closer, address, last_name="Second")

    owner.post(address, first)
    refused = closer.post(address, second)

    assert any("Someone else has changed this record" in sentence for sentence in form_errors(refused))
    assert Lead.objects.of(ours.organization).get().last_name == "First"


def test_a_new_default_takes_the_place_of_the_old_one(owner: Client, organization: Organization):
    old = status(organization, "CANCELED")
    data = form_data(
        owner,
        admin_url(Status, "add"),
        name="Called off",
        role="CANCELED",
        is_lead_default="on",
        is_appointment_default="on",
    )

    answer = owner.post(admin_url(Status, "add"), data)

    assert answer.status_code == 302, form_errors(answer)
    old.refresh_from_db()
    assert (old.is_lead_default, Status.objects.of(organization).get(name="Called off").is_lead_default) == (
        False,
        True,
    )


def test_a_status_that_automatic_moves_need_is_kept(owner: Client, organization: Organization):
    needed = status(organization, "NEW_LEAD")
    address, before = admin_url(Status, "change", needed.pk), snapshot_of(organization)

    changed = owner.post(address, form_data(owner, address, type="APPOINTMENT", is_lead_default=""))
    deleted = owner.post(admin_url(Status, "delete", needed.pk), {"post": "yes"})

    assert any("Make another status the default first" in sentence for sentence in form_errors(changed))
    assert any("Make another status the default first" in sentence for sentence in shown_messages(deleted))
    assert snapshot_of(organization) == before


def test_a_status_in_use_is_kept_and_an_unused_one_goes(owner: Client, ours: Appointment):
    used, unused = status(ours.organization, "FOLLOW_UP"), Status.objects.of(ours.organization).get(name="ours status")
    address = admin_url(Lead, "change", ours.lead_id)
    owner.post(address, form_data(owner, address, status=used.pk))

    kept = owner.post(admin_url(Status, "delete", used.pk), {"post": "yes"})
    owner.post(admin_url(Status, "delete", unused.pk), {"post": "yes"})

    assert any("is used by a lead" in sentence for sentence in shown_messages(kept))
    assert set(Status.objects.of(ours.organization).filter(pk__in=[used.pk, unused.pk])) == {used}


def test_an_event_type_is_made_and_its_name_is_taken_once(owner: Client, organization: Organization):
    make_event_type(organization, "Strategy call")

    taken = owner.post(admin_url(EventType, "add"), form_data(owner, admin_url(EventType, "add"), name="STRATEGY CALL"))
    made = owner.post(admin_url(EventType, "add"), form_data(owner, admin_url(EventType, "add"), name="Demo"))

    assert form_errors(taken) == ["Another event type has this name."]
    assert made.status_code == 302
    assert EventType.objects.of(organization).get(name="Demo").provider is None


def test_an_event_type_with_calls_is_kept(owner: Client, ours: Appointment):
    answer = owner.post(admin_url(EventType, "delete", ours.event_type_id), {"post": "yes"})

    assert shown_messages(answer) == ["ours call can't be deleted because appointments use it"]
    assert EventType.objects.of(ours.organization).filter(pk=ours.event_type_id).exists()


def test_a_custom_field_is_made_and_its_kind_stays(owner: Client, organization: Organization):
    data = form_data(
        owner,
        admin_url(CustomField, "add"),
        entity="LEAD",
        type="SELECT",
        key="plan",
        label="Plan",
        options="Gold\nSilver\nGold\n",
    )

    made = owner.post(admin_url(CustomField, "add"), data)
    field = CustomField.objects.of(organization).get()
    address = admin_url(CustomField, "change", field.pk)
    owner.post(address, form_data(owner, address, type="TEXT", key="other", label="Tariff"))

    assert made.status_code == 302, form_errors(made)
    field.refresh_from_db()
    assert (field.options, field.type, field.key, field.label) == (["Gold", "Silver"], "SELECT", "plan", "Tariff")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"type": "SELECT"}, "Enter at least one option."),
        ({"options": "Gold"}, "Only a choice field can have options."),
        ({"key": "taken"}, "Another custom field has this key."),
    ],
)
def test_a_bad_custom_field_is_refused(changes: dict, sentence: str, owner: Client, organization: Organization):
    make_custom_field(organization, "LEAD", "taken")

    wanted = {"entity": "LEAD", "key": "plan", "label": "Plan", **changes}

    answer = owner.post(admin_url(CustomField, "add"), form_data(owner, admin_url(CustomField, "add"), **wanted))

    assert form_errors(answer) == [sentence]


def test_what_integrators_send_is_shown_escaped(owner: Client, ours: Appointment):
    evil = '<script>alert("1")</script>'
    make_status(ours.organization, evil)
    make_custom_field(ours.organization, "LEAD", "evil", label=evil)
    Lead.objects.of(ours.organization).update(first_name=evil)

    addresses = [
        admin_url(Lead, "changelist"),
        admin_url(Lead, "change", ours.lead_id),
        admin_url(Status, "changelist"),
        admin_url(Appointment, "changelist"),
        "/admin/",
    ]
    pages = [owner.get(address).content.decode() for address in addresses]

    assert [page for page in pages if "<script>alert(" in page] == []
