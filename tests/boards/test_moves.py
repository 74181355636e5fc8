"""Moving cards: through the services, by those who may, and never over somebody else's move."""

import re
from datetime import UTC, timedelta
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from appointments import reports
from appointments.models import Appointment
from appointments.services import edit_appointment
from foundation.db.timestamps import now
from leads.models import Lead, LeadStatusChange
from leads.services import change_status
from notifications.models import Notification
from organizations.models import MemberRole, Membership, Organization
from statuses.models import Status
from tests.boards.pages import JSON, lead_named, move, move_data, open_board, status_named
from tests.client import ApiClient
from tests.factories import events_of, make_member, make_status, notifications_of, owner_actor, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client, shown_messages

UNDO = re.compile('formaction="([^"]+)" name="([^"]+)" value="([^"]+)"')


@pytest.fixture
def lead(organization: Organization, api: ApiClient) -> Lead:
    """Ada, a new lead."""
    api.submit(email="ada@example.com", first_name="Ada")
    return lead_named(organization, "Ada")


@pytest.fixture
def appointment(organization: Organization, api: ApiClient, host: Membership) -> Appointment:
    """A booked appointment of Ada with Hana."""
    api.book(external_reference="1", lead_email="ada@example.com", lead_first_name="Ada", host_email=host.user.email)
    return Appointment.objects.of(organization).get()


def test_a_move_changes_the_status_with_history_and_event(manager: Client, organization: Organization, lead: Lead):
    won = status_named(organization, "Won")

    response = move(manager, lead, lead.status, won)

    answer = response.json()
    assert (response.status_code, answer["state"], answer["message"], answer["column"]) == (
        200,
        "moved",
        "Ada moved to Won.",
        str(won.pk),
    )
    assert f'data-position="{lead.pk}:{won.pk}"' in answer["card"]
    lead.refresh_from_db()
    assert lead.status == won
    assert LeadStatusChange.objects.of(organization).order_by("-created_at").first().actor_name == "Mia May"
    assert "lead.status_changed" in events_of(organization)


def test_without_script_a_page_asks_where_to_and_leads_back_to_the_same_board(
    manager: Client, organization: Organization, lead: Lead
):
    page = open_board(manager, Lead, "q=ada").content.decode()
    won = status_named(organization, "Won")
    data = move_data(lead, lead.status, won, "layout=board&q=ada")
    target = f"to-{lead.pk}"

    question = manager.post(admin_url(Lead, "move"), {name: data[name] for name in ("card", "query")})
    form = question.content.decode()
    response = manager.post(admin_url(Lead, "move"), dict(question.context["hidden"]) | {target: data[target]})

    assert f'name="card" value="{data["card"]}"' in page
    assert f'name="{target}"' in form
    assert f'<option value="{won.pk}"' in form
    assert 'name="confirmed"' not in form
    assert response.headers["Location"] == f"{admin_url(Lead, 'changelist')}?layout=board&q=ada"
    [message] = shown_messages(response)
    assert message.startswith('Ada moved to Won. <button class="undo"')
    lead.refresh_from_db()
    assert lead.status == won


def test_the_list_of_statuses_is_on_the_page_once_and_not_in_each_card(manager: Client, lead: Lead):
    page = open_board(manager, Lead).content.decode()
    cards = open_board(manager, Lead, f"column={lead.status_id}&offset=0").content.decode()

    assert page.count('<template id="board-targets"><label>Move to <select>') == 1
    assert ("data-movable" in cards, "<option" in cards) == (True, False)


def test_a_card_that_somebody_else_has_moved_is_not_moved_again(
    manager: Client, organization: Organization, lead: Lead
):
    seen, lost = lead.status, status_named(organization, "Lost")
    change_status(organization=organization, actor=owner_actor(organization), lead_id=lead.pk, status_id=lost.pk)
    before = snapshot_of(organization)

    response = move(manager, lead, seen, status_named(organization, "Won"))

    answer = response.json()
    assert (response.status_code, answer["state"], answer["column"]) == (409, "overtaken", str(lost.pk))
    assert answer["message"].startswith("owner@acme.example has moved Ada to Lost meanwhile (")
    assert snapshot_of(organization) == before


def test_the_same_move_twice_changes_once(manager: Client, organization: Organization, lead: Lead):
    won = status_named(organization, "Won")
    move(manager, lead, lead.status, won)

    again = move(manager, lead, lead.status, won)

    assert again.json()["state"] == "moved"
    assert events_of(organization).count("lead.status_changed") == 1


@pytest.mark.parametrize("role", MemberRole)
def test_only_those_who_may_write_the_row_move_it(organization: Organization, lead: Lead, role: MemberRole):
    client = logged_in_client(make_member(organization, "new@acme.example", role=role))
    somebody = make_member(organization, "sam@acme.example")
    Lead.objects.of(organization).update(setter=somebody)
    may_move = role in (MemberRole.OWNER, MemberRole.MANAGER, MemberRole.SALES_OPS)
    page = open_board(client, Lead).content.decode()
    before = snapshot_of(organization)

    response = move(client, lead, lead.status, status_named(organization, "Won"))

    assert ("data-movable" in page, response.status_code == 200) == (may_move, may_move)
    assert (snapshot_of(organization) != before) == may_move
    if not may_move:
        assert (response.status_code, response.json()["message"][:17]) == (403, "You may not move ")


