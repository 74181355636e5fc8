"""Rate limits, and ways in which a client might try to get around them (docs/interface.md, G31 to G35)."""

import random
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings as django_settings
from django.core.cache import caches
from django.db import OperationalError
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from redis import Redis
from time_machine import Traveller

from foundation.api import rate_limits
from foundation.api.rate_limits import hit
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api, owner_of, snapshot_of
from tests.staff.pages import logged_in_client

PATH = "/api/external/statuses"
START = datetime(2026, 6, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNKNOWN_KEY = "pb_nobody"


@pytest.fixture
def clock() -> Iterator[Traveller]:
    """Stop the time until the test moves it."""
    with time_machine.travel(START, tick=False) as clock:
        yield clock


def is_allowed(limit: int, key: str = "somebody") -> bool:
    """Count one more request, and return True if it is within the limit."""
    return not hit(RequestFactory().get("/"), group="tests", key=key, limit=limit).exceeded


def start_window(api: ApiClient, clock: Traveller) -> None:
    """Move the time to the first second of a window of the client's organization."""
    clock.shift(int(api.get(PATH).headers["RateLimit"].rpartition("=")[2]))


def redis_at(url: str) -> override_settings:
    """Return a context in which rate limits are counted in the Redis at this URL, with the service's own timeouts."""
    configured = django_settings.CACHES["default"]
    timeouts = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), django_settings.REDIS_SOCKET_SECONDS)
    default = {**configured, "LOCATION": url, "OPTIONS": {**configured["OPTIONS"], **timeouts}}
    return override_settings(CACHES={**django_settings.CACHES, "default": default})


@pytest.fixture
def _slow_requests_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count slow requests as the service does; other tests don't, because any request may be slow on a busy machine."""
    monkeypatch.setattr(rate_limits, "REQUESTS_PER_SLOW_SECOND", 10)


def test_the_counters_of_all_requests_are_reached_by_one_client(
    api: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PATH)
    made: list[object] = []
    init = Redis.__init__
    monkeypatch.setattr(Redis, "__init__", lambda *args, **options: (made.append(args), init(*args, **options))[1])

    for _ in range(5):
        assert api.get(PATH).status_code == 200

    assert made == []


@pytest.fixture
def no_redis() -> Iterator[None]:
    """Count in a Redis whose port refuses connections."""
    with redis_at("redis://127.0.0.1:1/0"):
        yield


@pytest.fixture
def hanging_redis() -> Iterator[socket.socket]:
    """Count in a Redis that accepts connections and never answers."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        redis_at(f"redis://127.0.0.1:{listener.getsockname()[1]}/0"),
    ):
        yield listener


def test_of_200_concurrent_requests_exactly_100_are_allowed(stopped_clock: Traveller):
    barrier = threading.Barrier(50)
    allowed: list[bool] = []

    def send_four() -> None:
        barrier.wait()
        allowed.extend(is_allowed(100) for _ in range(4))
        caches["default"]._cache.get_client().connection_pool.disconnect()  # the thread's own

    threads = [threading.Thread(target=send_four) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(allowed), sum(allowed)) == (200, 100)


def test_no_60_seconds_exceed_twice_the_limit(clock: Traveller):
    rng = random.Random("requests")  # seeded, so that each run has the same intervals
    allowed_at, current = [], START

    for _ in range(400):
        current += timedelta(milliseconds=rng.choice([0, 1, 250, 1000, 9000]))
        clock.move_to(current)
        if is_allowed(20):
            allowed_at.append(current)

    busiest = max(sum(start <= other < start + MINUTE for other in allowed_at) for start in allowed_at)
    minutes = (current - START) / MINUTE
    assert 20 <= busiest <= 40
    assert minutes > 5
    assert len(allowed_at) <= 20 * (minutes + 2)


def test_the_windows_of_different_keys_begin_at_different_seconds(clock: Traveller):
    request = RequestFactory().get("/")

    seconds = {hit(request, group="tests", key=f"somebody {number}", limit=1).reset_after for number in range(50)}

    assert len(seconds) > 20


def test_a_request_succeeds_after_retry_after_and_not_a_second_earlier(api: ApiClient, settings: Any, clock: Traveller):
    settings.RATE_LIMIT_PER_MINUTE = 3
    for _ in range(3):
        api.get(PATH)
    retry_after = int(api.get(PATH).headers["Retry-After"])

    clock.shift(retry_after - 1)
    early = api.get(PATH)
    clock.shift(1)

    assert (early.status_code, early.headers["Retry-After"]) == (429, "1")
    # The new window has the whole limit.
    assert [api.get(PATH).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_the_ratelimit_header_has_the_remaining_requests_and_the_seconds_to_the_reset(
    api: ApiClient, settings: Any, clock: Traveller
):
    settings.RATE_LIMIT_PER_MINUTE = 3

    start_window(api, clock)

    headers = []
    for _ in range(4):
        headers.append(api.get(PATH).headers["RateLimit"])
        clock.shift(15)

    assert headers == ['"default";r=2;t=60', '"default";r=1;t=45', '"default";r=0;t=30', '"default";r=0;t=15']


def remaining(api: ApiClient) -> int:
    """Return how many requests the organization's window still allows after one more."""
    return int(api.get(PATH).headers["RateLimit"].split(";")[1].removeprefix("r="))


