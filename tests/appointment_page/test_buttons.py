"""The buttons of an appointment's page: what they say before, what they do, and what a stale click does."""

import json
import re
from collections import Counter
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.test import Client

from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead
from leads.services import change_status
from notifications.models import Notification
from notifications.services import set_muted_kinds
from organizations.models import Membership, Organization
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import (
    deactivate,
    events_of,
    make_analysis,
    make_member,
    make_provider_appointment,
    make_status,
    owner_actor,
    owner_of,
    snapshot_of,
)
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages
from webhooks.models import Event
from webhooks.services import add_endpoint

pytestmark = pytest.mark.django_db


def press(client: Client, name: str, appointment: Appointment, **fields: Any) -> Any:
    """Open the confirmation page of a button and send its form with these fields."""
    url = admin_url(Appointment, name, appointment.pk)
    return client.post(url, form_data(client, url, **fields))


def question(client: Client, name: str, appointment: Appointment) -> str:
    """Return what the confirmation page of a button says."""
    return str(client.get(admin_url(Appointment, name, appointment.pk)).context["question"])


def buttons(client: Client, appointment: Appointment) -> list[str]:
    """Return the addresses of the buttons on the page by their last part."""
    page = client.get(admin_url(Appointment, "change", appointment.pk)).content.decode()
    names = ["accept_suggestion", "reschedule", "set_won", "set_lost", "set_no_show", "set_follow_up", "cancel"]
    return [name for name in names if admin_url(Appointment, name, appointment.pk) in page]


def reloaded(row: Any) -> Any:
    """Return the row as it is stored."""
    return type(row).unscoped.select_related(None).get(pk=row.pk)


def status(organization: Organization, role: str) -> Status:
    """Return the organization's status with this role."""
    found: Status = Status.objects.of(organization).get(role=role)
    return found


def test_an_outcome_moves_the_lead_too_unless_it_is_left_as_it_is(mia: Client, appointment: Appointment):
    organization = appointment.organization
    url = admin_url(Appointment, "set_won", appointment.pk)
    form = form_data(mia, url)

    press(mia, "set_lost", appointment, lead_status=str(appointment.lead.status_id))
    after_lost = reloaded(appointment.lead).status.role
    response = press(mia, "set_won", appointment)

    assert form["lead_status"] == str(status(organization, "WON").pk)  # chosen already
    assert (response.status_code, after_lost) == (302, "APPOINTMENT_BOOKED")
    assert reloaded(appointment).outcome.role == "WON"
    assert reloaded(appointment.lead).status.role == "WON"
    assert events_of(organization).count("lead.status_changed") == 1
    assert shown_messages(response)[-1].startswith("Marked as Won. Lead moved to Won. No one is notified. <button ")


@pytest.mark.parametrize(
    ("lead", "sent", "expected"),
    [
        ("APPOINTMENT_BOOKED", {}, "LOST"),
        ("APPOINTMENT_BOOKED", {"lead_status": ""}, "LOST"),
        ("APPOINTMENT_BOOKED", {"lead_status": "APPOINTMENT_BOOKED"}, "APPOINTMENT_BOOKED"),
        ("APPOINTMENT_BOOKED", {"lead_status": "FOLLOW_UP"}, "FOLLOW_UP"),
        ("PARTIAL_PAYMENT", {}, "PARTIAL_PAYMENT"),
    ],
)
def test_any_outcome_moves_the_lead_unless_another_status_is_chosen_or_the_lead_has_paid(
    lead: str, sent: dict[str, str], expected: str, mia: Client, appointment: Appointment
):
    organization = appointment.organization
    Lead.objects.of(organization).update(status=status(organization, lead))
    chosen = {name: role and str(status(organization, role).pk) for name, role in sent.items()}
    url = admin_url(Appointment, "set_outcome", appointment.pk)
    fields = {"state": form_data(mia, url)["state"], "outcome": str(status(organization, "LOST").pk), **chosen}

    response = mia.post(url, fields)

    assert response.status_code == 302
    assert reloaded(appointment).outcome.role == "LOST"
    assert reloaded(appointment.lead).status.role == expected


