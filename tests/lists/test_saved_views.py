"""Saved views: a list's address with a name, of a member or shared with everybody in the organization."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import MemberRole, Membership, Organization, SavedView, User
from organizations.saved_views import MAX_VIEWS
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_api, make_member, owner_of
from tests.staff.pages import admin_url, logged_in_client, shown_messages

LEADS, APPOINTMENTS = admin_url(Lead, "changelist"), admin_url(Appointment, "changelist")


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


@pytest.fixture
def closer(host: Membership) -> Client:
    return logged_in_client(host)


def save(client: Client, name: str, query: str = "view=all&q=ada", page: str = LEADS, **fields: str) -> Any:
    """Send the form that saves a view."""
    return client.post(f"{page}views/save/", {"name": name, "query": query, **fields})


def change(client: Client, view: SavedView, act: str, **fields: str) -> Any:
    """Send the form of the view that is open."""
    return client.post(f"{LEADS}views/change/", {"id": str(view.pk), "act": act, "name": view.name, **fields})


def saved(name: str) -> SavedView:
    return SavedView.unscoped.get(name=name)


def labels(client: Client, address: str = LEADS) -> list[str]:
    """Return the tabs of the list."""
    return [tab.label for tab in client.get(address, follow=True).context["cl"].tabs]


def opened(client: Client, view: SavedView, page: str = LEADS) -> Any:
    """Return the page to which the view's tab leads."""
    return client.get(f"{page}?view={view.pk}", follow=True)


def test_a_saved_view_opens_with_its_filters_search_order_and_layout(owner: Client, organization: Organization):
    for name in ("ada", "grace"):
        make_api(organization).submit(email=f"{name}@example.com")
    save(owner, "Grace's", owner.get(f"{LEADS}?q=grace&o=-1&p=1").context["cl"].saving["query"])
    save(owner, "Board", owner.get(f"{LEADS}?view=new&layout=board").context["cl"].saving["query"])

    assert saved("Grace's").query == "q=grace&o=-1&view=all"
    assert [lead.email for lead in opened(owner, saved("Grace's")).context["cl"].result_list] == ["grace@example.com"]
    board = opened(owner, saved("Board")).context
    assert (board["cl"].layout.name, board["cl"].view.name) == ("board", "new")
    assert [tab.label for tab in board["cl"].tabs if tab.is_active] == ["Board"]


def test_a_search_in_a_saved_view_that_is_emptied_again_leads_back_to_its_rows(
    owner: Client, organization: Organization
):
    """A search looks at all rows, so its form leaves out the view."""
    for name in ("ada", "grace"):
        make_api(organization).submit(email=f"{name}@example.com")
    Lead.objects.of(organization).filter(email="grace@example.com").update(
        status=Status.objects.of(organization).get(role="LOST")
    )
    save(owner, "New ones", owner.get(f"{LEADS}?view=new&o=-1").context["cl"].saving["query"])
    view = saved("New ones")

    found = owner.get(f"{LEADS}?q=grace&o=-1&saved={view.pk}").context["cl"]
    page: Any = owner.get(f"{LEADS}?q=&o=-1&saved={view.pk}", follow=True)
    emptied = page.context["cl"]

    assert [lead.email for lead in found.result_list] == ["grace@example.com"]
    assert [lead.email for lead in emptied.result_list] == ["ada@example.com"]
    assert (emptied.view.name, [tab.label for tab in emptied.tabs if tab.is_active]) == ("new", ["New ones"])


def test_a_saved_calendar_keeps_its_length_and_what_it_shows_but_not_the_day(owner: Client, organization: Organization):
    calendar = f"{APPOINTMENTS}?layout=calendar&days=1&day=2027-01-08&hosts=1&canceled=1"
    save(owner, "Days", owner.get(calendar).context["cl"].saving["query"], page=APPOINTMENTS)

    page = opened(owner, saved("Days"), APPOINTMENTS).context["page"]
    assert (page.is_week, page.shows_canceled, page.is_now) == (False, True, True)


def test_own_views_follow_the_built_in_ones_and_shared_ones_come_last(owner: Client, closer: Client):
    save(owner, "Everybody's", is_shared="on")
    save(owner, "Owner's")
    save(closer, "Hana's")
    save(closer, "Of appointments", page=APPOINTMENTS)

    assert labels(owner)[-3:] == ["All", "Owner's", "Everybody's"]
    assert labels(closer)[-3:] == ["All", "Hana's", "Everybody's"]
    assert labels(closer, APPOINTMENTS)[-2:] == ["All", "Of appointments"]


@pytest.mark.parametrize("layout", ["table", "board", "calendar"])
def test_every_layout_has_the_form_that_saves_it_and_the_form_of_the_open_view(layout: str, owner: Client):
    save(owner, "Mine", f"view=all&layout={layout}", page=APPOINTMENTS)

    page = opened(owner, saved("Mine"), APPOINTMENTS)

    text = page.content.decode()
    assert f'action="{APPOINTMENTS}views/save/"' in text
    assert f'action="{APPOINTMENTS}views/change/"' in text
    assert page.context["cl"].saving["query"] == saved("Mine").query


