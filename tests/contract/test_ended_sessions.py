"""The database ends a session at any moment of a request: 503, and the repeated request finds out what is stored
(docs/interface.md, G7).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from leads.models import Lead
from organizations.models import Organization
from tests.client import ApiClient
from tests.ending_proxy import FATAL, EndingProxy
from tests.factories import events_of, owner_of, summary_of

pytestmark = pytest.mark.django_db(transaction=True)

MAX_MOMENTS = 1_000
each_end = pytest.mark.parametrize("last_words", [FATAL, b""], ids=["with an error", "silently"])


@pytest.fixture
def proxy() -> Iterator[EndingProxy]:
    """Connect to PostgreSQL through a proxy that can end sessions."""
    database = connection.settings_dict
    port = database["PORT"]
    connection.close()
    with EndingProxy(database["HOST"], int(port)) as proxy:
        database["PORT"] = proxy.port
        yield proxy
        connection.close()
        database["PORT"] = port


def send_at_each_moment(proxy: EndingProxy, last_words: bytes, send: Callable[[int], Any], accepted: set[int]) -> int:
    """Send numbered requests, and end the session of each a little later than that of the request before.

    Assert that each is accepted or a 503, and is accepted when it is repeated. Return how many have been sent when one
    has got to its end.
    """
    statuses = set()
    for count in range(1, MAX_MOMENTS):
        connection.close()
        connection.ensure_connection()
        proxy.end_after(count, last_words)
        response = send(count)
        is_over = proxy.spare()
        assert response.status_code in {*accepted, 503}, f"at moment {count}: {response.content!r}"
        assert (response.status_code == 503) == ("Retry-After" in response.headers)
        statuses.add(response.status_code)

        connection.close()
        assert send(count).status_code in accepted
        if is_over:
            assert statuses == {response.status_code, 503}
            return count
    raise AssertionError("No request gets to its end")


@each_end
def test_a_booking_whose_session_ends_is_a_503_and_is_stored_once_when_it_is_repeated(
    api: ApiClient, organization: Organization, proxy: EndingProxy, last_words: bytes
) -> None:
    count = send_at_each_moment(
        proxy,
        last_words,
        lambda number: api.book(external_reference=f"ref-{number}", lead_email=f"{number}@example.com"),
        {200, 201},
    )

    assert summary_of(organization)["appointments"] == count
    assert Counter(events_of(organization)) == {"appointment.created": count, "lead.created": count}


@each_end
def test_an_opt_in_whose_session_ends_is_a_503_and_is_stored_once_when_it_is_repeated(
    api: ApiClient, organization: Organization, proxy: EndingProxy, last_words: bytes
) -> None:
    count = send_at_each_moment(
        proxy,
        last_words,
        lambda number: api.submit(external_reference=f"ref-{number}", email=f"{number}@example.com"),
        {200, 201},
    )

    assert summary_of(organization)["opt_ins"] == count


@each_end
def test_a_list_whose_session_ends_is_a_503_and_is_there_when_it_is_repeated(
    api: ApiClient, proxy: EndingProxy, last_words: bytes
) -> None:
    api.book()

    assert send_at_each_moment(proxy, last_words, lambda _: api.get("/api/external/appointments"), {200}) > 1


@each_end
def test_a_page_of_the_admin_whose_session_ends_is_a_503(
    organization: Organization, proxy: EndingProxy, last_words: bytes
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)

    assert send_at_each_moment(proxy, last_words, lambda _: client.get("/admin/leads/lead/"), {200}) > 1


@each_end
def test_a_form_of_the_admin_whose_session_ends_is_a_503_and_adds_one_row_when_it_is_sent_again(
    organization: Organization, proxy: EndingProxy, last_words: bytes
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)

    def add_lead(number: int) -> Any:
        new_id = f"00000000-0000-7000-8000-{number:012}"
        return client.post("/admin/leads/lead/add/", {"email": f"{number}@example.com", "new_id": new_id})

    count = send_at_each_moment(proxy, last_words, add_lead, {302})

    assert Lead.unscoped.filter(organization=organization).count() == count