@pytest.mark.usefixtures("_slow_requests_count")
def test_each_whole_second_of_an_api_request_counts_as_ten_more(api: ApiClient, set_view_code: Any, clock: Traveller):
    start_window(api, clock)
    before = remaining(api)
    set_view_code(lambda: time.sleep(1.01))

    response = api.get("/api/unscoped")

    assert (response.status_code, remaining(api)) == (200, before - 12)


def test_a_write_that_waits_for_seconds_counts_once(api: ApiClient, set_view_code: Any, clock: Traveller):
    start_window(api, clock)
    before = remaining(api)
    set_view_code(lambda: time.sleep(1.01))

    response = api.post("/api/unscoped", {})

    assert (response.status_code, remaining(api)) == (200, before - 2)


@pytest.mark.usefixtures("_slow_requests_count")
def test_a_slow_request_that_the_database_interrupts_counts_once(api: ApiClient, set_view_code: Any, clock: Traveller):
    def lose_the_database() -> None:
        time.sleep(1.01)
        raise OperationalError

    start_window(api, clock)
    before = remaining(api)
    set_view_code(lose_the_database)

    response = api.get("/api/unscoped")

    assert (response.status_code, remaining(api)) == (503, before - 2)


@pytest.mark.usefixtures("_slow_requests_count")
def test_each_whole_second_of_an_export_counts_as_ten_more_requests_of_the_person(
    organization: Organization, settings: Any, set_view_code: Any, stopped_clock: Traveller
):
    def export() -> Iterator[bytes]:
        yield b"1"
        time.sleep(1.01)
        yield b"2"

    settings.ADMIN_REQUESTS_PER_MINUTE = 10
    set_view_code(export)
    owner = logged_in_client(owner_of(organization))

    content = b"".join(owner.get("/admin/unscoped/stream").streaming_content)

    assert content == b"12"
    assert owner.get("/admin/leads/lead/").status_code == 429


@pytest.mark.usefixtures("stopped_clock")
def test_a_429_needs_no_query_and_changes_nothing(
    api: ApiClient, organization: Organization, settings: Any, django_assert_num_queries: Any
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert api.get(PATH).status_code == 200
    before = snapshot_of(organization)

    with django_assert_num_queries(0):
        responses = [api.book(), api.submit(), api.get(PATH), api.get("/api/nothing")]

    for response in responses:
        assert_error(response, 429, "Too many requests")
        assert response.headers["RateLimit-Policy"] == '"default";q=1;w=60'
        assert response.headers["RateLimit"].startswith('"default";r=0;t=')
        assert response.headers["Retry-After"] == response.headers["RateLimit"].rpartition("=")[2]
    assert snapshot_of(organization) == before


def test_a_revoked_key_over_its_limit_gets_429_then_401_and_never_200(
    api: ApiClient, organization: Organization, settings: Any, clock: Traveller
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    start_window(api, clock)
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]

    revoke_key(key=ApiKey.objects.of(organization).get())
    status_codes = []
    for _ in range(20):
        status_codes.append(api.get(PATH).status_code)
        clock.shift(4)

    # A process caches for five seconds that a limit is exhausted, and doesn't look the key up meanwhile.
    assert status_codes == [429, 429, *[401] * 18]


@pytest.mark.usefixtures("stopped_clock")
def test_a_wrong_secret_is_401_even_when_the_limit_is_exhausted(
    api: ApiClient, organization: Organization, settings: Any
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]
    deleted = make_api(organization)
    ApiKey.objects.of(organization).filter(key_id=deleted.key[3:15]).delete()

    assert_error(deleted.get(PATH), 401, "Invalid or revoked API key")


def test_a_raised_limit_takes_effect_within_five_seconds(
    api: ApiClient, organization: Organization, settings: Any, clock: Traveller
):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]

    organization.rate_limit_per_minute = 10
    organization.save()
    clock.shift(5)

    assert api.get(PATH).status_code == 200


def test_a_clock_that_is_set_back_blocks_nobody(api: ApiClient, settings: Any, clock: Traveller):
    settings.RATE_LIMIT_PER_MINUTE = 1
    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]

    clock.shift(-3600)

    assert [api.get(PATH).status_code for _ in range(2)] == [200, 429]


