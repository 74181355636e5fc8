"""Row-level security with real transactions and several connections: what a connection did before reveals nothing."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, connections, transaction

from organizations.isolation import bypass_rls
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api
from tests.hostile.tenants import organizations_in

SetViewCode = Callable[[Callable[[], Any]], None]
BothOrganizations = tuple[Organization, Organization]


@pytest.fixture
def both_organizations(
    transactional_db: None, organization: Organization, other_organization: Organization
) -> BothOrganizations:
    """Acme and Globex, with a lead each."""
    for tenant in (organization, other_organization):
        assert make_api(tenant).submit().status_code == 201
    return organization, other_organization


@transaction.atomic
def see_and_roll_back() -> list[str]:
    """Return the organizations that a statement in a transaction sees. Each call enters the same block."""
    seen = organizations_in("leads_lead")
    transaction.set_rollback(True)
    return seen


@pytest.mark.django_db(transaction=True)
def test_a_function_that_was_rolled_back_has_the_scope_again_in_its_next_call(
    set_view_code: SetViewCode, api: ApiClient, both_organizations: BothOrganizations
):
    def call_twice() -> list[list[str]]:
        with bypass_rls():
            organizations_in("leads_lead")
        return [see_and_roll_back(), see_and_roll_back()]

    set_view_code(call_twice)

    assert api.get("/api/unscoped").json()["data"] == [[str(both_organizations[0].pk)]] * 2


@pytest.mark.django_db(transaction=True)
def test_persistent_connections_of_many_threads_serve_only_the_requests_organization(
    set_view_code: SetViewCode, both_organizations: BothOrganizations
):
    keys = [make_api(tenant).key for tenant in both_organizations]
    set_view_code(lambda: organizations_in("leads_lead"))

    def sees_only_its_own(number: int) -> bool:
        response = ApiClient(keys[number % 2]).get("/api/unscoped")
        if number % 5 == 0:
            connection.close()  # this thread's next request starts on a new connection
        return response.json()["data"] == [str(both_organizations[number % 2].pk)]

    def run_requests(first: int) -> list[bool]:
        try:
            return [sees_only_its_own(first + number) for number in range(15)]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run_requests, range(4)))

    assert results == [[True] * 15] * 4