def test_a_closer_moves_an_own_lead(closer: Client, host: Membership, organization: Organization, lead: Lead):
    Lead.objects.of(organization).update(setter=host)

    assert move(closer, lead, lead.status, status_named(organization, "Won")).json()["state"] == "moved"


@pytest.mark.parametrize("target", ["other board", "retired", "other organization", "nonsense", ""])
def test_other_targets_than_the_columns_are_refused(
    manager: Client, organization: Organization, other_organization: Organization, lead: Lead, target: str
):
    targets: dict[str, Status | str] = {
        "other board": make_status(organization, "Other board", type="APPOINTMENT"),
        "retired": make_status(organization, "Retired", is_active=False),
        "other organization": status_named(other_organization, "Won"),
    }
    before = snapshot_of(organization)

    response = move(manager, lead, lead.status, targets.get(target, target))

    assert (response.status_code, response.json()["state"]) == (403, "refused")
    assert response.json()["message"].startswith("Ada was not moved")
    assert "invalid fields" not in response.json()["message"]
    assert snapshot_of(organization) == before


def test_another_organizations_card_is_no_card(
    manager: Client, other_organization: Organization, other_api: ApiClient, organization: Organization
):
    other_api.submit(email="zed@example.com", first_name="Zed")
    zed = lead_named(other_organization, "Zed")
    before = snapshot_of(other_organization)

    response = move(manager, zed, zed.status, status_named(organization, "Won"))

    assert (response.status_code, response.json()["message"]) == (403, "There is no such lead any more.")
    assert snapshot_of(other_organization) == before


@pytest.mark.parametrize("data", [{}, {"card": ":"}, {"card": "x:y"}])
def test_a_request_without_a_card_changes_nothing(manager: Client, organization: Organization, data: dict[str, str]):
    assert manager.post(admin_url(Lead, "move"), data, headers=JSON).status_code == 403
    assert manager.get(admin_url(Lead, "move"), data).status_code == 302


def test_a_get_moves_nothing(manager: Client, organization: Organization, lead: Lead):
    before = snapshot_of(organization)

    manager.get(admin_url(Lead, "move"), move_data(lead, lead.status, status_named(organization, "Won")))

    assert snapshot_of(organization) == before


def test_csrf_is_checked(organization: Organization, lead: Lead):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_member(organization, "mo@acme.example", role=MemberRole.MANAGER).user)

    assert move(client, lead, lead.status, status_named(organization, "Won")).status_code == 403
    lead.refresh_from_db()
    assert lead.status.name == "New lead"


def test_an_outcome_that_tells_nobody_is_set_at_once_and_moves_the_lead(
    manager: Client, organization: Organization, appointment: Appointment
):
    Appointment.objects.of(organization).update(schedule_time=now() - timedelta(hours=1))

    response = move(manager, appointment, appointment.outcome, status_named(organization, "No-show"))

    appointment.refresh_from_db()
    assert (response.json()["state"], appointment.outcome.name, appointment.no_show) == ("moved", "No-show", True)
    assert lead_named(organization, "Ada").status.name == "No-show"
    assert "appointment.outcome_changed" in events_of(organization)


def test_a_move_is_undone_from_its_message(
    manager: Client, organization: Organization, lead: Lead, appointment: Appointment
):
    """An outcome's button also gives the lead its former status. Since when they have it is restored, too.

    The time in a status, on Home and in its list, doesn't count what was undone.
    """
    Appointment.objects.of(organization).update(schedule_time=now() - timedelta(days=1))
    since = now().replace(microsecond=0) - timedelta(days=40)
    Appointment.objects.of(organization).update(outcome_since=since)
    Lead.objects.of(organization).update(status_since=since)
    before = Appointment.objects.of(organization).select_related("lead").get()
    won = status_named(organization, "Won")
    today = reports.Period(timezone.localdate(), timezone.localdate(), UTC)
    times = reports.times_in_status(organization, today)

    of_lead = move(manager, lead, before.lead.status, status_named(organization, "Lost")).json()["undo"]
    lost = Lead.objects.of(organization).get()
    [(url, name, value)] = UNDO.findall(of_lead)
    undone = manager.post(unescape(url), {name: value})
    lead.refresh_from_db()
    of_outcome = move(manager, appointment, appointment.outcome, won).json()["undo"]
    moved = Appointment.objects.of(organization).select_related("lead").get()
    [(url, name, value)] = UNDO.findall(of_outcome)
    response = manager.post(unescape(url), {name: value})

    after = Appointment.objects.of(organization).select_related("lead").get()
    assert (lost.status.name, lost.status_since > since) == ("Lost", True)
    assert (shown_messages(undone)[-1], undone.url) == (
        "Undone for 1.",
        f"{admin_url(Lead, 'changelist')}?layout=board",
    )
    assert (lead.status, lead.status_since) == (before.lead.status, since)
    assert (moved.outcome, moved.lead.status) == (won, won)
    assert (after.outcome, after.lead.status) == (before.outcome, lead.status)
    assert (after.outcome_since, after.lead.status_since) == (since, since)
    assert response.url.startswith(admin_url(Appointment, "changelist"))
    assert "layout=board" in response.url
    assert reports.times_in_status(organization, today) == times
    for status in (before.lead.status, won):
        page = manager.get(admin_url(Lead, "changelist"), {"view": "all", "left_status": str(status.pk)})
        assert page.context["cl"].result_count == 0