def test_an_outcome_before_the_call_is_asked_about(mia: Client, appointment: Appointment):
    before = question(mia, "set_won", appointment)
    Appointment.unscoped.filter(pk=appointment.pk).update(schedule_time=now() - timedelta(hours=1))

    assert before == f"{EARLY}No one is notified."
    assert question(mia, "set_won", appointment) == "No one is notified."


def test_outcome_and_lead_are_changed_together_or_not_at_all(mia: Client, appointment: Appointment):
    url = admin_url(Appointment, "set_won", appointment.pk)
    form = form_data(mia, url)
    Status.unscoped.filter(pk=form["lead_status"]).update(type="APPOINTMENT", is_lead_default=False)
    before = snapshot_of(appointment.organization)

    response = mia.post(url, form)

    assert form_errors(response) == ["Select a valid choice. That choice is not one of the available choices."]
    assert snapshot_of(appointment.organization) == before


def test_a_lead_with_another_status_of_the_outcomes_role_keeps_it(mia: Client, appointment: Appointment):
    organization = appointment.organization
    price = make_status(organization, "Lost: price", role="LOST")
    Lead.objects.of(organization).update(status=price)
    url = admin_url(Appointment, "set_lost", appointment.pk)

    mia.post(url, form_data(mia, url))

    assert (reloaded(appointment).outcome.role, reloaded(appointment.lead).status) == ("LOST", price)


@pytest.mark.parametrize("choice", ["the outcome's", "as it is"])
def test_a_lead_that_has_moved_since_the_form_was_opened_is_looked_at_again(
    choice: str, mia: Client, appointment: Appointment
):
    url, organization = admin_url(Appointment, "set_lost", appointment.pk), appointment.organization
    form = form_data(mia, url)
    if choice == "as it is":
        form["lead_status"] = form["lead_status_was"]
    won = status(organization, "WON")
    by = {"organization": organization, "actor": owner_actor(organization)}
    change_status(**by, lead_id=appointment.lead_id, status_id=won.pk)
    before = snapshot_of(organization)

    refused = mia.post(url, form)
    unchanged = snapshot_of(organization) == before
    again = form | {name: str(refused.context["form"][name].value()) for name in ("lead_status_was",)}
    mia.post(url, again | {"lead_status": str(won.pk)})

    assert form_errors(refused)[0] == "The lead has moved to Won since you opened the form. Check its status below."
    assert unchanged
    assert (reloaded(appointment).outcome.role, reloaded(appointment.lead).status) == ("LOST", won)


def test_the_lead_is_offered_only_to_those_who_may_change_it(
    appointment: Appointment, api: ApiClient, organization: Organization
):
    tom = make_member(organization, "tom@acme.example", first_name="Tom")
    client = logged_in_client(tom)
    other = Appointment.unscoped.get(pk=api.book(external_reference="ref-2", host_email="").json()["data"]["id"])
    Appointment.unscoped.filter(pk=other.pk).update(setter=None)  # nobody's, of a lead that is Sam's
    won = status(organization, "WON")

    url = admin_url(Appointment, "set_won", other.pk)
    form = form_data(client, url)
    client.post(url, form | {"lead_status": str(won.pk)})

    assert "lead_status" not in form
    assert reloaded(other).outcome == won
    assert reloaded(appointment.lead).status == won  # moved with the outcome


def undo_fields(response: Any) -> tuple[str, dict[str, str]]:
    """Return the address and the fields of the message's *Undo*."""
    text = shown_messages(response)[-1]
    return re.findall('formaction="([^"]+)"', text)[0], {"undo": re.findall('value="([^"]+)"', text)[0]}


def test_an_outcome_can_be_undone_with_all_that_came_of_it(mia: Client, appointment: Appointment):
    organization, lead = appointment.organization, appointment.lead
    before = (appointment.outcome, lead.status, lead.next_touch_point_at)
    response = press(mia, "set_follow_up", appointment, next_step_at="2027-01-08T09:30")
    events, mails = Counter(events_of(organization)), Notification.objects.of(organization).count()
    url, fields = undo_fields(response)

    done, again = mia.post(url, fields), mia.post(url, fields)

    appointment, lead = reloaded(appointment), reloaded(lead)
    assert shown_messages(done)[-1] == "Undone. The outcome is Appointment booked again."
    assert form_errors(again) == ["The outcome has changed since. Nothing was undone"]
    assert (appointment.outcome, lead.status, lead.next_touch_point_at) == before
    assert (lead.next_step_at, lead.next_steps.count()) == (None, 0)
    assert Counter(events_of(organization)) - events == {
        "appointment.outcome_changed": 1,
        "lead.status_changed": 1,
    }
    assert Notification.objects.of(organization).count() == mails