def test_a_view_of_another_member_or_organization_is_unknown(
    owner: Client, closer: Client, other_organization: Organization
):
    save(closer, "Hana's")
    stranger = logged_in_client(owner_of(other_organization))
    save(stranger, "Globex", is_shared="on")

    for view in (str(saved("Hana's").pk), str(saved("Globex").pk), str(uuid4()), "nothing"):
        response = owner.get(f"{LEADS}?view={view}")
        assert shown_messages(response) == ["The list has no such view any more."]
        assert owner.get(response.url).status_code == 200
        assert owner.get(f"{LEADS}?saved={view}").context["cl"].saved_view is None
    for view in (saved("Hana's"), saved("Globex")):
        for act in ("rename", "save", "delete"):
            response = change(owner, view, act, name="Taken over", query="view=new")
            assert "The list has no such view any more." in shown_messages(response)
    assert set(SavedView.unscoped.values_list("name", flat=True)) == {"Hana's", "Globex"}


@pytest.mark.parametrize("role", MemberRole.values)
def test_all_roles_save_views_and_the_back_office_shares_them(role: str, organization: Organization, owner: Client):
    save(owner, "Everybody's", is_shared="on")
    client = logged_in_client(make_member(organization, "somebody@acme.example", role=role))
    is_back_office = role in (MemberRole.OWNER, MemberRole.MANAGER, MemberRole.SALES_OPS)

    save(client, "Own")
    save(client, "Shared", is_shared="on")
    page = opened(client, saved("Everybody's")).content.decode()
    answer = change(client, saved("Everybody's"), "delete")

    assert saved("Own").owner is not None
    assert SavedView.unscoped.filter(name="Shared", owner=None).exists() is is_back_office
    assert ("Share with everybody" in page, "views/change/" in page) == (is_back_office, is_back_office)
    assert answer.status_code == (302 if is_back_office else 403)
    assert SavedView.unscoped.filter(name="Everybody's").exists() is not is_back_office


def test_an_open_view_is_changed_renamed_and_deleted(owner: Client):
    save(owner, "First")
    save(owner, "Second")
    view = saved("First")

    change(owner, view, "save", query="view=new&p=3&saved=x")
    change(owner, view, "rename", name="Third")
    taken = change(owner, view, "rename", name="Second")

    view.refresh_from_db()
    assert (view.name, view.query) == ("Third", "view=new")
    assert shown_messages(taken)[-1] == "There is a view “Second” already. Choose another name."
    change(owner, view, "delete")
    assert labels(owner)[-2:] == ["All", "Second"]


def test_a_view_of_the_same_name_is_replaced_only_if_that_is_wanted(owner: Client, closer: Client):
    save(owner, "Mine", "view=new")
    refused = save(owner, "Mine", "view=all")

    assert "There is a view “Mine” already" in shown_messages(refused)[-1]
    assert (saved("Mine").query, refused.url) == ("view=new", f"{LEADS}?view=all")
    save(owner, "Mine", "view=all", replace="on")
    assert saved("Mine").query == "view=all"
    save(closer, "Mine", "view=new")
    save(owner, "Mine", "view=new", is_shared="on")
    assert SavedView.unscoped.filter(name="Mine").count() == 3


def test_a_member_has_at_most_50_views(owner: Client, organization: Organization):
    member = owner_of(organization)
    SavedView.unscoped.bulk_create(
        SavedView(organization=organization, owner=member, page="optins.optin", name=str(number), query="view=all")
        for number in range(MAX_VIEWS)
    )

    refused = save(owner, "One more")

    assert shown_messages(refused) == ["You have 50 views already. Delete one first."]
    save(owner, "Shared", is_shared="on")
    assert labels(owner)[-2:] == ["All", "Shared"]


@pytest.mark.parametrize(
    ("name", "query"),
    [("", "view=all"), ("x" * 61, "view=all"), ("a\0b", "view=all"), ("long", "q=" + "x" * 2000)],
)
def test_what_cannot_be_stored_is_refused_with_a_message(name: str, query: str, owner: Client):
    response = save(owner, name, query)

    assert response.status_code == 302
    assert shown_messages(response)
    assert not SavedView.unscoped.exists()


def test_a_list_whose_address_is_too_long_for_a_view_stays_open(owner: Client):
    query = "view=all&o=" + ".".join(["-1"] * 1_000)

    response = save(owner, "long", query)

    assert response.url == f"{LEADS}?{query}"
    assert shown_messages(response) == [
        "The address of this list has more than 2,000 characters. Choose fewer filters."
    ]


def test_a_view_whose_filter_is_gone_shows_all_rows_and_can_be_deleted(owner: Client):
    save(owner, "Old", "view=all&gone__exact=1&layout=board")
    save(owner, "Loop", f"view={uuid4()}")

    page = opened(owner, saved("Old"))

    assert page.status_code == 200
    assert "This view refers to something that no longer exists" in page.content.decode()
    assert page.context["cl"].saving["may_change"]
    assert opened(owner, saved("Loop")).context["cl"].view.name == "all"


