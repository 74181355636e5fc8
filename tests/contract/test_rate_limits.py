"""Rate limits (docs/interface.md, G31 to G35)."""

import re

import pytest
import time_machine
from django.conf import settings
from django.test import override_settings

from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api

PATH = "/api/external/statuses"
FROZEN_TIME = "2026-06-01T10:00:01Z"
INVALID_KEY = "pb_nobody"


@pytest.fixture(autouse=True)
def clock():
    """Freeze the time, so that no test runs past the end of a window."""
    with time_machine.travel(FROZEN_TIME, tick=False) as clock:
        yield clock


def quota_of(response):
    """Parse the rate limit headers, and assert that both name the same policy."""
    policy = re.fullmatch(r'"([^"]+)";q=(\d+);w=(\d+)', response.headers["RateLimit-Policy"])
    state = re.fullmatch(r'"([^"]+)";r=(\d+);t=(\d+)', response.headers["RateLimit"])
    assert policy[1] == state[1]
    return {"quota": int(policy[2]), "window": int(policy[3]), "remaining": int(state[2])}


def test_the_default_limit_is_600_requests_a_minute(api):
    """docs/interface.md, G31"""
    assert quota_of(api.get(PATH)) == {"quota": 600, "window": 60, "remaining": 599}


def test_every_response_to_a_valid_key_has_the_rate_limit_headers(api, organization, settings):
    """docs/interface.md, G32"""
    settings.RATE_LIMIT_PER_MINUTE = 50
    reader = make_api(organization, scopes=["read"])

    responses = [
        api.book(),
        api.book(),
        api.book(schedule_time="2028-01-01T00:00:00Z"),
        api.book(schedule_time="x"),
        api.get("/api/nothing"),
        reader.book(),
        api.request("DELETE", PATH),
        api.request("POST", "/api/opt-in/submit", b"{"),
        api.request("POST", "/api/opt-in/submit", b"{}", "text/plain"),
    ]

    assert [response.status_code for response in responses] == [201, 200, 409, 400, 404, 403, 405, 400, 415]
    assert [quota_of(response) for response in responses] == [
        {"quota": 50, "window": 60, "remaining": 49 - n} for n in range(9)
    ]


def test_a_request_over_the_limit_is_429(api, settings):
    """docs/interface.md, G33"""
    settings.RATE_LIMIT_PER_MINUTE = 3
    accepted = [api.get(PATH) for _ in range(3)]

    response = api.get(PATH)

    assert [quota_of(response)["remaining"] for response in accepted] == [2, 1, 0]
    assert_error(response, 429, "Too many requests")
    assert quota_of(response) == {"quota": 3, "window": 60, "remaining": 0}
    assert re.fullmatch(r"[1-9]\d?", response.headers["Retry-After"])
    assert int(response.headers["Retry-After"]) <= 60


def test_a_request_after_retry_after_is_accepted_again(api, settings, clock):
    """docs/interface.md, G33"""
    settings.RATE_LIMIT_PER_MINUTE = 1
    api.get(PATH)
    assert_error(api.get(PATH), 429, "Too many requests")

    clock.shift(int(api.get(PATH).headers["Retry-After"]))

    assert api.get(PATH).status_code == 200


def test_a_request_over_the_limit_changes_nothing(api, organization):
    """docs/interface.md, G33"""
    organization.rate_limit_per_minute = 1
    organization.save()
    limited_api = make_api(organization)
    limited_api.get(PATH)

    assert_error(limited_api.book(), 429, "Too many requests")

    organization.rate_limit_per_minute = 100
    organization.save()
    # A new key, because the refusal of the first one stays cached for some seconds (G33).
    assert make_api(organization).get_data("/api/external/appointments") == []


@pytest.mark.parametrize("limit", [1, 5])
def test_an_organization_can_have_its_own_limit(organization, settings, limit):
    """docs/interface.md, G31"""
    settings.RATE_LIMIT_PER_MINUTE = 3
    organization.rate_limit_per_minute = limit
    organization.save()
    api = make_api(organization)

    status_codes = [api.get(PATH).status_code for _ in range(limit + 2)]

    assert status_codes == [200] * limit + [429] * 2