def test_an_undo_brings_a_retired_status_of_the_lead_back(mia: Client, appointment: Appointment):
    organization = appointment.organization
    price = make_status(organization, "Lost: price", role="LOST", is_active=False)
    Lead.objects.of(organization).update(status=price)
    url, fields = undo_fields(press(mia, "set_no_show", appointment))
    marked = reloaded(appointment.lead).status.role

    done = mia.post(url, fields)

    assert (marked, shown_messages(done)[-1]) == ("NO_SHOW", "Undone. The outcome is Appointment booked again.")
    assert reloaded(appointment.lead).status == price


def test_only_who_has_set_an_outcome_undoes_it_and_only_at_once(
    mia: Client, appointment: Appointment, organization: Organization
):
    url, fields = undo_fields(press(mia, "set_lost", appointment))

    by_another = logged_in_client(owner_of(organization)).post(url, fields)
    with time_machine.travel(now() + timedelta(minutes=11)):
        too_late = mia.post(url, fields)

    for response in (by_another, too_late):
        assert form_errors(response) == ["It is too late to undo this. Set the outcome that is right."]
    assert reloaded(appointment).outcome.role == "LOST"


def test_a_follow_up_can_set_the_leads_next_step(mia: Client, appointment: Appointment):
    response = press(mia, "set_follow_up", appointment, next_step_at="2027-01-08T09:30")

    assert response.status_code == 302, form_errors(response)
    lead = reloaded(appointment.lead)
    assert (lead.status.role, lead.next_step_at.isoformat(), lead.next_step_type) == (
        "FOLLOW_UP",
        "2027-01-08T09:30:00+00:00",
        "CALL",
    )


def test_rescheduling_stores_the_reason_as_a_note(mia: Client, appointment: Appointment):
    response = press(
        mia,
        "reschedule",
        appointment,
        schedule_time_0="2027-01-06",
        schedule_time_1="11:30",
        reason="Ada is travelling",
    )

    assert response.status_code == 302, form_errors(response)
    assert reloaded(appointment).schedule_time.isoformat() == "2027-01-06T11:30:00+00:00"
    assert [note.note for note in appointment.notes.all()] == ["Ada is travelling"]
    assert shown_messages(response)[-1].startswith("Moved to Wed 6 Jan 2027, 11:30. Hana Host and Sam get an updated ")
    moved = Notification.objects.of(appointment.organization).filter(kind="CALL_RESCHEDULED")
    assert {row.context["note"] for row in moved} == {"Ada is travelling"}


def test_a_reason_that_was_given_before_is_stored_and_mailed_again(mia: Client, appointment: Appointment):
    for day in ("2027-01-06", "2027-01-07"):
        press(mia, "add_note", appointment, note=f"Internal, before {day}")
        press(mia, "reschedule", appointment, schedule_time_0=day, schedule_time_1="11:30", reason="Ada is ill")
    for again in (1, 2):
        press(mia, "cancel", appointment, notes="No longer needed")
        press(mia, "reschedule", appointment, schedule_time_0=f"2027-01-1{again}", schedule_time_1="9:30", reason="")

    notes = Counter(appointment.notes.values_list("note", flat=True))
    assert (notes["Ada is ill"], notes["No longer needed"]) == (2, 2)
    mailed = Notification.objects.of(appointment.organization).filter(kind="CALL_RESCHEDULED")
    assert Counter(row.context["note"] for row in mailed.order_by("created_at")[:4])["Ada is ill"] == 4


