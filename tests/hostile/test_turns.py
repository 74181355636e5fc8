"""Floods of one address or organization at a web server, and what others notice (M4 and M6 of the catalogue).

Requests are made slow by a locked table, so that the tests depend on no time. Two addresses of the loopback network
stand for two client machines.
"""

import contextlib
import http.client
import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import pytest
from django.db import connection, transaction

from organizations.keys import parse_key
from organizations.models import Organization
from pipeline_backend.web.credentials import ANONYMOUS_PAGES_PER_MINUTE
from tests.client import ApiClient
from tests.factories import make_api, make_organization, owner_of
from tests.faults.stack import Stack, wait_for
from tests.hostile.test_slow_pages import count_waiting_for_locks, session_of

pytestmark = pytest.mark.django_db(transaction=True)

BUSY, COLLEAGUE, OTHER = "127.0.0.1", "127.0.0.2", "127.0.0.3"
# Each for one test: the server counts the pages of an address for a minute.
FLOODING, READING, SIGNED_OUT = "127.0.0.11", "127.0.0.12", "127.0.0.13"
LEADS, STATUSES = "/api/external/leads?email=a%40b.cd", "/api/external/statuses"
LEADS_PAGE, STATUSES_PAGE, SIGN_IN = "/admin/leads/lead/", "/admin/statuses/status/", "/admin/login/"
TOKEN = "t" * 32


class Answer(NamedTuple):
    """A response's status, headers and text."""

    status: int
    headers: http.client.HTTPMessage
    text: str


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start a web server with four threads in its only process, once for all tests."""
    with Stack(tmp_path_factory.mktemp("turns")) as stack:
        stack.settings |= {
            "RATE_LIMIT_PER_MINUTE": "100000",
            "METRICS_TOKEN": TOKEN,
        }
        stack.overrides |= {
            "ADMIN_REQUESTS_PER_MINUTE": 100_000,
            "ADMIN_STATEMENT_SECONDS": 30,
            "ADMIN_TRANSACTION_SECONDS": 60,
        }
        stack.start("web")
        yield stack


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    """Yield threads for clients."""
    with ThreadPoolExecutor(600) as pool:
        yield pool


def get(stack: Stack, path: str, *, address: str = BUSY, key: str = "", session: str = "") -> Answer:
    """Request a path from an address."""
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=120, source_address=(address, 0))
    headers = {"Host": "localhost", "x-api-key": key, "Cookie": f"sessionid={session}"}
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read().decode())


@contextlib.contextmanager
def locked_leads() -> Iterator[None]:
    """Let every statement that reads leads wait until the end of the block."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE leads_lead IN ACCESS EXCLUSIVE MODE")
        yield


def count_done(answers: list[Future[Answer]]) -> int:
    """Return how many requests are answered."""
    return sum(answer.done() for answer in answers)


def statuses_of(answers: list[Future[Answer]]) -> list[int]:
    """Wait for the answers, and return their statuses in ascending order."""
    return sorted(answer.result().status for answer in answers)


def test_one_organizations_slow_requests_leave_threads_to_another(
    stack: Stack, api: ApiClient, pool: ThreadPoolExecutor
) -> None:
    key, other_key = api.key or "", make_api(make_organization("Globex")).key or ""
    assert [get(stack, LEADS, key=each).status for each in (key, other_key)] == [200, 200]

    with locked_leads():
        slow = [pool.submit(get, stack, LEADS, key=key) for _ in range(16)]
        wait_for(lambda: count_waiting_for_locks() >= 2)
        of_other = [pool.submit(get, stack, STATUSES, address=OTHER, key=other_key) for _ in range(10)]
        wait_for(lambda: count_done(of_other) == 10)
        waiting = count_waiting_for_locks()

    assert (waiting, statuses_of(of_other)) == (2, [200] * 10)
    assert statuses_of(slow) == [200] * 16


def test_an_organizations_slow_pages_leave_a_thread_to_its_own_api_and_to_others(
    stack: Stack, api: ApiClient, organization: Organization, pool: ThreadPoolExecutor
) -> None:
    key, session = api.key or "", session_of(owner_of(organization))
    other = make_organization("Globex")
    other_key, other_session = make_api(other).key or "", session_of(owner_of(other))
    assert [get(stack, STATUSES, key=each).status for each in (key, other_key)] == [200, 200]
    assert [get(stack, STATUSES_PAGE, session=each).status for each in (session, other_session)] == [200, 200]

    with locked_leads():
        slow = [pool.submit(get, stack, LEADS_PAGE, session=session) for _ in range(8)]
        slow += [pool.submit(get, stack, f"{LEADS_PAGE}export.csv", session=session) for _ in range(8)]
        wait_for(lambda: count_waiting_for_locks() >= 2)
        answers = [get(stack, STATUSES, key=each).status for each in [key, other_key] * 5]
        pages_of_other = [get(stack, STATUSES_PAGE, session=other_session).status for _ in range(5)]
        sign_ins = [get(stack, SIGN_IN, address=OTHER).status for _ in range(5)]
        waiting, done = count_waiting_for_locks(), count_done(slow)

    assert answers == [200] * 10
    assert pages_of_other + sign_ins == [200] * 10
    assert (waiting, done) == (2, 0)
    assert statuses_of(slow) == [200] * 16