def test_all_keys_of_one_organization_share_its_limit(api, organization, other_api, settings):
    """docs/interface.md, G31"""
    settings.RATE_LIMIT_PER_MINUTE = 2
    second_key_api = make_api(organization)

    status_codes = [
        client.get(PATH).status_code
        for client in (api, second_key_api, api, second_key_api, other_api, other_api, other_api)
    ]

    assert status_codes == [200, 200, 429, 429, 200, 200, 429]


def test_failed_keys_are_limited_by_client_address(db, settings):
    """docs/interface.md, G34"""
    settings.FAILED_KEYS_PER_MINUTE = 3
    client, client_elsewhere = ApiClient(INVALID_KEY), ApiClient(INVALID_KEY)
    client_elsewhere.client.defaults["REMOTE_ADDR"] = "203.0.113.9"

    responses = [client.get(PATH) for _ in range(5)]

    assert [response.status_code for response in responses] == [401, 401, 401, 429, 429]
    assert_error(responses[-1], 429, "Too many requests")
    assert 1 <= int(responses[-1].headers["Retry-After"]) <= 60
    assert_error(client_elsewhere.get(PATH), 401, "Invalid or revoked API key")


@pytest.mark.parametrize(
    "key", [None, "", "pb_x", f"pb_{'a' * 12}_{'b' * 38}"], ids=["missing", "empty", "short", "checksum"]
)
def test_every_kind_of_failed_key_counts(db, settings, key):
    """docs/interface.md, G34"""
    settings.FAILED_KEYS_PER_MINUTE = 2

    status_codes = [ApiClient(key).get(PATH).status_code for _ in range(3)]

    assert status_codes == [401, 401, 429]


def test_the_default_limit_of_failed_keys_is_60_a_minute(db):
    """docs/interface.md, G34"""
    status_codes = [ApiClient(INVALID_KEY).get(PATH).status_code for _ in range(61)]

    assert status_codes == [401] * 60 + [429]


def test_valid_keys_from_a_limited_address_keep_working(api, settings):
    """docs/interface.md, G34"""
    settings.FAILED_KEYS_PER_MINUTE = 1
    assert [ApiClient(INVALID_KEY).get(PATH).status_code for _ in range(2)] == [401, 429]

    assert api.get(PATH).status_code == 200


def test_valid_keys_do_not_count_as_failures(api, settings):
    """docs/interface.md, G34"""
    settings.FAILED_KEYS_PER_MINUTE = 2
    for _ in range(5):
        api.get(PATH)

    assert_error(ApiClient(INVALID_KEY).get(PATH), 401, "Invalid or revoked API key")


def test_x_forwarded_for_is_ignored_without_a_trusted_proxy(db, settings):
    """docs/interface.md, G34"""
    settings.FAILED_KEYS_PER_MINUTE = 2

    status_codes = [ApiClient(INVALID_KEY).get(PATH, x_forwarded_for=f"203.0.113.{n}").status_code for n in range(3)]

    assert status_codes == [401, 401, 429]


def without_redis():
    """Override the cache with a Redis URL where nothing listens."""
    unreachable = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    return override_settings(CACHES={**settings.CACHES, "default": unreachable})


def test_without_redis_requests_are_let_through(organization):
    """docs/interface.md, G35"""
    organization.rate_limit_per_minute = 2
    organization.save()
    api = make_api(organization)

    with without_redis():
        responses = [api.get(PATH) for _ in range(3)]

    assert [response.status_code for response in responses] == [200, 200, 200]
    assert [quota_of(response) for response in responses] == [{"quota": 2, "window": 60, "remaining": 2}] * 3


def test_without_redis_bookings_succeed_and_at_most_one_line_is_logged(api, caplog):
    """docs/interface.md, G35"""
    with without_redis():
        status_codes = [api.book(external_reference=f"ref-{n}").status_code for n in range(5)]

    log_records = [record for record in caplog.records if "redis" in record.getMessage().lower()]
    assert status_codes == [201] * 5
    assert len(log_records) == 1