def test_rescheduling_refuses_the_same_time_and_asks_about_an_overlap(
    mia: Client, appointment: Appointment, api: ApiClient, host: Membership
):
    other = {"external_reference": "ref-2", "lead_email": "bob@example.com", "schedule_time": "2027-01-06T11:00:00Z"}
    api.book(**other, host_email=host.user.email)
    new_time = {"schedule_time_0": "2027-01-06", "schedule_time_1": "11:30"}

    same = press(mia, "reschedule", appointment)
    overlapping = press(mia, "reschedule", appointment, **new_time)
    forced = press(mia, "reschedule", appointment, **new_time, book_anyway="on")

    assert "already has this time" in form_errors(same)[0]
    assert form_errors(overlapping)[0].startswith("Overlaps with ")
    assert forced.status_code == 302
    assert reloaded(appointment).schedule_time.hour == 11


def test_a_call_to_come_is_moved_to_a_time_that_has_passed_only_after_a_question(
    mia: Client, appointment: Appointment, organization: Organization
):
    """A wrong month would leave it in everybody's calendar."""
    before = snapshot_of(organization)
    passed = {"schedule_time_0": "2026-01-06", "schedule_time_1": "11:30"}

    asked = press(mia, "reschedule", appointment, **passed)
    unchanged = snapshot_of(organization) == before
    forced = press(mia, "reschedule", appointment, **passed, book_anyway="on")
    corrected = press(mia, "reschedule", appointment, **passed | {"schedule_time_1": "12:30"})

    assert form_errors(asked) == [
        "This time has passed: no one is notified, and calendars keep the former one. "
        "Choose another time, or tick this box."
    ]
    assert (unchanged, forced.status_code, corrected.status_code) == (True, 302, 302)


@pytest.mark.parametrize(
    ("suggestion", "role"),
    [("won", "WON"), ("NO_SHOW", "NO_SHOW"), ("no-show", "NO_SHOW"), ("Deposit paid", "PARTIAL_PAYMENT"), ("?", None)],
)
def test_the_suggested_outcome_is_offered_if_it_is_a_status_or_a_role(
    mia: Client, appointment: Appointment, suggestion: str, role: str | None
):
    make_status(appointment.organization, "Deposit paid", role="PARTIAL_PAYMENT")
    make_analysis(appointment.organization, str(appointment.pk), ai_suggested_outcome=suggestion)

    is_offered = "accept_suggestion" in buttons(mia, appointment)
    response = press(mia, "accept_suggestion", appointment) if is_offered else None

    assert is_offered == (role is not None)
    if response:
        assert response.status_code == 302
        assert reloaded(appointment).outcome.role == role
        assert "accept_suggestion" not in buttons(mia, appointment)


def test_a_suggestion_that_was_replaced_is_not_accepted(mia: Client, appointment: Appointment):
    analysis = make_analysis(appointment.organization, str(appointment.pk), ai_suggested_outcome="Won")
    url = admin_url(Appointment, "accept_suggestion", appointment.pk)
    form = form_data(mia, url)
    type(analysis).unscoped.filter(pk=analysis.pk).update(ai_suggested_outcome="Lost")

    response = mia.post(url, form)

    assert "someone has changed this since you opened the page" in shown_messages(response)[-1]
    assert reloaded(appointment).outcome.role == "APPOINTMENT_BOOKED"


@pytest.mark.parametrize("name", ["set_won", "set_outcome", "reschedule", "cancel"])
def test_a_click_after_somebody_elses_change_is_refused(mia: Client, appointment: Appointment, name: str):
    organization = appointment.organization
    url = admin_url(Appointment, name, appointment.pk)
    new = {"schedule_time_0": "2027-01-07"} if name == "reschedule" else {}
    form = form_data(mia, url, **new)
    if name == "set_outcome":
        form["outcome"] = str(status(organization, "WON").pk)
    press(mia, "set_lost", appointment)
    before = snapshot_of(organization)

    response = mia.post(url, form)

    # With a time that was typed, the form is shown again.
    texts = form_errors(response) if name == "reschedule" else shown_messages(response)[-1:]
    assert response.status_code == (200 if name == "reschedule" else 302)
    assert "omeone has changed this since you opened the page" in texts[0]
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("name", ["set_won", "reschedule", "cancel"])
def test_a_second_click_is_said_to_be_one(mia: Client, appointment: Appointment, name: str):
    url = admin_url(Appointment, name, appointment.pk)
    form = form_data(mia, url, **({"schedule_time_0": "2027-01-07"} if name == "reschedule" else {}))
    mia.post(url, form)
    before = snapshot_of(appointment.organization)

    response = mia.post(url, form)

    assert "this was done already" in shown_messages(response)[-1]
    assert snapshot_of(appointment.organization) == before


