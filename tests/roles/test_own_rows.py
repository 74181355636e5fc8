"""Closers and setters change their own and unassigned leads and appointments; viewers change nothing."""

import re
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment, CallAnalysis, Note
from leads.models import Lead, Source
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_event_type, make_member, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client, shown_messages

LEAD, HOST, TRIAGER, COLLEAGUE = "lead's setter", "host", "triager", "colleague"


@pytest.fixture
def sam(organization: Organization) -> Membership:
    return make_member(organization, "sam@acme.example", role=MemberRole.SETTER, first_name="Sam")


@pytest.fixture
def client(sam: Membership) -> Client:
    return logged_in_client(sam)


def book(api: ApiClient, reference: str, **people: str) -> Appointment:
    """Book an appointment of a new lead, of which these members are host, setter or triager."""
    data = {"external_reference": reference, "lead_email": f"{reference}@leads.example", **people}
    return Appointment.unscoped.get(pk=api.book(**data).json()["data"]["id"])


def answers(client: Client, row: Any) -> list[int]:
    """Return the statuses of the row's page and of a change that a browser would send from it."""
    url = admin_url(type(row), "change", row.pk)
    return [client.get(url).status_code, client.post(url, {"meeting_url": "https://meet.example/new"}).status_code]


@pytest.mark.parametrize("person", ["host_email", "setter_email", "triager_email"])
def test_each_participant_may_change_an_appointment_and_its_lead(
    api: ApiClient, client: Client, sam: Membership, person: str
) -> None:
    appointment = book(api, "mine", **{person: sam.user.email})

    assert [answers(client, appointment), answers(client, appointment.lead)] == [[200, 200], [200, 200]]


def test_rows_that_are_assigned_to_nobody_may_be_changed(api: ApiClient, client: Client) -> None:
    appointment = book(api, "free")

    assert [answers(client, appointment), answers(client, appointment.lead)] == [[200, 200], [200, 200]]


@pytest.mark.parametrize("person", ["host_email", "setter_email", "triager_email"])
def test_a_colleagues_appointment_and_lead_can_be_read_and_not_changed(
    api: ApiClient, organization: Organization, client: Client, host: Membership, person: str
) -> None:
    appointment = book(api, "theirs", **{person: host.user.email})
    before = snapshot_of(organization)

    answered = [answers(client, appointment), answers(client, appointment.lead)]
    unchanged = snapshot_of(organization)
    noted = client.post(admin_url(Appointment, "add_note", appointment.pk), {"note": "She called me"})

    assert (answered, noted.status_code) == ([[200, 403], [200, 403]], 302)
    assert unchanged == before


@pytest.mark.parametrize("role", [MemberRole.CLOSER, MemberRole.VIEWER])
def test_a_record_links_only_to_pages_that_the_member_may_see(
    role: str, api: ApiClient, organization: Organization, host: Membership
) -> None:
    appointment = book(api, "theirs", host_email=host.user.email, setter_email=host.user.email)
    Lead.objects.of(organization).update(setter=host)
    client = logged_in_client(make_member(organization, "reader@acme.example", role=role))

    pages = [
        client.get(admin_url(type(row), "change", row.pk)).content.decode() for row in (appointment, appointment.lead)
    ]
    links = {link for page in pages for link in re.findall(r'href="(/admin/\w[^"?#]*)', page)}

    assert admin_url(Source, "change", appointment.lead.first_source_id) in links
    assert {link for link in links if client.get(link).status_code != 200} == set()


def test_a_colleagues_lead_can_be_booked_for(api: ApiClient, client: Client, host: Membership) -> None:
    lead = book(api, "theirs", host_email=host.user.email).lead
    button, note = client.get(admin_url(Lead, "change", lead.pk)).context["record"]["main"]
    call = make_event_type(lead.organization, "Coaching")
    values = {"event_type": str(call.pk), "schedule_time_0": "2030-01-01", "schedule_time_1": "10:00"}

    response = client.post(button.url, form_data(client, button.url, **values))

    assert (button.label, note.label) == ("Book", "Note")
    assert (response.status_code, lead.appointments.count()) == (302, 2)


