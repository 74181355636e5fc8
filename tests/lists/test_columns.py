"""The columns of a list: chosen by each member, in the address, and in saved views."""

import re
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead, PossibleDuplicate
from optins.models import OptIn
from organizations.models import Membership, Organization, SavedView
from organizations.saved_views import MAX_VIEWS
from staff.toolkit.columns import key_of
from tests.client import ApiClient
from tests.factories import make_api, owner_of
from tests.staff.pages import admin_url, logged_in_client

APPOINTMENTS, LEADS, OPT_INS = (admin_url(model, "changelist") for model in (Appointment, Lead, OptIn))
STANDARD = ["lead_contact", "time", "event_type", "host", "setter", "outcome"]


@pytest.fixture
def owner(organization: Organization) -> Client:
    """The owner of two leads with an opt-in and an appointment each."""
    api = make_api(organization)
    for number, name in enumerate(("ada", "bea"), start=1):
        api.submit(email=f"{name}@example.com", first_name=name.capitalize())
        api.book(
            external_reference=name, lead_email=f"{name}@example.com", schedule_time=f"2030-01-0{number}T10:00:00Z"
        )
    return logged_in_client(owner_of(organization))


def shown(client: Client, address: str) -> list[str]:
    """Return the keys of the columns of a list, without that of the checkboxes."""
    cl: Any = client.get(address, follow=True).context["cl"]
    return [key_of(column) for column in cl.list_display if column != "action_checkbox"]


def choose(client: Client, page: str, *keys: str, query: str = "view=all", **fields: str) -> Any:
    """Send the form of the columns."""
    return client.post(f"{page}columns/?{query}", {"column": keys, **fields})


def test_a_member_chooses_columns_and_their_order(owner: Client, host: Membership):
    response = choose(owner, APPOINTMENTS, "setter", "nonsense", "time", query="view=past&o=2&columns=host&q=a")

    assert response.url == f"{APPOINTMENTS}?view=past&q=a"
    assert shown(owner, response.url) == ["lead_contact", "setter", "time"]
    assert shown(logged_in_client(host), f"{APPOINTMENTS}?view=all") == STANDARD
    assert shown(owner, f"{APPOINTMENTS}?view=all&columns=triager,nonsense,triager") == ["lead_contact", "triager"]
    assert shown(owner, f"{APPOINTMENTS}?columns=nonsense") == STANDARD
    choices = owner.get(f"{APPOINTMENTS}?view=all").context["cl"].column_choices
    assert [(choice.key, choice.is_shown) for choice in choices[:3]] == [
        ("setter", True),
        ("time", True),
        ("event_type", False),
    ]
    choose(owner, APPOINTMENTS, "host")
    assert shown(owner, APPOINTMENTS) == ["lead_contact", "host"]
    choose(owner, APPOINTMENTS, standard="1")
    assert (shown(owner, APPOINTMENTS), SavedView.unscoped.count()) == (STANDARD, 0)


def test_an_order_belongs_to_the_columns_that_it_counts(owner: Client):
    choose(owner, APPOINTMENTS, "host", "time")

    cl = owner.get(f"{APPOINTMENTS}?view=all").context["cl"]

    assert "columns" not in cl.get_query_string({"p": 2})
    assert cl.get_query_string({"o": "3"}) == "?columns=lead_contact%2Chost%2Ctime&o=3&view=all"
    assert shown(owner, f"{APPOINTMENTS}?view=all&o=2") == STANDARD
    assert [row.external_reference for row in owner.get(f"{APPOINTMENTS}?o=2").context["cl"].result_list] == [
        "ada",
        "bea",
    ]


