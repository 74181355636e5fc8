"""Actions on selected rows that ask for a status or a member."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from appointments.models import Appointment
from appointments.services import change_next_step, edit_appointment, finish_next_step, set_next_step
from foundation.db.timestamps import now
from leads.models import Lead, LeadStatusChange, NextStep
from leads.privacy.erasing import request_erasure
from leads.services import change_status, edit_lead
from organizations.models import MemberRole, Membership, Organization
from organizations.services import add_member, change_member
from staff.toolkit import bulk
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_api, make_member, make_status, notifications_of, owner_actor, owner_of
from tests.merging.leads import book, make_lead
from tests.staff.pages import admin_url, list_url, logged_in_client, shown_messages
from webhooks.models import Event


@pytest.fixture
def rows(organization: Organization) -> list[Appointment]:
    """Two appointments of different leads."""
    api = make_api(organization)
    for name in ("ada", "bob"):
        api.book(lead_email=f"{name}@example.com", external_reference=name)
    return list(Appointment.objects.of(organization).order_by("external_reference"))


def send(
    client: Client, action: str, selected: list[Any], value: object = None, *, query: str = "view=all", **fields: str
) -> Any:
    """Select rows for an action, and answer its page if there is a value."""
    data = {"action": action, "_selected_action": [str(row.pk) for row in selected], "index": "0"}
    answer = {"confirmed": "yes", "value": str(value), **fields} if value else {}
    return client.post(f"{admin_url(type(selected[0]), 'changelist')}?{query}", {**data, **answer})


def answer_page(client: Client, page: Any, action: str, value: object = "", *, query: str = "view=all") -> Any:
    """Answer the page that an action on appointments has shown."""
    ids = re.findall(r'name="_selected_action" value="([^"]+)"', page.content.decode())
    data = {"action": action, "_selected_action": ids, "version": versions_on(page)}
    return client.post(
        f"{admin_url(Appointment, 'changelist')}?{query}", {**data, "confirmed": "yes", "value": str(value)}
    )


def versions_on(page: Any) -> list[str]:
    return re.findall(r'name="version" value="([^"]+)"', page.content.decode())


def test_the_outcome_of_selected_appointments(rows: list[Appointment], organization: Organization):
    won = Status.objects.of(organization).get(role="WON")
    owner = logged_in_client(owner_of(organization))

    page = send(owner, "set_outcome_selected", rows)
    response = send(owner, "set_outcome_selected", rows, won.pk)

    assert "Won" in page.content.decode()
    assert shown_messages(response)[0].startswith("2 marked as Won. <button")
    assert {row.outcome_id for row in Appointment.objects.of(organization)} == {won.pk}
    assert {row.status_id for row in Lead.objects.of(organization)} == {won.pk}
    assert Event.objects.of(organization).filter(type="appointment.outcome_changed").count() == 2


def test_a_selected_row_that_a_colleague_has_changed_since_the_question_stays(
    rows: list[Appointment], organization: Organization
):
    """docs/guarantees.md, D30"""
    statuses = Status.objects.of(organization)
    won, lost = statuses.get(role="WON"), statuses.get(role="LOST")
    owner = logged_in_client(owner_of(organization))
    page = send(owner, "set_outcome_selected", rows)
    edit_appointment(organization=organization, actor=owner_actor(organization), appointment=rows[0], outcome=won)

    response = answer_page(owner, page, "set_outcome_selected", lost.pk)

    left, marked = shown_messages(response)
    assert left == "Left out 1: changed since you opened the page."
    assert marked.startswith("1 marked as Lost.")
    assert [row.outcome for row in Appointment.objects.of(organization).order_by("external_reference")] == [won, lost]


def test_a_selected_row_that_the_view_no_longer_has_is_named(rows: list[Appointment], organization: Organization):
    owner = logged_in_client(owner_of(organization))
    page = send(owner, "cancel_selected", rows, query="view=upcoming")
    Appointment.objects.of(organization).filter(pk=rows[0].pk).update(schedule_time=now() - timedelta(days=1))

    response = answer_page(owner, page, "cancel_selected", query="view=upcoming")

    assert shown_messages(response) == [
        "Left out 1: changed since you opened the page.",
        "1 appointment canceled.",
    ]


def test_appointments_that_are_canceled_already_are_not_counted_as_canceled(
    rows: list[Appointment], organization: Organization
):
    owner = logged_in_client(owner_of(organization))
    send(owner, "cancel_selected", rows[:1], "yes")

    again, both = (send(owner, "cancel_selected", selected, "yes") for selected in (rows[:1], rows))

    assert shown_messages(again)[-1] == "Left out 1: canceled already."
    assert shown_messages(both)[-2:] == ["Left out 1: canceled already.", "1 appointment canceled."]
    assert Event.objects.of(organization).filter(type="appointment.canceled").count() == 2
    assert LogEntry.objects.filter(object_id=str(rows[0].pk)).count() == 1


def test_back_leads_to_the_list_as_it_was(rows: list[Appointment], organization: Organization):
    owner = logged_in_client(owner_of(organization))

    page = send(owner, "cancel_selected", rows, query="view=all&q=ada&p=1").content.decode()

    assert f'href="{admin_url(Appointment, "changelist")}?view=all&amp;q=ada&amp;p=1"' in page


def test_a_question_that_is_shown_again_remembers_what_was_shown_first(
    rows: list[Appointment], organization: Organization
):
    owner = logged_in_client(owner_of(organization))
    won = Status.objects.of(organization).get(role="WON")
    page = send(owner, "set_outcome_selected", rows)
    edit_appointment(organization=organization, actor=owner_actor(organization), appointment=rows[0], outcome=won)

    again = answer_page(owner, page, "set_outcome_selected", "")

    assert len(versions_on(page)) == 2
    assert versions_on(again) == versions_on(page)


@pytest.mark.parametrize("role", ["host", "setter"])
def test_the_members_of_selected_appointments(role: str, rows: list[Appointment], organization: Organization):
    member = make_member(organization, "new@acme.example")

    send(logged_in_client(owner_of(organization)), f"set_{role}_selected", rows, member.pk)

    assert {getattr(row, role) for row in Appointment.objects.of(organization)} == {member}


def test_the_status_and_the_setter_of_selected_leads(rows: list[Appointment], organization: Organization):
    leads, lost = list(Lead.objects.of(organization)), Status.objects.of(organization).get(role="LOST")
    member, owner = make_member(organization, "new@acme.example"), logged_in_client(owner_of(organization))

    send(owner, "set_status_selected", leads, lost.pk)
    send(owner, "set_setter_selected", leads, member.pk)

    assert {(lead.status, lead.setter) for lead in Lead.objects.of(organization)} == {(lost, member)}


def test_an_action_that_takes_too_long_leaves_the_rest(
    rows: list[Appointment], organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bulk, "MAX_SECONDS", 0)
    won = Status.objects.of(organization).get(role="WON")

    response = send(logged_in_client(owner_of(organization)), "set_outcome_selected", rows, won.pk)

    stopped = "Stopped after 0 seconds: 2 of 2 are unchanged. Select them again."
    assert shown_messages(response) == [stopped]
    assert not Appointment.objects.of(organization).filter(outcome=won).exists()


def test_a_lead_that_someone_else_takes_or_erases_meanwhile_is_left_as_it_is(
    rows: list[Appointment], organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    tom, grace = (make_member(organization, f"{name}@acme.example", role=MemberRole.SETTER) for name in ("tom", "amy"))
    make_api(organization).submit(email="carl@example.com")
    leads = {str(lead.email)[:3]: lead for lead in Lead.objects.of(organization)}
    lock_row, actor = bulk.lock_row, owner_actor(organization)

    def act_before_the_last_two(among: Any, row: Any) -> Any:
        if not Lead.objects.of(organization).filter(setter=grace):
            edit_lead(organization=organization, actor=actor, lead=leads["bob"], setter=grace)
            request_erasure(organization=organization, actor=actor, lead_id=leads["car"].pk)
        return lock_row(among, row)

    monkeypatch.setattr(bulk, "lock_row", act_before_the_last_two)
    response = send(logged_in_client(tom), "set_setter_selected", [*leads.values()], tom.pk)

    assert shown_messages(response)[0] == "Left out 2: changed since you opened the page."
    assert [Lead.objects.of(organization).get(pk=leads[name].pk).setter for name in ("ada", "bob", "car")] == [
        tom,
        grace,
        None,
    ]
    assert not LogEntry.objects.filter(object_id__in=[leads["bob"].pk, leads["car"].pk]).exists()


def test_a_closer_undoes_nothing_on_a_lead_that_was_given_to_a_colleague(organization: Organization):
    """A colleague who gave the lead away can take it back."""
    tom, grace = (make_member(organization, f"{name}@acme.example", role=MemberRole.SETTER) for name in ("tom", "amy"))
    make_api(organization).submit(email="ada@example.com")
    lead, lost = Lead.objects.of(organization).get(), Status.objects.of(organization).get(role="LOST")
    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, setter=tom)
    client = logged_in_client(tom)

    changed = send(client, "set_status_selected", [lead], lost.pk)
    given = send(client, "set_setter_selected", [lead], grace.pk)
    said = shown_messages(client.post(list_url(Lead), undo_of(changed)))[-1]
    left = Lead.objects.of(organization).get()
    client.post(list_url(Lead), undo_of(given))

    assert said.startswith("Undone for 0.")
    assert (left.status, left.setter) == (lost, grace)
    assert Lead.objects.of(organization).get().setter == tom


def test_somebody_who_has_become_a_viewer_undoes_nothing(organization: Organization, other_organization: Organization):
    """Although they may change leads of another organization."""
    tom, grace = (make_member(organization, f"{name}@acme.example", role=MemberRole.SETTER) for name in ("tom", "amy"))
    add_member(organization=other_organization, user=tom.user, role=MemberRole.MANAGER)
    make_api(organization).submit(email="ada@example.com")
    lead = Lead.objects.of(organization).get()
    client = logged_in_client(tom)
    given = send(client, "set_setter_selected", [lead], grace.pk)
    change_member(actor=owner_actor(organization), member=tom, role=MemberRole.VIEWER)

    client.post(list_url(Lead), undo_of(given))

    assert Lead.objects.of(organization).get().setter == grace


def test_undoing_gives_no_lead_to_a_member_who_has_become_a_viewer(organization: Organization):
    tom, grace = (make_member(organization, f"{name}@acme.example", role=MemberRole.SETTER) for name in ("tom", "amy"))
    make_api(organization).submit(email="ada@example.com")
    lead, owner = Lead.objects.of(organization).get(), logged_in_client(owner_of(organization))
    edit_lead(organization=organization, actor=owner_actor(organization), lead=lead, setter=tom)
    given = send(owner, "set_setter_selected", [lead], grace.pk)
    change_member(actor=owner_actor(organization), member=tom, role=MemberRole.VIEWER)

    said = shown_messages(owner.post(list_url(Lead), undo_of(given)))

    assert Lead.objects.of(organization).get().setter == grace
    assert said[-2:] == [f"{lead}: The former setter can't be assigned any more", "Undone for 0."]


def test_a_change_of_several_rows_is_undone_from_its_message(rows: list[Appointment], organization: Organization):
    """Setter with the next steps, status, and outcome with the leads' status. What has changed since stays."""
    owner, stranger = logged_in_client(owner_of(organization)), make_member(organization, "x@acme.example")
    leads, member = list(Lead.objects.of(organization)), make_member(organization, "new@acme.example")
    retired = make_status(organization, "Retired", is_active=False)
    Lead.objects.of(organization).filter(pk=leads[1].pk).update(status=retired)
    actor = owner_actor(organization)
    set_next_step(organization=organization, actor=actor, lead_id=leads[0].pk, at=now(), type="CALL", owner=None)
    lost, won = (Status.objects.of(organization).get(role=role) for role in ("LOST", "WON"))
    before = state_of(organization)

    for action, selected, value in [
        ("set_setter_selected", leads, member.pk),
        ("set_status_selected", leads, lost.pk),
        ("set_outcome_selected", rows, won.pk),
    ]:
        response = send(owner, action, selected, value)
        changed = state_of(organization)
        assert logged_in_client(stranger).post(list_url(type(selected[0])), undo_of(response)).status_code == 403
        undone = owner.post(list_url(type(selected[0])), undo_of(response))
        assert shown_messages(undone)[-1] == "Undone for 2."
        assert changed != before == state_of(organization)
    changes = LeadStatusChange.objects.of(organization).exclude(from_status=None)
    assert [*changes.values_list("is_undone", flat=True)] == [True] * 8

    response = send(owner, "set_setter_selected", leads, member.pk)
    edit_lead(organization=organization, actor=actor, lead=leads[0], setter=stranger)
    undone = owner.post(list_url(Lead), undo_of(response))
    assert shown_messages(undone)[-1] == "Undone for 1. 1 had changed since and stay as they are."
    assert {lead.setter for lead in Lead.objects.of(organization)} == {stranger, None}


