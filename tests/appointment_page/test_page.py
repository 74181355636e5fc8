"""What an appointment's page shows above its form."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment, CallAnalysis
from appointments.services import save_analysis
from leads.models import Lead
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import make_analysis, make_note, owner_actor, set_columns
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

pytestmark = pytest.mark.django_db


def page(client: Client, appointment: Appointment, **parameters: str) -> Any:
    """Return the appointment's page."""
    response = client.get(admin_url(Appointment, "change", appointment.pk), parameters)
    assert response.status_code == 200, response.status_code
    return response


def page_at(member: Membership, appointment: Appointment, hour: int, minute: int = 0) -> Any:
    """Return the page as the member sees it on the appointment's day at this time."""
    with time_machine.travel(datetime(2027, 1, 5, hour, minute, tzinfo=UTC), tick=False):
        return page(logged_in_client(member), appointment)


def facts(response: Any) -> dict[str, tuple[str, str]]:
    """Return the texts and addresses of the facts below the heading."""
    return {fact.label: (str(fact.text), fact.url) for fact in response.context["record"]["facts"]}


def cards(response: Any) -> dict[str, list[str]]:
    """Return the texts of the cards by their titles, without tags."""
    found = response.context["record"]["cards"]
    return {card.title: [re.sub(r"<[^>]*>", "", str(fact.text)) for fact in card.facts] for card in found}


def test_the_head_shows_how_to_reach_the_lead_and_who_takes_part(host: Membership, appointment: Appointment):
    response = page_at(host, appointment, 9, 35)

    assert response.context["record"]["title"] == "Ada Lovelace"
    assert facts(response) == {
        "When": ("Tue 5 Jan 2027, 10:00 (60 min) · in 25\xa0minutes", ""),
        "E-mail": ("ada@example.com", "mailto:ada@example.com"),
        "Phone": ("+14155552671", "tel:+14155552671"),
        "Event type": ("Strategy call", ""),
        "Host": ("Hana Host", ""),
        "Setter": ("Sam", ""),
    }


def test_above_a_refused_form_is_what_is_stored_and_its_buttons_work(mia: Client, appointment: Appointment):
    url = admin_url(Appointment, "change", appointment.pk)
    before = page(mia, appointment).context["record"]

    refused = mia.post(url, form_data(mia, url, schedule_time="2027-01-06T15:30:00Z", host="", recording_url="x"))

    record = refused.context["record"]
    assert form_errors(refused)
    assert facts(refused) == {fact.label: (str(fact.text), fact.url) for fact in before["facts"]}
    assert [button.state for button in record["main"]] == [button.state for button in before["main"]]


@pytest.mark.parametrize(("hour", "text"), [(8, "in 2\xa0hours"), (10, "now"), (13, "ended 2\xa0hours ago")])
def test_the_time_is_also_relative(host: Membership, appointment: Appointment, hour: int, text: str):
    assert facts(page_at(host, appointment, hour))["When"][0].endswith(f"· {text}")


def test_join_leads_to_the_meeting_until_the_appointment_is_over(host: Membership, appointment: Appointment):
    link = '<a class="record-button" href="https://meet.example/1" target="_blank" rel="noopener noreferrer"'
    set_columns(Appointment, appointment.organization, str(appointment.pk), meeting_url="https://meet.example/1")

    pages = [page_at(host, appointment, hour).content.decode() for hour in (9, 10, 12)]

    assert [link in text for text in pages] == [True, True, False]


def test_a_meeting_address_that_is_no_web_address_is_no_link(
    mia: Client, appointment: Appointment, organization: Organization
):
    set_columns(Appointment, organization, str(appointment.pk), meeting_url="javascript:alert(1)")

    response = page(mia, appointment)

    assert facts(response)["Meeting"] == ("javascript:alert(1)", "")
    assert 'href="javascript:' not in response.content.decode()


def test_the_lead_and_its_latest_story_are_beside_it(
    mia: Client, appointment: Appointment, api: ApiClient, organization: Organization
):
    other = api.book(external_reference="ref-2", schedule_time="2027-02-01T10:00:00Z").json()["data"]["id"]
    make_note(organization, other, "Wants a discount")

    story = cards(page(mia, appointment))["Lead"]

    assert story[:2] == ["Ada Lovelace", "Appointment booked"]
    assert any("Strategy call, Mon 1 Feb 2027" in text for text in story)
    assert not any("5 Jan 2027" in text for text in story)  # that is this one
    assert story[-1] == "The lead's whole story"


def test_the_leads_newest_form_answers_are_beside_it(mia: Client, appointment: Appointment, api: ApiClient):
    question = {"provider_question_id": "q1", "question": "What is your budget?"}
    api.submit(external_reference="1", question_answers=[{**question, "answer": "None"}])
    api.submit(external_reference="2", question_answers=[{**question, "answer": "5,000 EUR"}])
    api.submit(external_reference="3", email="bob@example.com", question_answers=[{**question, "answer": "Bob's"}])
    api.submit(external_reference="4")  # a form without questions

    card = page(mia, appointment).context["record"]["cards"][1]

    (answer, opt_in) = card.facts
    assert (card.title, answer.label, answer.text) == ("Form answers", "What is your budget?", "5,000 EUR")
    assert mia.get(opt_in.url).context["original"].external_reference == "2"