def test_a_saved_view_keeps_its_columns_and_a_members_own_ones_are_no_view(owner: Client, organization: Organization):
    member = owner_of(organization)
    SavedView.objects.of(organization).bulk_create(
        SavedView(organization=organization, owner=member, page="webhooks.event", name=f"{number}")
        for number in range(MAX_VIEWS - 1)
    )
    choose(owner, LEADS, "email")
    query = owner.get(f"{LEADS}?view=new").context["cl"].saving["query"]
    owner.post(f"{LEADS}views/save/", {"name": "E-mails", "query": query})
    view = SavedView.objects.of(organization).get(name="E-mails")
    choose(owner, LEADS, "phone")

    opened = owner.get(f"{LEADS}?view={view.pk}").url

    assert (shown(owner, opened), shown(owner, LEADS)) == (["lead_contact", "email"], ["lead_contact", "phone"])
    changed = choose(owner, LEADS, "setter", query=opened.partition("?")[2]).url
    assert shown(owner, changed) == ["lead_contact", "setter"]
    standard = choose(owner, LEADS, standard="1", query=opened.partition("?")[2]).url
    assert shown(owner, standard) == shown(owner, f"{LEADS}?o=1")
    assert shown(owner, LEADS) == ["lead_contact", "phone"]
    assert [tab.label for tab in owner.get(changed).context["cl"].tabs][-2:] == ["All", "E-mails"]


def test_setter_phone_and_next_step_are_changed_in_the_list_by_whom_they_may(
    api: ApiClient, owner: Client, organization: Organization, host: Membership
):
    for name, email in {"a": host.user.email, "b": owner_of(organization).user.email}.items():
        api.book(external_reference=name, lead_email=f"{name}@example.com", host_email=email)
    query = f"{LEADS}?view=all&columns=lead_contact,phone,setter,next_step"
    lead = Lead.objects.of(organization).get(email="a@example.com")

    client = logged_in_client(host)
    found = re.findall(r'data-form href="([^"]+)"', client.get(query).content.decode())
    links = [link for link in found if str(lead.pk) in link]
    answers = [
        client.post(links[0], {"phone": "+14155552671"}, headers={"Referer": f"http://testserver{query}"}),
        client.post(links[1], {"setter": host.pk}, headers={"Referer": "https://elsewhere.example/"}),
    ]

    assert links == [admin_url(Lead, name, lead.pk) for name in ("set_phone", "set_setter", "set_next_step")]
    assert [answer.url for answer in answers] == [query, admin_url(Lead, "change", lead.pk)]
    lead.refresh_from_db()
    assert (lead.phone_e164, lead.setter) == ("+14155552671", host)
    other = str(Lead.objects.of(organization).get(email="b@example.com").pk)
    assert not any(other in link for link in found)
    assert f"{other}/set_setter/" in owner.get(query).content.decode()


@pytest.mark.parametrize(("page", "model"), [(APPOINTMENTS, Appointment), (LEADS, Lead), (OPT_INS, OptIn)])
def test_all_columns_together_take_no_statement_for_each_row(
    page: str, model: Any, owner: Client, organization: Organization, django_assert_max_num_queries: Any
):
    offered = owner.get(f"{page}?view=all").context["cl"].column_choices
    address = f"{page}?view=all&columns={','.join(choice.key for choice in offered)}"
    counts = []

    for _ in range(2):
        with django_assert_max_num_queries(60) as captured:
            assert owner.get(address).status_code == 200
        counts.append(len(captured))
        api = make_api(organization)
        for name in ("cyd", "dan", "eve"):
            api.submit(email=f"{name}@example.com")
            api.book(external_reference=name, lead_email=f"{name}@example.com", setter_email="hana@acme.example")

    assert counts[0] == counts[1]


def test_phones_are_links_in_every_list(owner: Client, organization: Organization):
    Lead.objects.of(organization).update(phone_e164="+14155552671", last_name="Lovelace", first_name="Ada")
    first, second = Lead.objects.of(organization)
    PossibleDuplicate.objects.create(organization=organization, first=first, second=second, reasons=1)
    queries = [(page, "view=all") for page in (APPOINTMENTS, LEADS, OPT_INS)]
    queries += [(LEADS, "view=all&layout=board"), (admin_url(PossibleDuplicate, "changelist"), "")]

    pages = [owner.get(f"{page}?{query}").content.decode() for page, query in queries]

    assert ['href="tel:+14155552671"' in page for page in pages] == [True] * 5
