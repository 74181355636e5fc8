"""The database ends a session or cancels a statement at any moment of a request: 503, and the repeated request finds
out what is stored (docs/interface.md, G7).
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from leads.models import Lead
from organizations.models import Organization
from tests.client import ApiClient
from tests.ending_proxy import FATAL, EndingProxy
from tests.factories import events_of, owner_of, summary_of
from tests.shared_rows import clear_caches

pytestmark = pytest.mark.django_db(transaction=True)

MAX_MOMENTS = 1_000
PASSWORD = "correct horse battery"
# Like a statement that takes too long: PostgreSQL aborts the transaction, and the session goes on.
CANCELED = "DO $$ BEGIN RAISE EXCEPTION 'canceling statement' USING ERRCODE = '57014'; END $$"

# Interrupts one request at a moment, from 1 on. Returns the response, and whether the request had fewer moments.
Interrupt = Callable[[Callable[[], Any], int], tuple[Any, bool]]


# The pages of the admin take many statements, and answer each kind of end by the same middleware.
ENDED = pytest.mark.parametrize("interrupt", ["ended with an error"], indirect=True)


@pytest.fixture(params=["ended with an error", "ended silently", "canceled"])
def interrupt(request: pytest.FixtureRequest) -> Iterator[Interrupt]:
    """Interrupt requests in one of three ways."""
    if request.param == "canceled":
        yield cancel_statement
        return
    last_message = FATAL if request.param == "ended with an error" else b""
    database = connection.settings_dict
    port = database["PORT"]
    with EndingProxy(database["HOST"], int(port)) as proxy:

        def end_session(send: Callable[[], Any], moment: int) -> tuple[Any, bool]:
            connection.close()
            connection.ensure_connection()
            proxy.end_after(moment, last_message)
            response = send()
            is_over = proxy.cancel_end()
            connection.close()
            return response, is_over

        connection.close()
        database["PORT"] = proxy.port
        yield end_session
        connection.close()
        database["PORT"] = port


def cancel_statement(send: Callable[[], Any], moment: int) -> tuple[Any, bool]:
    """Cancel the request's statement with this number."""
    count = 0

    def execute(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        nonlocal count
        count += 1
        return execute(CANCELED, None, False, context) if count == moment else execute(sql, params, many, context)

    with connection.execute_wrapper(execute):
        return send(), count < moment


@pytest.fixture
def client(organization: Organization, monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a browser that the owner is signed in with. Each request stores its session."""
    monkeypatch.setattr("accounts.sessions.USAGE_INTERVAL", timedelta(0))
    client = Client(raise_request_exception=False)
    client.force_login(owner_of(organization).user)
    return client


def interrupt_at_each_moment(interrupt: Interrupt, send: Callable[[int], Any], accepted: set[int]) -> int:
    """Send numbered requests, and interrupt each a little later than the one before.

    Assert that each is accepted or a 503, and is accepted when it is repeated, by the third time at the latest: on a
    busy machine, the new connection can take too long. Return how many have been sent when one has got to its end.
    """
    statuses = set()
    for moment in range(1, MAX_MOMENTS):
        response, is_over = interrupt(lambda number=moment: send(number), moment)  # type: ignore[misc]
        assert response.status_code in {*accepted, 503}, f"at moment {moment}: {response.content!r}"
        assert (response.status_code == 503) == ("Retry-After" in response.headers)
        statuses.add(response.status_code)
        assert any(send(moment).status_code in accepted for _ in range(3))
        if is_over:
            assert statuses == {response.status_code, 503}
            return moment
    raise AssertionError("No request gets to its end")


def test_an_interrupted_booking_is_a_503_and_is_stored_once_when_it_is_repeated(
    api: ApiClient, organization: Organization, interrupt: Interrupt
) -> None:
    def book(number: int) -> Any:
        return api.book(external_reference=f"ref-{number}", lead_email=f"{number}@example.com")

    count = interrupt_at_each_moment(interrupt, book, {200, 201})

    assert summary_of(organization)["appointments"] == count
    assert Counter(events_of(organization)) == {"appointment.created": count, "lead.created": count}


def test_an_interrupted_opt_in_is_a_503_and_is_stored_once_when_it_is_repeated(
    api: ApiClient, organization: Organization, interrupt: Interrupt
) -> None:
    def submit(number: int) -> Any:
        return api.submit(external_reference=f"ref-{number}", email=f"{number}@example.com")

    count = interrupt_at_each_moment(interrupt, submit, {200, 201})

    assert summary_of(organization)["opt_ins"] == count


def test_an_interrupted_list_is_a_503_and_is_there_when_it_is_repeated(api: ApiClient, interrupt: Interrupt) -> None:
    api.book()

    assert interrupt_at_each_moment(interrupt, lambda _: api.get("/api/external/appointments"), {200}) > 1


@ENDED
def test_an_interrupted_page_of_the_admin_is_a_503(client: Client, interrupt: Interrupt) -> None:
    assert interrupt_at_each_moment(interrupt, lambda _: client.get("/admin/leads/lead/"), {200}) > 1


@ENDED
def test_an_interrupted_form_of_the_admin_is_a_503_and_adds_one_row_when_it_is_sent_again(
    client: Client, organization: Organization, interrupt: Interrupt
) -> None:
    def add_lead(number: int) -> Any:
        new_id = f"00000000-0000-7000-8000-{number:012}"
        return client.post("/admin/leads/lead/add/", {"email": f"{number}@example.com", "new_id": new_id})

    count = interrupt_at_each_moment(interrupt, add_lead, {302})

    assert Lead.unscoped.filter(organization=organization).count() == count


def test_an_interrupted_sign_in_is_a_503_and_works_when_it_is_repeated(
    organization: Organization, interrupt: Interrupt
) -> None:
    user = owner_of(organization).user
    user.set_password(PASSWORD)
    user.save()

    def sign_in(_: int) -> Any:
        clear_caches()  # which have the limits of sign-ins
        client = Client(raise_request_exception=False)
        return client.post("/admin/login/", {"username": user.email, "password": PASSWORD})

    assert interrupt_at_each_moment(interrupt, sign_in, {302}) > 1
