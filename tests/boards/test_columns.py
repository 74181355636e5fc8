"""What a board shows: columns, counts, cards, and how many statements it takes."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead
from leads.services import change_status
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from organizations.services import add_member
from statuses.models import Status, contrast, luminance, readable_colors
from tests.boards.pages import columns_of, lead_named, open_board, status_named
from tests.client import ApiClient
from tests.factories import make_status, owner_of, set_columns
from tests.staff.forms import form_data
from tests.staff.pages import admin_url


@pytest.fixture
def leads(organization: Organization, api: ApiClient) -> None:
    """Ada and Bob are new leads; Cy has won."""
    for name in ("Ada", "Bob", "Cy"):
        api.submit(email=f"{name}@example.com".lower(), first_name=name, phone_e164="+14155552671", phone_country="US")
    won = status_named(organization, "Won")
    change_status(organization=organization, actor=SYSTEM, lead_id=lead_named(organization, "Cy").pk, status_id=won.pk)


@pytest.mark.usefixtures("leads")
def test_columns_are_the_statuses_of_the_board_in_the_order_of_a_sale(manager: Client, organization: Organization):
    make_status(organization, "Other board", type="APPOINTMENT")
    make_status(organization, "Retired", is_active=False)
    make_status(organization, "First", position=0, role="NEW_LEAD")
    make_status(organization, "Very last", position=7, role="NEW_LEAD")

    board = open_board(manager, Lead).context["board"]

    names = [column.name for column in board]
    assert names[:4] == ["First", "New lead", "Appointment booked", "No-show"]
    assert (names[-1], "Other board" in names, "Retired" in names) == ("Very last", False, False)
    assert {column.name: column.count for column in board if column.count != "0"} == {"New lead": "2", "Won": "1"}


@pytest.mark.usefixtures("leads")
def test_a_retired_status_that_leads_have_is_a_column_but_no_target(manager: Client, organization: Organization):
    Status.objects.of(organization).filter(name="Won").update(
        is_active=False, is_lead_default=False, is_appointment_default=False
    )

    won = next(column for column in open_board(manager, Lead).context["board"] if column.name == "Won")

    assert ([card.title for card in won.cards], won.is_target) == (["Cy"], False)


@pytest.mark.usefixtures("leads")
def test_filters_search_view_and_order_apply(manager: Client, organization: Organization):
    won = status_named(organization, "Won")

    assert columns_of(open_board(manager, Lead)) == {"New lead": ["Bob", "Ada"], "Won": ["Cy"]}
    assert columns_of(open_board(manager, Lead, "q=ada")) == {"New lead": ["Ada"]}
    assert columns_of(open_board(manager, Lead, f"status__id__exact={won.pk}")) == {"Won": ["Cy"]}
    assert columns_of(open_board(manager, Lead, "view=new")) == {"New lead": ["Bob", "Ada"]}
    assert columns_of(open_board(manager, Lead, "o=1")) == {"New lead": ["Ada", "Bob"], "Won": ["Cy"]}
    assert "No leads here." in open_board(manager, Lead, "q=nobody").content.decode()


def test_a_card_says_how_long_it_has_had_its_status_and_when_that_is_too_long(
    manager: Client, organization: Organization, api: ApiClient
):
    api.submit(email="ada@example.com", first_name="Ada")
    Lead.objects.of(organization).update(status_since=now() - timedelta(days=4, hours=1))

    def card(limit: int | None) -> str:
        set_columns(Status, organization, status_named(organization, "New lead").pk, days_limit=limit)
        return open_board(manager, Lead).content.decode()

    assert "4 days in this status<" in card(None)
    assert "board-late" not in card(4)
    assert "4 days in this status, limit 3<" in card(3)


def test_the_limit_and_the_place_are_on_the_page_of_the_status(manager: Client, organization: Organization):
    status = status_named(organization, "Won")
    url = admin_url(Status, "change", status.pk)

    response = manager.post(url, form_data(manager, url, days_limit="14", position="3"))

    status.refresh_from_db()
    assert (response.status_code, status.days_limit, status.position) == (302, 14, 3)


def test_appointments_show_time_host_and_those_without_outcome(
    manager: Client, organization: Organization, api: ApiClient, host
):
    api.book(external_reference="1", lead_email="ada@example.com", lead_first_name="Ada", host_email=host.user.email)
    api.book(external_reference="2", lead_email="bob@example.com", lead_first_name="Bob")
    Appointment.objects.of(organization).filter(external_reference="2").update(outcome=None)

    response = open_board(manager, Appointment)

    assert columns_of(response) == {"No outcome": ["Bob"], "Appointment booked": ["Ada"]}
    assert "Hana Host" in response.content.decode()


def test_more_cards_come_in_pages_and_the_form_leads_to_the_list(
    manager: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("staff.boards.cards.PAGE_SIZE", 2)
    for number in range(5):
        api.submit(email=f"lead{number}@example.com", first_name=f"Lead {number}")
    column = next(column for column in open_board(manager, Lead, "q=lead").context["board"] if column.cards)

    pages = [[card.title for card in column.cards]]
    while column.has_more:
        response = manager.get(f"{admin_url(Lead, 'changelist')}{column.more_url}")
        column = response.context["column"]
        pages.append([card.title for card in column.cards])

    assert pages == [["Lead 4", "Lead 3"], ["Lead 2", "Lead 1"], ["Lead 0"]]
    assert manager.get(f"{admin_url(Lead, 'changelist')}{column.list_url}").context["cl"].result_count == 5


def test_a_board_of_many_columns_begins_with_few_cards_in_each(
    manager: Client, organization: Organization, api: ApiClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("staff.boards.cards.MAX_CARDS", 20)
    for number in range(7):
        api.submit(email=f"lead{number}@example.com", first_name=f"Lead {number}")

    column = next(column for column in open_board(manager, Lead).context["board"] if column.cards)
    more = manager.get(f"{admin_url(Lead, 'changelist')}{column.more_url}").context["column"]

    assert [len(column.cards), len(more.cards), more.has_more] == [5, 2, False]


@pytest.mark.parametrize("query", ["column=x&offset=-1", "column=&offset=1000", "column=&offset=²"])
def test_cards_that_a_board_has_not_are_refused(manager: Client, query: str):
    assert manager.get(f"{admin_url(Lead, 'changelist')}?layout=board&{query}").status_code == 400


def test_a_member_of_several_organizations_sees_one_and_can_choose(
    organization: Organization, other_organization: Organization, api: ApiClient, other_api: ApiClient
):
    api.submit(email="ada@example.com", first_name="Ada")
    other_api.submit(email="zed@example.com", first_name="Zed")
    user = owner_of(organization).user
    add_member(organization=other_organization, user=user, role=MemberRole.MANAGER)
    client = Client()
    client.force_login(user)

    assert columns_of(open_board(client, Lead)) == {"New lead": ["Ada"]}
    chosen = open_board(client, Lead, f"organization__id__exact={other_organization.pk}")
    assert columns_of(chosen) == {"New lead": ["Zed"]}
    assert [row.name for row in chosen.context["board_organizations"]] == ["Acme", "Globex"]


def test_choosing_the_organization_keeps_all_values_of_a_filter(
    organization: Organization, other_organization: Organization
):
    user = owner_of(organization).user
    add_member(organization=other_organization, user=user, role=MemberRole.MANAGER)
    client = Client()
    client.force_login(user)

    page = open_board(
        client, Appointment, "call_category__exact=SALES_CALL&call_category__exact=TRIAGE_CALL"
    ).content.decode()

    form = page[page.index('class="board-bar"') :].partition("</form>")[0]
    assert re.findall(r'name="call_category__exact" value="(\w+)"', form) == ["SALES_CALL", "TRIAGE_CALL"]


@pytest.mark.parametrize("model", [Lead, Appointment])
def test_the_number_of_statements_does_not_grow(
    manager: Client, organization: Organization, api: ApiClient, model: type[Model], host: Membership
):
    def add(number: int) -> None:
        email = f"lead{number}@example.com"
        api.submit(email=email, first_name=f"Lead {number}", traffic={"utm_source": f"source {number}"})
        api.book(
            external_reference=str(number),
            lead_email=email,
            host_email=host.user.email,
            event_type_name=f"Type {number}",
        )

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert columns_of(open_board(manager, model))
        return len(captured)

    add(0)
    open_board(manager, model)  # the first request of a session writes more
    before = statements()
    for number in range(1, 5):
        add(number)
        make_status(organization, f"Status {number}")

    assert statements() == before


@pytest.mark.parametrize(
    ("text", "background", "expected"),
    [("#777777", "#888888", "#000000"), ("#222222", "#111111", "#ffffff"), ("#1e3a8a", "#dbeafe", "#1e3a8a")],
)
def test_text_that_is_hard_to_read_is_black_or_white(text: str, background: str, expected: str):
    color, _ = readable_colors(Status(text_color=text, bg_color=background))

    assert color == expected
    assert contrast(luminance(color), luminance(background)) >= 4.5
