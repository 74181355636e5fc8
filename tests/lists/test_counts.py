"""How many rows a list says it has, and what it says when there are more than it counts."""

import pytest
from django.test import Client

from leads.models import Lead
from organizations.models import Organization
from staff.toolkit import lists
from staff.toolkit.base import ServiceAdmin
from statuses.models import Status
from tests.factories import make_api, owner_of
from tests.staff.pages import TENANT_MODEL_ADMINS, list_url, logged_in_client


def test_every_list_counts_no_more_rows_than_its_limit():
    paginators = {model_admin.paginator for model_admin in TENANT_MODEL_ADMINS}

    assert paginators == {lists.BoundedPaginator}
    assert [page for page in TENANT_MODEL_ADMINS if page.show_full_result_count] == []


@pytest.mark.parametrize(("limit", "text", "pages"), [(3, "3 leads", 2), (2, "more than 2 leads", 1)])
def test_a_list_says_when_there_are_more_rows_than_it_counts(
    limit: int, text: str, pages: int, organization: Organization, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lists, "MAX_COUNT", limit)
    monkeypatch.setattr(ServiceAdmin, "list_per_page", 2)
    for number in range(3):
        make_api(organization).submit(email=f"lead{number}@example.com")
    owner: Client = logged_in_client(owner_of(organization))

    first = owner.get(list_url(Lead))
    beyond = owner.get(f"{list_url(Lead)}&p={pages + 1}")

    assert text in " ".join(first.content.decode().split())
    assert (first.context["cl"].paginator.num_pages, len(first.context["cl"].result_list)) == (pages, 2)
    assert beyond.status_code == 400


def test_the_only_page_has_the_oldest_row_even_if_another_has_come_since_the_count(organization: Organization):
    make_api(organization).submit(email="old@example.com")
    paginator = lists.BoundedPaginator(Lead.objects.of(organization).order_by("-created_at", "-pk"), per_page=2)
    assert paginator.count == 1
    make_api(organization).submit(email="new@example.com")

    assert [lead.email for lead in paginator.page(1).object_list] == ["new@example.com", "old@example.com"]


def test_the_heading_counts_only_what_a_search_has_left_in_a_list_without_views(organization: Organization):
    owner = logged_in_client(owner_of(organization))

    def has_count(address: str) -> bool:
        return "(<a href" in owner.get(address).content.decode().partition("</h1>")[0]

    statuses, leads = list_url(Status), list_url(Lead)
    assert [has_count(url) for url in (statuses, f"{statuses}&q=won")] == [False, True]
    assert [has_count(url) for url in (leads, f"{leads}&q=won")] == [False, False]