def test_too_many_requests_of_a_client_at_once_are_429_and_its_colleague_waits(
    stack: Stack, api: ApiClient, pool: ThreadPoolExecutor
) -> None:
    key = api.key or ""
    assert get(stack, LEADS, key=key).status == 200

    with locked_leads():
        # Two are in flight and 200 wait.
        answers = [pool.submit(get, stack, LEADS, key=key) for _ in range(205)]
        wait_for(lambda: count_done(answers) == 3)
        of_colleague = pool.submit(get, stack, LEADS, address=COLLEAGUE, key=key)
        refused = [answer.result() for answer in answers if answer.done()]

    assert statuses_of(answers) == [200] * 202 + [429] * 3
    assert of_colleague.result().status == 200
    assert [(each.headers["Content-Type"], each.headers["Retry-After"]) for each in refused] == [
        ("application/json", "1")
    ] * 3
    assert [json.loads(each.text) for each in refused] == [
        {"status": "error", "message": "Too many requests at once"}
    ] * 3
    request = urllib.request.Request(stack.url("/metrics"), headers={"Authorization": f"Bearer {TOKEN}"})
    with stack.open(request) as metrics:
        assert 'pipeline_limits_exceeded_total{limit="requests-at-once"} 3.0' in metrics.read().decode()


def test_a_flood_of_the_sign_in_page_by_one_address_refuses_only_its_own_pages(
    stack: Stack, organization: Organization, pool: ThreadPoolExecutor
) -> None:
    slow = [session_of(owner_of(make_organization(name))) for name in ("Globex", "Initech")]
    session = session_of(owner_of(organization))
    assert [get(stack, STATUSES_PAGE, session=each).status for each in (*slow, session)] == [200] * 3

    with locked_leads():
        pages = [pool.submit(get, stack, LEADS_PAGE, session=each) for each in slow]
        wait_for(lambda: count_waiting_for_locks() >= 2)
        flood = [pool.submit(get, stack, SIGN_IN, address=FLOODING) for _ in range(150)]
        wait_for(lambda: count_done(flood) >= 50)
        of_owner = pool.submit(get, stack, STATUSES_PAGE, session=session)
        of_visitor = pool.submit(get, stack, SIGN_IN, address=OTHER)
        wait_for(lambda: count_done(flood) >= 140 or of_owner.done())

    assert of_owner.result().status == 200
    assert of_visitor.result().status == 200
    assert statuses_of(pages) == [200] * 2
    assert statuses_of(flood) == [200] * 10 + [503] * 140


def test_pages_without_a_session_have_a_limit_a_minute_for_their_address_alone(
    stack: Stack, organization: Organization
) -> None:
    session = session_of(owner_of(organization))
    assert get(stack, STATUSES_PAGE, session=session).status == 200
    paths = [SIGN_IN, "/", "/unsubscribe/invitation/x", "/admin/password-reset", "/nothing"]
    allowed = [get(stack, paths[number % 5], address=READING).status for number in range(ANONYMOUS_PAGES_PER_MINUTE)]

    refused = [get(stack, path, address=READING) for path in paths]
    forged = get(stack, SIGN_IN, address=READING, session="0" * 32)

    assert 429 not in allowed
    assert {answer.status for answer in [*refused, forged]} == {429}
    assert all(1 <= int(answer.headers["Retry-After"]) <= 60 for answer in refused)
    assert get(stack, SIGN_IN, address=OTHER).status == 200
    assert get(stack, STATUSES_PAGE, address=READING, session=session).status == 200
    others = [get(stack, path, address=READING).status for path in ("/readyz", "/static/nothing.css", STATUSES)]
    assert others == [200, 404, 401]


def test_a_session_that_has_ended_counts_for_its_address_again(stack: Stack, organization: Organization) -> None:
    owner = owner_of(organization)
    session = session_of(owner)
    assert get(stack, STATUSES_PAGE, session=session).status == 200
    owner.user.set_password("another-long-password")
    owner.user.save()

    pages = range(ANONYMOUS_PAGES_PER_MINUTE + 1)
    statuses = [get(stack, STATUSES_PAGE, address=SIGNED_OUT, session=session).status for _ in pages]

    assert statuses == [302] * ANONYMOUS_PAGES_PER_MINUTE + [429]


def test_a_guessed_secret_takes_no_turn_of_the_organization(
    stack: Stack, api: ApiClient, pool: ThreadPoolExecutor
) -> None:
    key = api.key or ""
    parsed = parse_key(key)
    assert parsed
    guessed = replace(parsed, secret="0" * 32).text
    assert get(stack, LEADS, key=key).status == 200

    with locked_leads():
        slow = [pool.submit(get, stack, LEADS, key=key) for _ in range(203)]
        wait_for(lambda: count_done(slow) == 1)
        answers = [get(stack, LEADS, address=OTHER, key=guessed).status for _ in range(5)]

    assert answers == [401] * 5
    assert statuses_of(slow) == [200] * 202 + [429]