def test_the_hosts_other_appointments_of_the_day_are_beside_it(
    mia: Client, appointment: Appointment, api: ApiClient, host: Membership
):
    people = {"lead_email": "bob@example.com", "lead_first_name": "Bob", "host_email": host.user.email}
    api.book(external_reference="same", schedule_time="2027-01-05T10:30:00Z", **people)
    api.book(external_reference="next", schedule_time="2027-01-06T10:30:00Z", **people)

    card = page(mia, appointment).context["record"]["cards"][1]

    assert [(fact.label, fact.text) for fact in card.facts] == [
        ("Tue 5 Jan 2027, 10:30, 60 min, overlaps", "Bob · Strategy call · Hana Host")
    ]


def test_the_timeline_tells_moves_outcomes_notes_and_the_analysis(
    mia: Client, appointment: Appointment, organization: Organization
):
    mia.post(
        admin_url(Appointment, "reschedule", appointment.pk),
        {"schedule_time_0": "2027-01-06", "schedule_time_1": "11:30", "reason": "Ada is travelling"},
    )
    won = appointment.outcome_choices
    outcome = next(status for status in won if status.role == "WON")
    mia.post(admin_url(Appointment, "set_won", appointment.pk), {"outcome": str(outcome.pk), "lead_status": ""})
    make_analysis(organization, str(appointment.pk))

    response = page(mia, appointment)

    told = response.content.decode()
    entries = response.context["record"]["timeline"].entries
    assert {entry.actor_name for entry in entries if "Outcome" in str(entry.text)} == {"Mia"}
    assert "Rescheduled: Strategy call" in told
    assert "<del>Tue 5 Jan 2027, 10:00</del>" in told
    assert "Ada is travelling" in told
    assert cards(response)["Call analysis"][1] == "Won (88% sure)"


def test_a_stored_analysis_is_a_change_in_both_timelines(
    mia: Client, appointment: Appointment, organization: Organization
):
    analysis = CallAnalysis(
        appointment=appointment,
        call_analysis_call_id="call-1",
        ai_generated_title="A good call",
        ai_rationale="Asked for the contract.",
        ai_suggested_outcome="Won",
        ai_confidence_score=0.9,
    )
    save_analysis(organization=organization, actor=owner_actor(organization), analysis=analysis)

    lead_page = mia.get(admin_url(Lead, "change", appointment.lead_id))

    assert "<ins>A good call</ins>" in page(mia, appointment).content.decode()
    assert "<ins>A good call</ins>" in lead_page.content.decode()


def test_the_page_takes_the_same_number_of_statements_however_much_there_is(
    mia: Client, appointment: Appointment, api: ApiClient, organization: Organization, host: Membership
):
    statements = []
    page(mia, appointment)  # fills caches
    for number in range(2):
        with CaptureQueriesContext(connection) as captured:
            page(mia, appointment)
        statements.append(len(captured))
        for minute in range(3):
            reference = f"more-{number}-{minute}"
            time = f"2027-01-05T1{number + 1}:{minute}0:00Z"
            api.book(external_reference=reference, schedule_time=time, host_email=host.user.email, notes=reference)
            make_note(organization, str(appointment.pk), reference)

    assert statements[0] == statements[1], statements
    assert statements[0] <= 60, statements


def test_a_viewer_sees_the_page_without_buttons(viewer: Client, appointment: Appointment):
    record = page(viewer, appointment).context["record"]

    assert (record["main"], record["more"], record["status_button"]) == ([], [], None)
    assert "reschedules the appointment" not in page(viewer, appointment).content.decode()


def test_an_analysis_that_has_changed_meanwhile_is_not_overwritten(
    mia: Client, appointment: Appointment, organization: Organization
):
    analysis = make_analysis(organization, str(appointment.pk))
    url = admin_url(CallAnalysis, "change", analysis.pk)
    opened = form_data(mia, url, ai_generated_title="Mine")
    mia.post(url, form_data(mia, url, ai_generated_title="Theirs"))

    response = mia.post(url, opened)

    assert "Someone else has changed this record" in form_errors(response)[0]
    assert CallAnalysis.objects.of(organization).get().ai_generated_title == "Theirs"


def test_the_entry_of_the_booking_keeps_its_time_after_moves_under_new_references(
    mia: Client, api: ApiClient, appointment: Appointment
):
    reference = appointment.external_reference
    for day, new in (("2027-01-12", "second"), ("2027-01-19", "third")):
        moved = api.reschedule(
            external_reference=reference, schedule_time=f"{day}T10:00:00Z", new_external_reference=new
        )
        assert moved.status_code == 200, moved.json()
        reference = new

    entries = page(mia, appointment).context["record"]["timeline"].entries

    [booked] = [str(entry.text) for entry in entries if str(entry.text).startswith("Booked: ")]
    assert booked.endswith("Tue 5 Jan 2027, 10:00")