def test_counter_names_contain_no_address_email_or_key(db: None, api: ApiClient):
    Client(REMOTE_ADDR="203.0.113.77").post(reverse("admin:login"), {"username": "ada@example.com", "password": "x"})
    Client(REMOTE_ADDR="203.0.113.77").get(PATH)
    api.get(PATH)

    names = caches["default"]._cache.get_client().keys("pb:*")

    # Sign-ins by address, by typed name and by account, failed keys by address, the organization.
    assert len(names) == 5
    assert [word for word in ("203.0.113.77", "ada@", api.key[3:15]) if word in str(names)] == []


@pytest.mark.parametrize(
    ("forwarded_for", "status_code"),
    [("198.51.100.1", 401), ("203.0.113.9, 198.51.100.1", 401), ("198.51.100.1, 203.0.113.9", 429)],
)
def test_behind_a_trusted_proxy_only_the_address_that_it_adds_counts(
    forwarded_for: str, status_code: int, db: None, settings: Any
):
    """The proxy appends the client's address; everything before it comes from the client and may be invented."""
    settings.FAILED_KEYS_PER_MINUTE = 1
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert ApiClient(UNKNOWN_KEY).get(PATH, x_forwarded_for="192.0.2.1, 203.0.113.9").status_code == 401

    response = ApiClient(UNKNOWN_KEY).get(PATH, x_forwarded_for=forwarded_for)

    assert response.status_code == status_code


ADDRESS_PAIRS = {
    "one network of IPv6": ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", 429),
    "two networks of IPv6": ("2001:db8:1:2::1", "2001:db8:1:3::1", 401),
    "IPv4 written as IPv6": ("::ffff:203.0.113.1", "::ffff:203.0.113.2", 401),
    "no address at all": ("unix:/a", "unix:/b", 401),
}


@pytest.mark.usefixtures("stopped_clock")
@pytest.mark.parametrize(("first", "second", "status_code"), ADDRESS_PAIRS.values(), ids=ADDRESS_PAIRS)
def test_failed_keys_are_counted_per_ipv6_network_and_per_ipv4_address(
    first: str, second: str, status_code: int, db: None, settings: Any
):
    """A client with IPv6 has a whole /64 network, and can choose a new address for each request."""
    settings.FAILED_KEYS_PER_MINUTE = 1

    status_codes = [Client(REMOTE_ADDR=address).get(PATH).status_code for address in (first, second)]

    assert status_codes == [401, status_code]


@pytest.mark.usefixtures("stopped_clock")
def test_failed_keys_do_not_use_up_an_organizations_limit(api: ApiClient, settings: Any):
    settings.FAILED_KEYS_PER_MINUTE = 1

    status_codes = [ApiClient(UNKNOWN_KEY).get(PATH).status_code for _ in range(30)]

    assert status_codes == [401, *[429] * 29]
    assert api.get(PATH).headers["RateLimit"].startswith('"default";r=599;')


@pytest.mark.usefixtures("stopped_clock")
def test_a_hanging_redis_is_tried_once_and_logged_once(
    api: ApiClient, settings: Any, hanging_redis: socket.socket, caplog: Any
):
    settings.RATE_LIMIT_PER_MINUTE = 4

    status_codes = [api.get(PATH).status_code for _ in range(6)]

    messages = [record.getMessage() for record in caplog.records if "Redis" in record.getMessage()]
    assert status_codes == [200] * 6
    assert messages == ["Redis is unavailable (TimeoutError); requests are not limited"]
    hanging_redis.settimeout(0.1)
    hanging_redis.accept()[0].close()
    with pytest.raises(TimeoutError):
        hanging_redis.accept()


def test_redis_is_tried_again_after_five_seconds(api: ApiClient, settings: Any, clock: Traveller, caplog: Any):
    settings.RATE_LIMIT_PER_MINUTE = 1
    start_window(api, clock)
    with redis_at("redis://127.0.0.1:1/0"):
        while_down = [api.get(PATH).status_code for _ in range(3)]
    clock.shift(4)
    soon = [api.get(PATH).status_code for _ in range(3)]

    clock.shift(1)
    later = [api.get(PATH).status_code for _ in range(3)]

    assert (while_down, soon, later) == ([200] * 3, [200] * 3, [200, 429, 429])
    assert len(caplog.records) == 1


def test_login_attempts_are_limited_without_redis(db: None, no_redis: None, stopped_clock: Traveller):
    guess = {"username": "ada@example.com", "password": "wrong"}

    pages = [Client().post(reverse("admin:login"), guess).content.decode() for _ in range(12)]

    assert ["Too many attempts" in page for page in pages] == [False] * 10 + [True] * 2


def test_a_redis_that_drops_connections_loses_no_count(caplog: Any, clock: Traveller):
    before = is_allowed(2)

    caches["default"]._cache.get_client().execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    assert [before, is_allowed(2), is_allowed(2)] == [True, True, False]
    assert caplog.records == []
