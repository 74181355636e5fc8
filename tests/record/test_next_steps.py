"""Next steps: several a lead, each with an owner, in whose lists they are, and what becomes of them (docs/staff.md)."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.test import Client

from appointments.services import finish_next_step, set_next_step
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from leads.models import Lead, NextStep
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import events_of, make_api, make_member, owner_actor
from tests.merging.leads import make_lead, merge, undo
from tests.record.test_lead_page import action_url, page_url
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages

HOME = "/admin/"


@pytest.fixture
def grace(organization: Organization) -> Membership:
    return make_member(organization, "grace@acme.example", role=MemberRole.SETTER, first_name="Grace")


@pytest.fixture
def tom(organization: Organization) -> Membership:
    return make_member(organization, "tom@acme.example", role=MemberRole.SETTER, first_name="Tom")


@pytest.fixture
def fatima(organization: Organization) -> Lead:
    """A lead that nobody is responsible for."""
    return Lead.objects.of(organization).get(pk=make_lead(make_api(organization), "fatima@leads.example"))


def add_step(lead: Lead, owner: Membership | None, days: float = 0, **values: str) -> NextStep:
    """Add a step that is due after these days."""
    values = {"type": "CALL", **values}
    at, actor = now() + timedelta(days=days), owner_actor(lead.organization)
    return set_next_step(organization=lead.organization, actor=actor, lead_id=lead.pk, at=at, owner=owner, **values)


def due_on_home(member: Membership, who: str = "mine") -> list[str]:
    lists = logged_in_client(member).get(HOME, {"who": who}).context["lists"]
    [steps] = [each for each in lists if each.kind == "next_steps"]
    return [row.email for row, _ in steps.rows]


def mine_to_work(member: Membership) -> list[str]:
    rows = logged_in_client(member).get(admin_url(Lead, "changelist")).context["cl"].result_list
    return [row.email for row in rows]


def test_a_step_on_an_unassigned_lead_is_in_the_lists_of_whoever_sets_it(
    fatima: Lead, grace: Membership, tom: Membership
) -> None:
    client, today = logged_in_client(grace), now() - timedelta(minutes=1)
    form = form_data(client, action_url(fatima, "set_next_step"))
    client.post(action_url(fatima, "set_next_step"), form | {"at": today.strftime("%Y-%m-%dT%H:%M")})

    assert fatima.next_steps.get().owner == grace
    assert [due_on_home(member) for member in (grace, tom)] == [[fatima.email], []]
    assert [mine_to_work(member) for member in (grace, tom)] == [[fatima.email], []]
    assert due_on_home(tom, "team") == [fatima.email]


@pytest.mark.parametrize("few", [0, 1, 2])
def test_few_and_many_own_steps_are_found_alike(
    api: ApiClient, organization: Organization, grace: Membership, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "ab", "abc"):
        lead = Lead.objects.of(organization).get(pk=make_lead(api, f"{name}@leads.example"))
        add_step(lead, grace, days=-len(name))
    monkeypatch.setattr("appointments.conditions.FEW", few)

    assert mine_to_work(grace) == ["abc@leads.example", "ab@leads.example", "a@leads.example"]
    assert sorted(due_on_home(grace)) == ["a@leads.example", "ab@leads.example", "abc@leads.example"]


def test_a_lead_with_many_open_steps_says_where_the_later_ones_are(
    fatima: Lead, grace: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("staff.leads.next_steps.MAX_SHOWN", 2)
    client, pages = logged_in_client(grace), []
    for days in (1, 2, 3):
        add_step(fatima, grace, days=days, note=f"step {days}")
        pages.append(client.get(page_url(fatima)).content.decode())

    assert ["The later ones are in the timeline." in page for page in pages] == [False, False, True]
    assert pages[2].partition("The later ones")[0].count("step 3") == 0


def test_a_colleagues_step_is_not_mine_though_the_lead_is(
    fatima: Lead, organization: Organization, grace: Membership, tom: Membership
) -> None:
    Lead.objects.of(organization).update(setter=grace)
    add_step(fatima, tom, days=-1)
    shown = [mine_to_work(member) for member in (grace, tom)]
    add_step(fatima, None, days=-0.5)

    assert shown == [[], [fatima.email]]
    assert mine_to_work(grace) == [fatima.email]  # a step of no one is up to who follows the lead


def test_the_earliest_open_step_is_the_leads(api: ApiClient, fatima: Lead, grace: Membership) -> None:
    later, first = add_step(fatima, grace, 3, note="Contract"), add_step(fatima, None, 1, type="EMAIL")
    lead = api.get_lead(str(fatima.pk))
    client, urls = logged_in_client(grace), [action_url(fatima, f"{act}_next_step") for act in ("finish", "change")]

    shown = client.get(page_url(fatima)).content.decode()
    client.post(urls[0], {"step": first.pk})
    afterwards = api.get_lead(str(fatima.pk))
    link = f"{urls[1]}?step={later.pk}"
    client.post(link, form_data(client, link) | {"at": "2090-01-05T10:00", "owner": ""})

    assert (lead["next_step_type"], lead["next_touch_point_type"]) == ("EMAIL", "EMAIL")
    assert "Contract · Grace" in shown
    assert (afterwards["next_step_note"], afterwards["next_touch_point_type"]) == ("Contract", "CALL")
    later.refresh_from_db()
    changed = api.get_lead(str(fatima.pk))
    assert (later.owner, later.at.isoformat()) == (None, "2090-01-05T10:00:00+00:00")
    assert changed["next_step_at"] == changed["next_touch_point_at"] == "2090-01-05T10:00:00.000Z"
    assert events_of(fatima.organization).count("lead.updated") == 4


def test_who_has_a_step_may_do_it_on_a_colleagues_lead(
    fatima: Lead, organization: Organization, grace: Membership, tom: Membership
) -> None:
    Lead.objects.of(organization).update(setter=tom)
    client = logged_in_client(grace)
    refused = client.post(action_url(fatima, "finish_next_step"))
    step = add_step(fatima, grace)

    response = client.post(action_url(fatima, "finish_next_step"), {"step": step.pk})

    step.refresh_from_db()
    assert (refused.status_code, response.status_code, step.done_by) == (403, 302, "Grace")


def test_a_change_that_a_colleague_has_made_since_the_page_was_opened_is_not_overwritten(
    fatima: Lead, grace: Membership, organization: Organization
) -> None:
    manager = make_member(organization, "mia@acme.example", role=MemberRole.MANAGER)
    step, client = add_step(fatima, grace, days=1), logged_in_client(manager)
    url = action_url(fatima, "change_next_step")
    first, second = (form_data(client, url) for _ in range(2))
    client.post(url, first | {"note": "Needs the contract"})

    refused = client.post(url, second | {"type": "EMAIL"})

    done = client.post(action_url(fatima, "finish_next_step"), {"step": second["step"], "version": second["version"]})

    text = "Someone has changed this next step since you opened the page. Check it before you try again."
    assert form_errors(refused)[0] == text.removesuffix(".")
    assert shown_messages(done)[-1] == f"Next step is done: {text[0].lower()}{text[1:]}"
    step.refresh_from_db()
    assert step.done_at is None
    assert (step.type, step.note, step.owner) == ("CALL", "Needs the contract", grace)


@pytest.mark.parametrize("hands_over", [True, False])
def test_assigning_a_lead_asks_what_becomes_of_its_steps(
    owner: Client, fatima: Lead, organization: Organization, grace: Membership, tom: Membership, hands_over: bool
) -> None:
    """In the list and in the form."""
    steps = [add_step(fatima, member) for member in (None, grace, tom)]
    Lead.objects.of(organization).update(setter=grace)
    answer = {"hand_over_steps": "on"} if hands_over else {}

    chosen = {"action": "set_setter_selected", "_selected_action": str(fatima.pk)}
    page = owner.post(admin_url(Lead, "changelist"), chosen).content.decode()
    owner.post(admin_url(Lead, "changelist"), chosen | {"value": tom.pk, "confirmed": "yes", **answer})
    by_list = [NextStep.objects.of(organization).get(pk=step.pk).owner for step in steps]
    form = form_data(owner, page_url(fatima))
    owner.post(
        page_url(fatima), {k: v for k, v in form.items() if k != "hand_over_steps"} | {"setter": grace.pk, **answer}
    )
    by_form = [NextStep.objects.of(organization).get(pk=step.pk).owner for step in steps]

    assert "The new setter takes over the next steps" in page
    assert "hand_over_steps" in form
    assert by_list == ([tom, tom, tom] if hands_over else [None, grace, tom])
    assert by_form == ([grace, grace, grace] if hands_over else [None, grace, tom])


def test_a_lead_has_so_many_open_steps_that_pages_can_show_them(
    api: ApiClient, fatima: Lead, grace: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NextStep, "MAX_OPEN", 2)
    add_step(fatima, grace), add_step(fatima, grace, 1)
    client, url = logged_in_client(grace), action_url(fatima, "set_next_step")
    data = form_data(client, url) | {"at": "2027-01-05T10:00"}

    refused = client.post(url, data)
    client.post(action_url(fatima, "finish_next_step"))
    accepted = [client.post(url, data).status_code for _ in range(2)]  # sent twice, it is the same step
    other_time = client.post(url, data | {"at": "2027-01-06T10:00"})

    assert form_errors(refused) == ["A lead can have at most 2 open next steps. Mark one as done first."]
    assert accepted == [302, 302]
    assert "Another next step was added with this form before" in form_errors(other_time)[0]
    assert fatima.next_steps.filter(done_at=None).count() == 2
    other = Lead.objects.of(fatima.organization).get(pk=make_lead(api, "fatima@work.example"))
    add_step(other, grace)
    with pytest.raises(Conflict, match="A lead can have at most 2 open next steps"):
        merge(fatima.organization, fatima.pk, other.pk)


def test_merged_leads_have_the_steps_of_both_until_it_is_undone(
    api: ApiClient, fatima: Lead, organization: Organization, grace: Membership
) -> None:
    other = Lead.objects.of(organization).get(pk=make_lead(api, "fatima@work.example"))
    later, first = add_step(fatima, grace, 2), add_step(other, grace, 1)
    before = [api.get_lead(str(lead.pk))["next_step_at"] for lead in (fatima, other)]

    merged = merge(organization, fatima.pk, other.pk)
    steps = list(fatima.next_steps.all())
    undo(organization, other.pk)

    assert (steps, merged.next_step_at) == ([first, later], first.at)
    assert [api.get_lead(str(lead.pk))["next_step_at"] for lead in (fatima, other)] == before
    assert [list(lead.next_steps.all()) for lead in (fatima, other)] == [[later], [first]]


@pytest.mark.parametrize("is_merged", [True, False])
def test_undoing_a_merge_brings_no_date_of_a_step_back_that_was_done_since(
    is_merged: bool, api: ApiClient, fatima: Lead, organization: Organization, grace: Membership
) -> None:
    """It isn't the earliest of the kept lead, so it doesn't show in the lead, and no event tells."""
    other = Lead.objects.of(organization).get(pk=make_lead(api, "fatima@work.example"))
    step = add_step(other, grace, 2) if is_merged else add_step(fatima, grace, 2)
    add_step(fatima if is_merged else other, grace, 1)
    merge(organization, fatima.pk, other.pk)
    finish_next_step(organization=organization, actor=SYSTEM, lead_id=fatima.pk, step_id=step.pk)

    undo(organization, other.pk)

    lead = Lead.objects.of(organization).get(pk=other.pk if is_merged else fatima.pk)
    assert (lead.next_step_at, lead.next_touch_point_at, lead.next_touch_point_type) == (None, None, None)


def test_the_offered_time_is_a_full_hour_and_a_form_that_is_sent_twice_adds_one_step(
    fatima: Lead, grace: Membership
) -> None:
    client, url = logged_in_client(grace), action_url(fatima, "set_next_step")
    with time_machine.travel(datetime(2026, 11, 27, 12, 0, 30, 250_000, UTC), tick=False) as clock:
        data = form_data(client, url)
        first = client.post(url, data)
        clock.shift(1.2)
        second = client.post(url, data)

    assert (first.status_code, second.status_code) == (302, 302)
    assert [step.at.isoformat() for step in fatima.next_steps.all()] == ["2026-11-28T10:00:00+00:00"]


def test_an_earlier_date_that_staff_have_set_stays_beside_a_next_step(api: ApiClient, fatima: Lead) -> None:
    """L13"""
    soon = now() + timedelta(days=2)
    Lead.unscoped.filter(pk=fatima.pk).update(next_touch_point_at=soon, next_touch_point_type="EMAIL")

    add_step(fatima, None, days=20)

    lead = api.get_lead(str(fatima.pk))
    assert (lead["next_touch_point_type"], lead["next_step_type"]) == ("EMAIL", "CALL")
    assert lead["next_touch_point_at"] < lead["next_step_at"]
    add_step(fatima, None, days=1)
    assert api.get_lead(str(fatima.pk))["next_touch_point_type"] == "CALL"


def test_a_step_that_could_not_be_done_is_not_in_the_history_as_done(fatima: Lead, grace: Membership) -> None:
    add_step(fatima, grace, days=1)
    client, url = logged_in_client(grace), action_url(fatima, "finish_next_step")
    client.post(url, form_data(client, url) | {"version": "of before"})

    assert LogEntry.objects.filter(object_id=str(fatima.pk), change_message__contains="done").count() == 0
    assert fatima.next_steps.get().done_at is None


def test_a_step_that_a_colleague_has_finished_is_not_taken_for_another_one(owner: Client, fatima: Lead) -> None:
    first, second = add_step(fatima, None, 1), add_step(fatima, None, 2)
    finish_next_step(
        organization=fatima.organization, actor=owner_actor(fatima.organization), lead_id=fatima.pk, step_id=second.pk
    )

    response = owner.get(f"{admin_url(Lead, 'change_next_step', fatima.pk)}?step={second.pk}")

    assert response.status_code == 302
    assert "this next step is not open any more. Nothing was changed." in shown_messages(response)[-1]
    assert f'value="{first.pk}"' in owner.get(admin_url(Lead, "change_next_step", fatima.pk)).content.decode()