def test_a_missed_call_that_a_move_books_again_offers_no_undo(
    manager: Client, organization: Organization, appointment: Appointment
):
    no_show, booked = status_named(organization, "No-show"), status_named(organization, "Appointment booked")
    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, outcome=no_show
    )
    mails = notifications_of(organization)

    answer = move(manager, appointment, no_show, booked).json()
    response = manager.post(answer["url"], form_data(manager, answer["url"]))

    assert len(notifications_of(organization)) == len(mails) + 1
    assert "Undo" not in shown_messages(response)[-1]


def test_an_outcome_of_a_call_that_is_still_to_come_is_asked_about(
    manager: Client, organization: Organization, appointment: Appointment
):
    answer = move(manager, appointment, appointment.outcome, status_named(organization, "No-show")).json()

    assert answer["state"] == "asks"
    assert manager.get(answer["url"]).context["question"] == "The call is still to come: Tue 5 Jan 2027, 10:00."


def test_a_move_to_follow_up_asks_when_the_next_step_is(
    manager: Client, organization: Organization, appointment: Appointment
):
    answer = move(manager, appointment, appointment.outcome, status_named(organization, "Follow-up")).json()

    page = manager.get(answer["url"])
    assert answer["state"] == "asks"
    assert "next_step_at" in page.context["form"].fields
    appointment.refresh_from_db()
    assert appointment.outcome.name == "Appointment booked"


def test_a_move_to_canceled_asks_on_the_page_that_cancels(
    manager: Client, organization: Organization, appointment: Appointment
):
    canceled = status_named(organization, "Canceled")
    before = snapshot_of(organization)

    data = move_data(appointment, appointment.outcome, canceled, "q=ada")
    answer = manager.post(admin_url(Appointment, "move"), data, headers=JSON).json()
    without_script = manager.post(admin_url(Appointment, "move"), data)

    url = f"{admin_url(Appointment, 'cancel', appointment.pk)}?board=q%3Dada"
    board = f"{admin_url(Appointment, 'changelist')}?q=ada&layout=board"
    page = manager.get(url)
    assert (answer["state"], answer["url"], without_script.headers["Location"]) == ("asks", url, url)
    assert snapshot_of(organization) == before
    assert "Hana Host" in page.content.decode()
    assert page.context["back_url"] == board  # where the button "Back" leads


def test_after_canceling_from_a_board_one_is_on_the_board_again(manager: Client, appointment: Appointment):
    url = admin_url(Appointment, "cancel", appointment.pk)

    response = manager.post(f"{url}?board=q%3Dada", form_data(manager, url))

    assert response.headers["Location"] == f"{admin_url(Appointment, 'changelist')}?q=ada&layout=board"
    assert f'href="{admin_url(Appointment, "change", appointment.pk)}"' in shown_messages(response)[-1]
    assert "is canceled. Hana Host gets a cancellation by e-mail" in shown_messages(response)[-1]


def test_a_move_that_books_again_says_who_is_invited_and_then_invites(
    manager: Client, organization: Organization, api: ApiClient, appointment: Appointment
):
    api.cancel(external_reference="1")
    canceled, booked = (status_named(organization, name) for name in ("Canceled", "Appointment booked"))
    Notification.objects.of(organization).delete()

    answer = move(manager, appointment, canceled, booked).json()
    page = manager.get(answer["url"])
    assert notifications_of(organization) == []
    response = manager.post(answer["url"], dict(page.context["hidden"]))

    assert answer["state"] == "asks"
    assert "Hana Host gets" in page.context["question"]
    assert response.headers["Location"].startswith(admin_url(Appointment, "changelist"))
    appointment.refresh_from_db()
    assert appointment.outcome == booked
    assert [recipient for _, recipient in notifications_of(organization)] == ["hana@acme.example"]


def test_a_move_that_books_again_says_if_the_hour_is_taken(
    manager: Client, organization: Organization, api: ApiClient, appointment: Appointment
):
    canceled, booked = (status_named(organization, name) for name in ("Canceled", "Appointment booked"))
    api.cancel(external_reference="1")
    api.book(external_reference="2", lead_email="eve@leads.example", host_email="hana@acme.example")

    page = manager.get(move(manager, appointment, canceled, booked).json()["url"])

    assert page.context["question"].startswith(
        "It overlaps with another appointment of the host or the lead. Hana Host gets"
    )
