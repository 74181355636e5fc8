"""How many statements each call costs: the same for one row and for three."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from organizations.models import Membership
from tests.client import Api

LISTS = ["/api/external/appointments", "/api/external/opt-ins", "/api/external/leads"]


def count(act: Callable[[], Any]) -> int:
    """Statements, without the savepoints that a test's own transaction makes of transactions."""
    with CaptureQueriesContext(connection) as seen:
        act()
    return sum(not query["sql"].startswith(("SAVEPOINT", "RELEASE")) for query in seen.captured_queries)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_costs_the_same_for_one_row_and_for_three(api: Api, host: Membership, path: str) -> None:
    add(api, host, 0)
    api.get(path)
    one = count(lambda: api.get(path))
    add(api, host, 1)
    add(api, host, 2)

    assert count(lambda: api.get(path)) == one


def add(api: Api, host: Membership, number: int) -> None:
    person = {"email": f"lead{number}@example.com"}
    api.submit(**person, questions_answers=[{"question": "Why?", "answer": "So"}])
    api.book(external_reference=f"ref-{number}", lead_email=person["email"], host_email=host.user.email, notes="Note")