def test_an_outcome_that_cannot_be_undone_is_not_said_to_have_changed(organization: Organization):
    api, owner = make_api(organization), logged_in_client(owner_of(organization))
    for reference in ("booked", "canceled"):
        api.book(external_reference=reference, lead_email=f"{reference}@example.com")
    api.cancel(external_reference="canceled")
    no_show = Status.objects.of(organization).get(role="NO_SHOW")
    response = send(owner, "set_outcome_selected", [*Appointment.objects.of(organization)], no_show.pk)

    refused, said = shown_messages(owner.post(list_url(Appointment), undo_of(response)))[-2:]

    assert "This can't be undone, because people were notified" in refused
    assert said == "Undone for 1."


def test_a_call_that_was_booked_again_and_announced_is_not_undone(organization: Organization):
    api, owner = make_api(organization), logged_in_client(owner_of(organization))
    for reference in ("missed", "won"):
        api.book(external_reference=reference, lead_email=f"{reference}@example.com")
        appointment = Appointment.objects.of(organization).get(external_reference=reference)
        outcome = Status.objects.of(organization).get(role="NO_SHOW" if reference == "missed" else "WON")
        edit_appointment(
            organization=organization, actor=owner_actor(organization), appointment=appointment, outcome=outcome
        )
    mails = notifications_of(organization)
    booked = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED")
    response = send(owner, "set_outcome_selected", [*Appointment.objects.of(organization)], booked.pk)

    refused, said = shown_messages(owner.post(list_url(Appointment), undo_of(response)))[-2:]

    assert len(notifications_of(organization)) == len(mails) + 1
    assert "This can't be undone, because people were notified" in refused
    assert said == "Undone for 1."
    rows = Appointment.objects.of(organization).order_by("external_reference")
    assert list(rows.values_list("outcome__role", flat=True)) == ["APPOINTMENT_BOOKED", "WON"]


