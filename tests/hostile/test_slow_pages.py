"""Slow pages and sign-ins leave threads to others, and cost the person who requests them (L6 of the catalogue)."""

import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.crypto import get_random_string

from accounts.sign_in_limits import COOKIE, remember_browser
from foundation.api.rate_limits import hit
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import make_organization, owner_of
from tests.faults.stack import Stack, wait_for

pytestmark = pytest.mark.django_db(transaction=True)
PAGES = 11  # one is in flight, and ten wait
STATEMENT_SECONDS = 6
PASSWORD = "secret-of-tests"


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The web server with four threads in its only process."""
    with Stack(tmp_path_factory.mktemp("slow-pages")) as stack:
        stack.settings["BEHIND_PROXY"] = "true"
        stack.overrides |= {"ADMIN_STATEMENT_SECONDS": STATEMENT_SECONDS, "ADMIN_REQUESTS_PER_MINUTE": 60}
        stack.start("web")
        yield stack


def session_of(member: Membership) -> str:
    """Return a session cookie of the member."""
    client = Client()
    client.force_login(member.user)
    return client.cookies["sessionid"].value


def owner_at_the_start_of_a_window() -> Membership:
    """Return the owner of a new organization whose window of the rate limit has just begun, and lasts for the test."""
    while True:
        owner = owner_of(make_organization(get_random_string(8)))
        # The second in which a window begins depends on the key alone.
        if hit(RequestFactory().get("/"), group="tests", key=owner.user_id, limit=1).reset_after > 45:
            return owner


def get_page(stack: Stack, session: str) -> int:
    """Request the list of leads, and return the status."""
    headers = {"Cookie": f"sessionid={session}", "Host": "localhost"}
    with stack.open(urllib.request.Request(stack.url("/admin/leads/lead/"), headers=headers)) as response:
        status: int = response.status
    return status


def sign_in(stack: Stack, email: str, *, address: str, cookies: str = "") -> int:
    """Send the sign-in form from this address; return the status: 302 if the person is in, 200 for a wrong password."""
    token = "a" * 32
    form = {"username": email, "password": PASSWORD, "csrfmiddlewaretoken": token}
    headers = {"Cookie": f"csrftoken={token}; {cookies}", "Host": "localhost", "X-Forwarded-For": address}
    data = urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(stack.url("/admin/login/"), data=data, headers=headers)
    with urllib.request.build_opener(NoRedirect).open(request, timeout=60) as response:
        status: int = response.status
    return status


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Returns every response as it is."""

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        return fp

    http_error_429 = http_error_503 = http_error_302


def count_waiting_for_locks() -> int:
    """Return how many statements wait for a lock now."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        count: int = cursor.fetchone()[0]
    return count


def test_slow_pages_leave_threads_to_the_api_and_use_up_the_persons_limit(
    stack: Stack, organization: Organization, api: ApiClient
):
    session, other_session = session_of(owner_at_the_start_of_a_window()), session_of(owner_of(organization))
    assert get_page(stack, session) == 200

    with ThreadPoolExecutor(PAGES) as pool:
        # Every list of leads waits for this lock until its statement times out.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE leads_lead IN ACCESS EXCLUSIVE MODE")
            pages = [pool.submit(get_page, stack, session) for _ in range(PAGES)]
            wait_for(lambda: count_waiting_for_locks() >= 1)
            codes = [stack.get("/api/external/statuses", api.key or "")[0] for _ in range(10)]
            assert [page.result() for page in pages if page.done()] == []  # so none of the requests waited for a page
            wait_for(lambda: any(page.done() for page in pages))
        answers = [page.result() for page in pages]

    assert codes == [200] * 10
    # The first one gave up after six seconds; each of those counts as ten requests, so the limit of 60 ends the rest.
    assert set(answers) <= {200, 429, 503}
    assert 503 in answers
    assert get_page(stack, session) == 429
    assert get_page(stack, other_session) == 200


def test_sign_ins_from_a_whole_network_refuse_neither_sign_ins_nor_the_reset_page_of_another(
    stack: Stack, host: Membership
):
    host.user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt")
    host.user.save()
    reset_page = urllib.request.Request(stack.url("/admin/password-reset/"), headers={"Host": "localhost"})
    reset_page.add_header("X-Forwarded-For", "198.51.100.7")

    with ThreadPoolExecutor(120) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE organizations_securityevent IN ACCESS EXCLUSIVE MODE")
            flood = [
                pool.submit(sign_in, stack, "nobody@globex.example", address=f"2001:db8:0:{number:x}::1")
                for number in range(100)
            ]
            wait_for(lambda: sum(each.done() for each in flood) >= 50)
            own = pool.submit(sign_in, stack, host.user.email, address="198.51.100.7")
            page = pool.submit(stack.open, reset_page)
            wait_for(lambda: own.done() or sum(each.done() for each in flood) >= 74)
        answers = [each.result() for each in flood]

    assert page.result().status == 200
    assert own.result() == 302
    assert answers.count(503) >= 50


def test_sign_ins_of_strangers_leave_a_thread_to_signed_in_people_and_one_to_known_browsers(
    stack: Stack, host: Membership
):
    session, response = session_of(owner_at_the_start_of_a_window()), HttpResponse()
    host.user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt")  # the server knows no other format
    host.user.save()
    remember_browser(RequestFactory().get("/"), host.user, response)
    known = f"{COOKIE}={response.cookies[COOKIE].value}"
    assert get_page(stack, session) == 200  # from now on the process knows the session

    with ThreadPoolExecutor(PAGES) as pool:
        # Every sign-in waits for this lock, when it is logged.
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE organizations_securityevent IN ACCESS EXCLUSIVE MODE")
            strangers = [
                pool.submit(sign_in, stack, "nobody@acme.example", address=f"192.0.2.{number}") for number in range(3)
            ]
            wait_for(lambda: count_waiting_for_locks() == 1)
            pages = [get_page(stack, session) for _ in range(3)]
            own = pool.submit(sign_in, stack, host.user.email, address="192.0.2.1", cookies=known)
            wait_for(lambda: count_waiting_for_locks() == 2)
        answers = {stranger.result() for stranger in strangers}

    assert pages == [200] * 3
    assert own.result() == 302
    # On a busy machine the statement of one may have been canceled.
    assert answers <= {200, 503}