def test_only_those_who_may_change_the_appointment_have_buttons(
    viewer: Client, appointment: Appointment, sam: Membership, organization: Organization
):
    stranger = logged_in_client(make_member(organization, "tom@acme.example"))
    before = snapshot_of(organization)
    form = {"outcome": str(status(organization, "WON").pk)}

    answers = [client.post(admin_url(Appointment, "set_won", appointment.pk), form) for client in (viewer, stranger)]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert snapshot_of(organization) == before
    assert buttons(viewer, appointment) == buttons(stranger, appointment) == []
    assert buttons(logged_in_client(sam), appointment) == [
        "reschedule",
        "set_won",
        "set_lost",
        "set_no_show",
        "set_follow_up",
        "cancel",
    ]


# Who will be told

EARLY = "The call is still to come: Tue 5 Jan 2027, 10:00. "


def told(organization: Organization, known: set[Any]) -> list[str]:
    """Return who has got an e-mail that wasn't there before, by their first names."""
    new = Notification.objects.of(organization).exclude(pk__in=known).filter(medium="EMAIL")
    return sorted(row.recipient.user.first_name for row in new)


@pytest.mark.parametrize("name", ["reschedule", "cancel", "set_won", "set_no_show"])
@pytest.mark.parametrize("case", ["plain", "muted", "left", "slack", "nobody", "provider", "over"])
def test_a_button_says_who_will_be_told(
    mia: Client, appointment: Appointment, host: Membership, sam: Membership, name: str, case: str
):
    organization = appointment.organization
    arrange(case, appointment, host, sam)
    known = {row.pk for row in Notification.objects.of(organization)}
    said = question(mia, name, appointment)

    response = press(mia, name, appointment, **({"schedule_time_0": "2027-01-08"} if name == "reschedule" else {}))

    names = told(organization, known)
    if name != "cancel":  # its question begins with "Cancel this appointment?"
        assert said.removeprefix(EARLY) in unescape(shown_messages(response)[-1])
    assert [first for first in ("Hana", "Olga", "Sam") if first in said] == names
    assert ("No one is notified." in said) == (not names)
    assert ("invitation" in said or "cancellation" in said) == (bool(names) and case != "provider")
    slack = Notification.objects.of(organization).exclude(pk__in=known).filter(medium="SLACK").exists()
    assert ("Slack gets a message" in said) == slack
    assert ("Ada Lovelace isn't notified." in said) == bool(names)


def arrange(case: str, appointment: Appointment, host: Membership, sam: Membership) -> None:
    """Change the appointment and its people as the case says."""
    organization = appointment.organization
    rows = Appointment.objects.of(organization).filter(pk=appointment.pk)
    match case:
        case "muted":
            set_muted_kinds(member=sam, kinds=["CALL_RESCHEDULED", "CALL_CANCELED"])
        case "left":
            deactivate(sam)
        case "slack":
            organization.slack_url = "https://hooks.slack.example/1"
            organization.save()
        case "nobody":
            owner = Membership.objects.of(organization).get(role="OWNER")
            owner.user.first_name = "Olga"
            owner.user.save()
            rows.update(host=None, setter=None, invited=[])
        case "provider":
            rows.update(source="SCHEDULER_A")
        case "over":
            rows.update(schedule_time="2026-01-05T10:00:00Z")


def test_a_button_says_whether_webhooks_are_sent(mia: Client, appointment: Appointment, settings: Any):
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    address = "http://127.0.0.1:9/events"
    before = question(mia, "cancel", appointment)

    add_endpoint(organization=appointment.organization, url=address, event_types=["appointment.rescheduled"])

    assert "webhooks" not in before
    assert "webhooks" not in question(mia, "cancel", appointment)
    assert "connected apps are updated" in question(mia, "reschedule", appointment)


def test_asking_who_will_be_told_changes_nothing(mia: Client, appointment: Appointment):
    before = snapshot_of(appointment.organization)

    for name in ("reschedule", "cancel", "set_won", "set_outcome"):
        question(mia, name, appointment)

    assert snapshot_of(appointment.organization) == before


