"""The order of a list: a large one is sorted only by columns that have an index, any other by every column."""

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead
from organizations.models import Organization
from staff.toolkit import lists
from tests.factories import make_api, owner_of
from tests.staff.pages import list_url, logged_in_client

TOO_MANY = "too many to sort by this column"


@pytest.fixture
def owner(organization: Organization) -> Client:
    """The owner of three leads with an appointment each."""
    api = make_api(organization)
    for number, name in enumerate(("Bob", "Cy", "Ada"), start=1):
        api.book(
            external_reference=name,
            lead_email=f"{name}@example.com",
            lead_first_name=name,
            schedule_time=f"2030-01-0{number}T10:00:00Z",
        )
    return logged_in_client(owner_of(organization))


def shown(client: Client, url: str) -> tuple[list[str], bool]:
    """Return the first names of the leads on a page, and whether it says that there are too many to sort."""
    response = client.get(url)
    rows = response.context["cl"].result_list
    return [getattr(row, "lead", row).first_name for row in rows], TOO_MANY in response.content.decode()


@pytest.mark.parametrize("query", ["", "&o=1", "&o=-1"])
def test_a_large_list_keeps_its_order_and_says_so(owner: Client, query: str, monkeypatch: pytest.MonkeyPatch):
    for limit, is_large in ((2, True), (3, False)):
        monkeypatch.setattr(lists, "MAX_COUNT", limit)
        names = {"": ["Ada", "Cy", "Bob"], "&o=1": ["Ada", "Bob", "Cy"], "&o=-1": ["Cy", "Bob", "Ada"]}

        for model in (Appointment, Lead):
            url = f"{list_url(model)}{query}"
            assert shown(owner, url) == (names["" if is_large else query], is_large and query != "")


def test_a_large_list_is_sorted_by_a_column_with_an_index(owner: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lists, "MAX_COUNT", 2)

    assert shown(owner, f"{list_url(Appointment)}&o=2") == (["Bob", "Cy", "Ada"], False)
    assert shown(owner, f"{list_url(Appointment)}&o=-2") == (["Ada", "Cy", "Bob"], False)


def test_few_rows_of_a_large_list_are_sorted_by_any_column(owner: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lists, "MAX_COUNT", 2)

    assert shown(owner, f"{list_url(Appointment)}&o=1&q=cy") == (["Cy"], False)


def test_headings_and_links_of_a_large_list_show_its_own_order(owner: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lists, "MAX_COUNT", 2)

    list_shown = owner.get(f"{list_url(Lead)}&o=1").context["cl"]

    assert "o=" not in list_shown.get_query_string({"p": 2})


def test_a_large_board_has_its_own_order(owner: Client, monkeypatch: pytest.MonkeyPatch):
    url = f"{list_url(Lead)}&layout=board&o=1"
    names = []
    for limit in (2, 3):
        monkeypatch.setattr(lists, "MAX_COUNT", limit)
        board = owner.get(url).context["board"]
        names.append([card.title for column in board for card in column.cards])

    assert names == [["Ada", "Cy", "Bob"], ["Ada", "Bob", "Cy"]]