def test_a_member_of_several_organizations_chooses_one_and_an_operator_gets_no_form(
    organization: Organization, other_organization: Organization
):
    member = make_member(organization, "both@acme.example")
    Membership.objects.create(organization=other_organization, user=member.user, role=MemberRole.OWNER)
    client = logged_in_client(member)

    save(client, "Of Globex", "view=all", organization=str(other_organization.pk), is_shared="on")
    refused = save(client, "Of Acme", "view=all", organization=str(organization.pk), is_shared="on")

    assert saved("Of Globex").organization == other_organization
    assert shown_messages(refused)[-1] == "You may not share views with everybody at Acme."
    operator = Client()
    operator.force_login(User.objects.create_superuser("root@ops.example", "secret-of-tests"))
    assert "views/save/" not in operator.get(LEADS).content.decode()
    assert save(operator, "Operator's").status_code == 403
    assert labels(operator)[-1] == "All"


def test_a_search_of_a_member_of_several_organizations_is_saved_where_its_rows_are(
    organization: Organization, other_organization: Organization
):
    """Erasing a lead deletes what the views of its organization say about it."""
    member = make_member(organization, "both@acme.example", role=MemberRole.MANAGER)
    Membership.objects.create(organization=other_organization, user=member.user, role=MemberRole.OWNER)
    client = logged_in_client(member)
    acme, globex = (f"organization__id__exact={row.pk}" for row in (organization, other_organization))

    offered = client.get(f"{LEADS}?view=all&{globex}&q=ada").context["cl"].saving["organizations"]
    save(client, "Ada", f"view=all&{globex}&q=ada", organization=str(organization.pk))
    save(client, "All", "view=all", organization=str(organization.pk))
    refused = save(client, "Eve", "view=all&q=eve", organization=str(organization.pk))
    changed = [change(client, saved("All"), "save", query=f"view=all&q=eve{query}") for query in ("", f"&{globex}")]
    change(client, saved("Ada"), "rename", query=f"view=all&{acme}&q=ada", name="Ada's")

    assert offered == [other_organization]
    assert (saved("Ada's").organization, saved("All").organization) == (other_organization, organization)
    assert [shown_messages(response)[-1] for response in (refused, *changed)] == [
        "Filter the list by one of your organizations before you save it.",
        "Filter the list by one of your organizations before you save it.",
        "The view is for Acme. Save the list as a new view.",
    ]
    assert saved("All").query == "view=all"
    change(client, saved("All"), "save", query=f"view=all&q=eve&{acme}")
    assert "q=eve" in saved("All").query


def test_a_shared_view_is_the_same_for_people_of_one_and_of_several_organizations(
    organization: Organization, other_organization: Organization, owner: Client, api: ApiClient, other_api: ApiClient
):
    member = make_member(organization, "both@acme.example", role=MemberRole.MANAGER)
    Membership.objects.create(organization=other_organization, user=member.user, role=MemberRole.OWNER)
    both, acme = logged_in_client(member), f"organization__id__exact={organization.pk}"
    for submit in (api.submit, other_api.submit):
        submit(email="ada@example.com")
        submit(email="bob@example.com")

    save(both, "Bob", f"view=all&{acme}&q=bob&layout=board", is_shared="on", organization=str(organization.pk))
    save(owner, "All", "view=all", is_shared="on")
    pages = [opened(client, saved(name)) for name in ("Bob", "All") for client in (owner, both)]

    assert [page.context["cl"].saved_view.name for page in pages] == ["Bob", "Bob", "All", "All"]
    assert [page.context["cl"].queryset.count() for page in pages] == [1, 1, 2, 2]
    assert [len(page.redirect_chain) for page in pages] == [2, 1, 1, 1]
    assert owner.get(f"{LEADS}?view=all&{acme}", follow=True).context["cl"].queryset.count() == 2
    assert owner.get(f"{LEADS}?view=all&organization__id__exact={other_organization.pk}").status_code == 400


def test_the_addresses_of_the_forms_lead_to_the_list_when_they_are_opened(owner: Client):
    for act in ("save", "change"):
        assert owner.get(f"{LEADS}views/{act}/").headers["Location"] == f"{LEADS}?"


def test_a_shared_view_that_a_colleague_has_changed_is_not_overwritten(owner: Client, organization: Organization):
    manager = logged_in_client(make_member(organization, "mia@acme.example", role=MemberRole.MANAGER))
    save(owner, "Hot", "view=all", is_shared="on")
    view = saved("Hot")
    [version] = re.findall('name="version" value="([^"]+)"', opened(owner, view).content.decode())
    change(manager, view, "save", query="view=all&q=cole", version=version)

    refused = [change(owner, view, act, query="view=all", version=version) for act in ("save", "rename", "delete")]

    text = "Someone has changed the view “Hot” since you opened the list. Open it again first."
    assert [shown_messages(response)[-1] for response in refused] == [text] * 3
    assert saved("Hot").query == "view=all&q=cole"