def test_a_booking_of_a_provider_sends_messages_without_an_invitation(mia: Client, organization: Organization):
    member = make_member(organization, "tom@acme.example", first_name="Tom")
    appointment = make_provider_appointment(organization, host=member)

    assert question(mia, "cancel", appointment).startswith("Cancel this appointment? Tom gets a message by e-mail.")


@pytest.mark.parametrize(
    ("button", "by_mia", "typed", "shown"),
    [
        ("set_follow_up", {}, {"next_step_at_0": "2027-01-20", "next_step_at_1": "10:00"}, "2027-01-20"),
        ("cancel", {}, {"notes": "The lead has broken a leg"}, "The lead has broken a leg"),
        (
            "reschedule",
            {"schedule_time_0": "2027-01-11", "schedule_time_1": "12:00"},
            {"schedule_time_0": "2027-01-11", "schedule_time_1": "12:00", "reason": "On holiday"},
            "On holiday",
        ),
    ],
)
def test_what_was_typed_is_neither_lost_nor_called_done_if_a_colleague_did_the_rest(
    button: str,
    by_mia: dict[str, str],
    typed: dict[str, str],
    shown: str,
    mia: Client,
    appointment: Appointment,
    organization: Organization,
):
    hana, url = logged_in_client(owner_of(organization)), admin_url(Appointment, button, appointment.pk)
    form = form_data(hana, url) | typed
    mia.post(url, form_data(mia, url) | by_mia)
    before = snapshot_of(organization)

    refused = hana.post(url, form)

    text = "Someone has changed this since you opened the page. Nothing was done: check it before you try again."
    assert refused.status_code == 200
    assert text in form_errors(refused)
    assert shown in refused.content.decode()
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("button", "typed"),
    [
        ("set_follow_up", {"next_step_at_0": "2027-01-20", "next_step_at_1": "10:00"}),
        ("set_lost", {}),
        ("cancel", {"notes": "The lead has broken a leg"}),
        ("reschedule", {"schedule_time_0": "2027-01-11", "schedule_time_1": "12:00", "reason": "On holiday"}),
    ],
)
def test_a_double_click_is_done_once_with_all_that_was_typed(
    button: str, typed: dict[str, str], mia: Client, appointment: Appointment, organization: Organization
):
    url = admin_url(Appointment, button, appointment.pk)
    form = form_data(mia, url) | typed
    first = mia.post(url, form)
    before = snapshot_of(organization)

    second = mia.post(url, form)

    assert (first.status_code, second.status_code) == (302, 302)
    assert shown_messages(second)[-1].endswith("this was done already. Nothing was done again.")
    assert snapshot_of(organization) == before


def test_a_follow_up_with_a_next_step_is_one_event_of_the_lead(
    mia: Client, appointment: Appointment, organization: Organization
):
    """L19, W2: connected systems never see the status without the step."""
    before = Counter(events_of(organization))

    press(mia, "set_follow_up", appointment, next_step_at="2027-01-08T09:30")

    new = Counter(events_of(organization)) - before
    assert new == {"appointment.outcome_changed": 1, "lead.status_changed": 1}
    event = Event.objects.of(organization).get(type="lead.status_changed")
    assert json.loads(event.body)["data"]["next_step_at"] == "2027-01-08T09:30:00.000Z"


def test_undoing_a_follow_up_brings_the_date_back_that_its_step_replaced(
    mia: Client, appointment: Appointment, organization: Organization
):
    Appointment.objects.of(organization).update(schedule_time=now() - timedelta(hours=2))
    Lead.objects.of(organization).update(next_touch_point_at="2027-01-12T10:00:00Z", next_touch_point_type="EMAIL")
    url, fields = undo_fields(press(mia, "set_follow_up", appointment, next_step_at="2027-01-08T09:30"))
    replaced = reloaded(appointment.lead).touch_point

    mia.post(url, fields)

    assert replaced == ["2027-01-08T09:30:00.000Z", "CALL"]
    assert reloaded(appointment.lead).touch_point == ["2027-01-12T10:00:00.000Z", "EMAIL"]