def test_undoing_outcomes_keeps_a_status_that_was_set_meanwhile_and_undoes_each_call_of_a_lead(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    api = make_api(organization)
    for reference in ("first", "second"):
        api.book(lead_email="ada@example.com", external_reference=reference, schedule_time="2026-01-05T10:00:00Z")
    calls, lead = list(Appointment.objects.of(organization)), Lead.objects.of(organization).get()
    no_show, unqualified = (Status.objects.of(organization).get(role=role) for role in ("NO_SHOW", "UNQUALIFIED"))
    owner, lock_row, actor = logged_in_client(owner_of(organization)), bulk.lock_row, owner_actor(organization)

    def change_the_status_first(among: Any, row: Any) -> Any:
        if not Appointment.objects.of(organization).filter(outcome=no_show).exists():
            change_status(organization=organization, actor=actor, lead_id=lead.pk, status_id=unqualified.pk)
        return lock_row(among, row)

    monkeypatch.setattr(bulk, "lock_row", change_the_status_first)
    response = send(owner, "set_outcome_selected", calls, no_show.pk)
    undone = owner.post(list_url(Appointment), undo_of(response))

    assert shown_messages(undone)[-1] == "Undone for 2."
    assert {call.outcome.role for call in Appointment.objects.of(organization)} == {"APPOINTMENT_BOOKED"}
    assert Lead.objects.of(organization).get().status == unqualified


def test_a_follow_up_of_selected_appointments_asks_when(
    rows: list[Appointment], organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    owner, follow_up = logged_in_client(owner_of(organization)), Status.objects.of(organization).get(role="FOLLOW_UP")
    before = state_of(organization)

    question = send(owner, "set_outcome_selected", rows).context["question"]
    when = {"next_step_at_0": "2030-01-05", "next_step_at_1": "9:30"}
    with monkeypatch.context() as patched:
        patched.setattr(NextStep, "MAX_OPEN", 0)
        refused = send(owner, "set_outcome_selected", rows, follow_up.pk, **when)
    assert "Mark one as done first." in shown_messages(refused)[0]
    assert state_of(organization) == before  # neither the step nor the outcome
    response = send(owner, "set_outcome_selected", rows, follow_up.pk, **when)

    assert "2 of these calls are still to come." in question
    steps = NextStep.objects.of(organization).values_list("lead", "at", "owner")
    at = datetime(2030, 1, 5, 9, 30, tzinfo=UTC)
    assert set(steps) == {(row.lead_id, at, owner_of(organization).pk) for row in rows}
    assert {lead.status for lead in Lead.objects.of(organization)} == {follow_up}
    undone = owner.post(list_url(Appointment), undo_of(response))
    assert shown_messages(undone)[-1] == "Undone for 2."
    assert state_of(organization) == before
    # A step that a colleague has changed since, or that is done, stays.
    response = send(owner, "set_outcome_selected", rows, follow_up.pk, **when)
    (changed, done) = NextStep.objects.of(organization).order_by("lead__email")
    by: dict[str, Any] = {"organization": organization, "actor": owner_actor(organization)}
    change_next_step(**by, lead_id=changed.lead_id, step_id=changed.pk, at=changed.at, type="EMAIL")
    finish_next_step(**by, lead_id=done.lead_id, step_id=done.pk)
    undone = owner.post(list_url(Appointment), undo_of(response))
    assert shown_messages(undone)[-1] == "Undone for 2."
    assert NextStep.objects.of(organization).get(pk=changed.pk).type == "EMAIL"
    assert NextStep.objects.of(organization).count() == 2


def undo_of(response: Any) -> dict[str, str]:
    """Return what the button in the message sends."""
    (value,) = re.findall('name="undo_selected" value="([^"]+)"', shown_messages(response)[-1])
    return {"undo_selected": value}


def state_of(organization: Organization) -> list[list[Any]]:
    """Return what the actions change."""
    columns = {
        Lead: ("pk", "status", "status_since", "setter"),
        Appointment: ("pk", "outcome", "outcome_since", "no_show"),
        NextStep: ("pk", "owner"),
    }
    return [sorted(model.objects.of(organization).values_list(*names)) for model, names in columns.items()]


def test_rows_that_a_closer_may_not_change_are_skipped(
    rows: list[Appointment], organization: Organization, host: Membership
):
    closer = make_member(organization, "cleo@acme.example", role=MemberRole.CLOSER)
    Appointment.objects.of(organization).filter(pk=rows[0].pk).update(host=closer)
    Appointment.objects.of(organization).filter(pk=rows[1].pk).update(host=host)

    response = send(logged_in_client(closer), "set_setter_selected", rows, closer.pk)

    assert shown_messages(response) == [
        "Skipped 1: you may not change them.",
        "1 appointment now has cleo@acme.example as setter.",
    ]
    assert [Appointment.objects.of(organization).get(pk=row.pk).setter for row in rows] == [closer, None]


def test_a_value_of_another_organization_is_refused(
    rows: list[Appointment], organization: Organization, other_organization: Organization
):
    stranger = owner_of(other_organization)

    response = send(logged_in_client(owner_of(organization)), "set_host_selected", rows, stranger.pk)

    assert response.status_code == 200
    assert response.context["form"].errors
    assert not Appointment.objects.of(organization).filter(host=stranger).exists()


def test_a_follow_up_of_several_rows_that_is_sent_twice_adds_one_next_step_for_each_lead(
    organization: Organization, api: ApiClient
):
    owner = logged_in_client(owner_of(organization))
    ids = [book(api, "ada@example.com", reference) for reference in ("a", "b")]
    follow_up = Status.objects.of(organization).get(role="FOLLOW_UP")
    form = {"action": "set_outcome_selected", "_selected_action": ids, "confirmed": "yes", "value": follow_up.pk}
    form |= {"next_step_at_0": "2027-12-21", "next_step_at_1": "10:00"}

    for _ in range(2):
        owner.post(list_url(Appointment), form)

    assert NextStep.objects.of(organization).count() == 1


def test_more_rows_than_can_be_changed_at_once_are_refused_before_the_question(
    organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    owner = logged_in_client(owner_of(organization))
    monkeypatch.setattr("staff.toolkit.bulk.MAX_SELECTED", 2)
    ids = [make_lead(api, f"{number}@example.com") for number in range(3)]

    response = owner.post(list_url(Lead), {"action": "set_status_selected", "_selected_action": ids}, follow=True)

    assert shown_messages(response)[-1] == "3 rows are selected. Select at most 2 at a time."