def test_a_setters_lead_is_theirs_without_an_appointment(
    api: ApiClient, organization: Organization, client: Client, sam: Membership, host: Membership
) -> None:
    api.submit(email="lead@leads.example")
    found = []
    for setter in (sam, host, None):
        Lead.objects.of(organization).update(setter=setter)
        found.append(answers(client, Lead.objects.of(organization).get()))

    assert found == [[200, 200], [200, 403], [200, 200]]


def test_a_lead_of_mine_and_a_colleagues_is_mine(
    api: ApiClient, client: Client, sam: Membership, host: Membership
) -> None:
    book(api, "shared", host_email=sam.user.email)
    theirs = book(api, "other", lead_email="shared@leads.example", host_email=host.user.email)

    assert [answers(client, theirs), answers(client, theirs.lead)] == [[200, 403], [200, 200]]


def test_a_bulk_action_skips_rows_that_the_user_may_not_change(
    api: ApiClient, client: Client, sam: Membership, host: Membership
) -> None:
    mine, free, theirs = (
        book(api, "mine", host_email=sam.user.email),
        book(api, "free"),
        book(api, "theirs", host_email=host.user.email),
    )
    data = {"action": "cancel_selected", "_selected_action": [row.pk for row in (mine, free, theirs)], "confirmed": "1"}

    response = client.post(admin_url(Appointment, "changelist"), data)

    assert shown_messages(response) == ["Skipped 1: you may not change them.", "2 appointments canceled."]
    outcomes = Appointment.unscoped.filter(outcome__role="CANCELED").values_list("external_reference", flat=True)
    assert set(outcomes) == {"mine", "free"}


def test_a_call_analysis_belongs_to_who_may_change_the_appointment(
    api: ApiClient, client: Client, sam: Membership, host: Membership
) -> None:
    mine, theirs = book(api, "mine", host_email=sam.user.email), book(api, "theirs", host_email=host.user.email)
    url = admin_url(CallAnalysis, "add")
    texts = dict.fromkeys(("call_analysis_call_id", "ai_generated_title", "ai_suggested_outcome", "ai_rationale"), "x")
    data = form_data(client, url, **texts, ai_confidence_score="0.5")

    refused = client.post(url, data | {"appointment": theirs.pk})
    accepted = client.post(url, data | {"appointment": mine.pk})

    assert form_errors(refused) == ["This is a colleague's appointment, which you may not change."]
    assert (accepted.status_code, CallAnalysis.unscoped.get().appointment) == (302, mine)


def test_the_home_page_has_outcome_buttons_only_for_rows_that_may_be_changed(
    api: ApiClient, organization: Organization, client: Client, sam: Membership, host: Membership
) -> None:
    past = {"schedule_time": "2026-01-05T10:00:00Z"}
    mine = book(api, "mine", host_email=sam.user.email, **past)
    theirs = book(api, "theirs", host_email=host.user.email, **past)

    page = client.get("/admin/?who=team").content.decode()

    urls = [admin_url(Appointment, "set_outcome", row.pk) for row in (mine, theirs)]
    assert [f'action="{url}"' in page for url in urls] == [True, False]


def test_a_viewer_sees_everything_and_changes_nothing(
    api: ApiClient, organization: Organization, host: Membership
) -> None:
    member = make_member(organization, "vera@acme.example")
    free, own = book(api, "free"), book(api, "own", host_email="vera@acme.example")
    Membership.objects.of(organization).filter(pk=member.pk).update(role=MemberRole.VIEWER)
    viewer = logged_in_client(member)
    before = snapshot_of(organization)

    answered = [answers(viewer, row) for row in (free, free.lead, own, own.lead)]
    added = [viewer.get(admin_url(model, "add")).status_code for model in (Lead, Appointment)]
    data = {"action": "cancel_selected", "_selected_action": [free.pk], "confirmed": "1"}
    viewer.post(admin_url(Appointment, "changelist"), data)

    assert (answered, added) == ([[200, 403]] * 4, [403, 403])
    assert snapshot_of(organization) == before
    assert not Note.objects.of(organization).exists()
