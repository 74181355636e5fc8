"""Rate limits as a stranger would try to get around them (decision 7; abuse cases R1 to R12)."""

import random
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as configured
from django.core.cache import caches
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from time_machine import Traveller

from organizations.models import ApiKey, Organization
from organizations.services import revoke_key
from pipeline_backend.api.rate_limits import SlidingWindowCache, hit
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api, snapshot_of

PATH = "/api/external/statuses"
START = datetime(2026, 6, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STRANGE = "pb_nobody"


@pytest.fixture
def clock() -> Iterator[Traveller]:
    """Time stands still unless a test moves it."""
    with time_machine.travel(START, tick=False) as clock:
        yield clock


def is_let_through(limit: int, whom: str = "somebody") -> bool:
    """One more request of theirs."""
    return not hit(RequestFactory().get("/"), group="tests", key=whom, limit=limit).exceeded


def redis_at(address: str) -> Any:
    """The counters' server is there."""
    return override_settings(
        CACHES={**configured.CACHES, "default": {**configured.CACHES["default"], "LOCATION": address}}
    )


@pytest.fixture
def no_redis() -> Iterator[None]:
    """Nothing listens at the counters' address."""
    with redis_at("redis://127.0.0.1:1/0"):
        yield
    SlidingWindowCache.circuit_open_until = 0.0


@pytest.fixture
def black_hole() -> Iterator[None]:
    """Somebody listens there, and never answers."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        redis_at(f"redis://127.0.0.1:{listener.getsockname()[1]}/0"),
    ):
        SlidingWindowCache.circuit_open_until, SlidingWindowCache.last_logged_at = 0.0, float("-inf")
        yield
    SlidingWindowCache.circuit_open_until = 0.0


def test_of_200_at_once_exactly_100_are_let_through():
    together = threading.Barrier(50)
    answers: list[bool] = []

    def four() -> None:
        together.wait()
        answers.extend(is_let_through(100) for _ in range(4))

    threads = [threading.Thread(target=four) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(answers), sum(answers)) == (200, 100)


@pytest.mark.parametrize("second", range(0, 60, 7))
def test_a_burst_on_each_side_of_any_moment_is_one_burst(second: int, clock: Traveller):
    clock.shift(second + 0.95)
    before = [is_let_through(50) for _ in range(60)]
    clock.shift(0.1)
    after = [is_let_through(50) for _ in range(60)]

    assert (sum(before), sum(after)) == (50, 0)


@pytest.mark.parametrize("store", ["redis", "memory"])
def test_no_minute_has_more_than_the_limit_wherever_it_begins(
    store: str, clock: Traveller, request: pytest.FixtureRequest
):
    if store == "memory":
        request.getfixturevalue("no_redis")
    rhythm = random.Random(store)  # the same on each run
    let_through, moment = [], START
    for _ in range(400):
        moment += timedelta(milliseconds=rhythm.choice([0, 1, 250, 1000, 9000]))
        clock.move_to(moment)
        if is_let_through(20):
            let_through.append(moment)

    busiest = max(sum(start <= other < start + MINUTE for other in let_through) for start in let_through)
    assert busiest == 20
    assert moment - START > 5 * MINUTE


def test_waiting_as_told_is_enough_and_a_second_less_is_not(api: ApiClient, settings: Any, clock: Traveller):
    settings.RATE_LIMIT_PER_MINUTE = 3
    for _ in range(3):
        api.get(PATH)
        clock.shift(10)
    wait = int(api.get(PATH).headers["Retry-After"])

    clock.shift(wait - 1)
    early = api.get(PATH)
    clock.shift(1)

    assert wait == 30
    assert (early.status_code, early.headers["Retry-After"]) == (429, "1")
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]


def test_refused_requests_are_not_counted(api: ApiClient, settings: Any, clock: Traveller):
    settings.RATE_LIMIT_PER_MINUTE = 2
    codes = []
    for _ in range(12):
        codes.append(api.get(PATH).status_code)
        clock.shift(5)

    assert codes == [200, 200, *[429] * 10]
    assert [api.get(PATH).status_code for _ in range(3)] == [200, 429, 429]


def test_what_is_left_and_when_there_is_more_is_told(api: ApiClient, settings: Any, clock: Traveller):
    settings.RATE_LIMIT_PER_MINUTE = 3
    told = []
    for _ in range(4):
        told.append(api.get(PATH).headers["RateLimit"])
        clock.shift(15)

    assert told == ['"default";r=2;t=60', '"default";r=1;t=45', '"default";r=0;t=30', '"default";r=0;t=15']


def test_a_refusal_costs_no_query_and_changes_nothing(
    api: ApiClient, organization: Organization, settings: Any, django_assert_num_queries: Any
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert api.get(PATH).status_code == 200
    before = snapshot_of(organization)

    with django_assert_num_queries(0):
        answers = [api.book(), api.submit(), api.get(PATH), api.get("/api/nothing")]

    for answer in answers:
        assert_error(answer, 429, "Too many requests")
        assert answer.headers["RateLimit-Policy"] == '"default";q=1;w=60'
        assert answer.headers["RateLimit"].startswith('"default";r=0;t=')
        assert answer.headers["Retry-After"] == answer.headers["RateLimit"].rpartition("=")[2]
    assert snapshot_of(organization) == before


def test_a_refused_key_that_is_revoked_is_never_served_again(
    api: ApiClient, organization: Organization, settings: Any, clock: Traveller
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]

    revoke_key(key=ApiKey.objects.of(organization).get())
    codes = []
    for _ in range(20):
        codes.append(api.get(PATH).status_code)
        clock.shift(4)

    # What is remembered of a limit is forgotten after five seconds.
    assert codes == [429, 429, *[401] * 18]


def test_a_wrong_secret_learns_nothing_of_a_used_up_limit(api: ApiClient, organization: Organization, settings: Any):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]
    twin = make_api(organization)
    ApiKey.objects.of(organization).filter(key_id=twin.key[3:15]).delete()

    assert_error(twin.get(PATH), 401, "Invalid or revoked API key")


def test_a_higher_limit_counts_within_seconds(
    api: ApiClient, organization: Organization, settings: Any, clock: Traveller
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]

    organization.rate_limit_per_minute = 10
    organization.save()
    clock.shift(5)

    assert api.get(PATH).status_code == 200


def test_a_clock_set_back_refuses_nobody_for_longer_than_a_minute(clock: Traveller):
    assert [is_let_through(1), is_let_through(1)] == [True, False]

    clock.shift(-3600)

    usage = hit(RequestFactory().get("/"), group="tests", key="somebody", limit=1)
    redis = caches["default"]._cache.get_client()
    assert (usage.exceeded, usage.reset_after) == (True, 60)
    assert [0 < redis.pttl(key) <= 60_000 for key in redis.keys("*tests*")] == [True]


def test_counters_name_nobody(db: None, api: ApiClient):
    Client(REMOTE_ADDR="203.0.113.77").post(reverse("admin:login"), {"username": "ada@example.com", "password": "x"})
    Client(REMOTE_ADDR="203.0.113.77").get(PATH)
    api.get(PATH)

    keys = caches["default"]._cache.get_client().keys("pb:*")
    stored = str(keys)
    assert len(keys) == 4  # by address and by account, failed keys by address, the organization
    assert [word for word in ("203.0.113.77", "ada@", api.key[3:15]) if word in stored] == []


@pytest.mark.parametrize(
    ("given", "code"), [("198.51.100.1", 401), ("203.0.113.9, 198.51.100.1", 401), ("198.51.100.1, 203.0.113.9", 429)]
)
def test_behind_a_trusted_proxy_its_word_counts_and_nothing_before_it(given: str, code: int, db: None, settings: Any):
    settings.FAILED_KEYS_PER_MINUTE = 1
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert ApiClient(STRANGE).get(PATH, x_forwarded_for="192.0.2.1, 203.0.113.9").status_code == 401

    assert ApiClient(STRANGE).get(PATH, x_forwarded_for=given).status_code == code


ADDRESSES = {
    "one network of IPv6": ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", 429),
    "two networks of IPv6": ("2001:db8:1:2::1", "2001:db8:1:3::1", 401),
    "IPv4 written as IPv6": ("::ffff:203.0.113.1", "::ffff:203.0.113.2", 401),
    "no address at all": ("unix:/a", "unix:/b", 401),
}


@pytest.mark.parametrize(("first", "second", "code"), ADDRESSES.values(), ids=ADDRESSES)
def test_failures_are_counted_by_who_can_choose_among_the_addresses(
    first: str, second: str, code: int, db: None, settings: Any
):
    settings.FAILED_KEYS_PER_MINUTE = 1

    codes = [Client(REMOTE_ADDR=address).get(PATH).status_code for address in (first, second)]

    assert codes == [401, code]


def test_failures_of_strangers_take_nothing_from_an_organization(api: ApiClient, settings: Any):
    settings.FAILED_KEYS_PER_MINUTE = 1
    wrong = [ApiClient(STRANGE).get(PATH).status_code for _ in range(30)]

    assert wrong == [401, *[429] * 29]
    assert api.get(PATH).headers["RateLimit"].startswith('"default";r=599;')


def test_a_redis_that_never_answers_is_asked_once_and_named_once(
    api: ApiClient, settings: Any, black_hole: None, caplog: Any
):
    settings.RATE_LIMIT_PER_MINUTE = 4

    codes = [api.get(PATH).status_code for _ in range(6)]

    said = [record.getMessage() for record in caplog.records if "rate limits" in record.getMessage()]
    assert codes == [200] * 4 + [429] * 2
    assert said == ["Redis is unavailable (TimeoutError); rate limits are counted in this process"]


def test_without_redis_guessing_passwords_stays_slow(db: None, no_redis: None):
    guess = {"username": "ada@example.com", "password": "wrong"}

    pages = [Client().post(reverse("admin:login"), guess).content.decode() for _ in range(12)]

    assert ["Too many attempts" in page for page in pages] == [False] * 10 + [True] * 2


@pytest.mark.parametrize(
    "loss", ["CLIENT KILL TYPE normal SKIPME yes", "SCRIPT FLUSH SYNC"], ids=["connections", "scripts"]
)
def test_what_redis_loses_between_two_requests_moves_no_counter(
    loss: str, caplog: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(SlidingWindowCache, "circuit_open_until", 0.0)
    monkeypatch.setattr(SlidingWindowCache, "last_logged_at", float("-inf"))
    before = is_let_through(2)

    caches["default"]._cache.get_client().execute_command(*loss.split())

    assert [before, is_let_through(2), is_let_through(2)] == [True, True, False]
    assert caplog.records == []
