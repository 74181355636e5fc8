"""Calls that are logged with one click, and where attempts are shown (docs/staff.md)."""

import json

import pytest
from django.test import Client

from leads.models import Lead, LeadNote
from optins.models import OptIn
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member
from tests.merging.leads import make_lead
from tests.record.test_lead_page import action_url, page_url
from tests.staff.pages import admin_url, logged_in_client, shown_messages
from webhooks.models import Event

OPT_INS = admin_url(OptIn, "changelist")


@pytest.fixture
def grace(organization: Organization) -> Client:
    return logged_in_client(make_member(organization, "grace@acme.example", role=MemberRole.SETTER, first_name="Grace"))


@pytest.fixture
def fatima(api: ApiClient, organization: Organization) -> Lead:
    """A lead of an opt-in, whom nobody has called."""
    id = make_lead(api, "fatima@leads.example", phone_e164="+14155552671", phone_country="US")
    lead: Lead = Lead.objects.of(organization).get(pk=id)
    return lead


def not_called(client: Client) -> list[int]:
    """Return how many opt-ins are not called yet: on Home, and in the list that it links to."""
    lists = {each.kind: each for each in client.get("/admin/").context["lists"]}
    total = lists["opt_ins"].total
    return [total.rows, client.get(total.url).context["cl"].result_count]


def test_a_called_lead_is_no_longer_to_be_called_by_anybody(
    grace: Client, fatima: Lead, api: ApiClient, organization: Organization
) -> None:
    before = not_called(grace)
    home = grace.get("/admin/").content.decode()

    response = grace.post(action_url(fatima, "log_call"), {"result": "VOICEMAIL", "home": "who=mine"})

    assert (before, not_called(grace)) == ([1, 1], [0, 0])
    assert f'formaction="{action_url(fatima, "log_call")}"' in home
    assert response.url == "/admin/?who=mine"
    assert "Call 1 logged: voicemail." in shown_messages(response)[-1]
    make_lead(api, fatima.email)  # they ask again
    assert not_called(grace) == [1, 1]


def test_an_endless_address_to_return_to_leads_to_the_lead(grace: Client, fatima: Lead) -> None:
    response = grace.post(action_url(fatima, "log_call"), {"result": "VOICEMAIL", "home": "x" * 20_000})

    assert (response.status_code, response.url) == (302, page_url(fatima))


@pytest.mark.parametrize("referer", ["http://[", "//[x]", "x://]", "http://\u2100.example"])
def test_a_page_whose_referer_is_no_address_is_shown(grace: Client, fatima: Lead, referer: str) -> None:
    url = action_url(fatima, "log_call")

    shown = grace.get(url, headers={"referer": referer})
    logged = grace.post(url, {"result": "TALKED"}, headers={"referer": referer})

    assert (shown.status_code, logged.status_code, logged["Location"]) == (200, 302, page_url(fatima))


def test_lists_show_phone_attempts_and_the_last_one(grace: Client, fatima: Lead) -> None:
    for result, note in (("NO_ANSWER", ""), ("TALKED", "Wants a call on Monday")):
        grace.post(action_url(fatima, "log_call"), {"result": result, "note": note})

    pages = [
        grace.get(url).content.decode() for url in (f"{OPT_INS}?view=all", f"{admin_url(Lead, 'changelist')}?view=all")
    ]

    for page in pages:
        assert 'href="tel:+14155552671"' in page
        assert "2 calls, last: Talked, Today, " in page
    assert f'formaction="{action_url(fatima, "log_call")}"' in pages[0]


def test_a_call_is_a_note_with_its_event(
    grace: Client, fatima: Lead, api: ApiClient, organization: Organization
) -> None:
    data = {"result": "TALKED", "note": "Wants a call on Monday"}
    response = grace.post(action_url(fatima, "log_call"), data, HTTP_REFERER=f"http://testserver{OPT_INS}?view=all")
    grace.post(action_url(fatima, "log_call"), data)  # a double click

    [note] = api.get_data(f"/api/external/leads/{fatima.pk}/notes")
    [event] = Event.objects.of(organization).filter(type="lead.note_created")
    [entry] = grace.get(page_url(fatima), {"kind": "calls"}).context["record"]["timeline"].entries
    assert response.url == f"{OPT_INS}?view=all"
    assert note["note"] == json.loads(event.body)["data"]["note"] == "Talked: Wants a call on Monday"
    assert (entry.text, entry.body, entry.actor_name) == ("Called: talked", "Wants a call on Monday", "Grace")


def test_calls_of_a_colleagues_lead_are_seen_and_not_logged(
    grace: Client, fatima: Lead, host: Membership, organization: Organization
) -> None:
    Lead.objects.of(organization).update(setter=host)
    pages = [grace.get(url).content.decode() for url in (f"{OPT_INS}?view=all", page_url(fatima), "/admin/?who=team")]

    response = grace.post(action_url(fatima, "log_call"), {"result": "TALKED"})

    assert response.status_code == 403
    assert not LeadNote.objects.of(organization).exists()
    assert [page for page in pages if action_url(fatima, "log_call") in page] == []
