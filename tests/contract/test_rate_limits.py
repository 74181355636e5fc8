"""Rate limits: interface 8, decision 7."""

import re

import pytest
import time_machine
from django.conf import settings
from django.test import override_settings

from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api

PATH = "/api/external/statuses"
MINUTE = "2026-06-01T10:00:01Z"
STRANGE = "pb_nobody"


@pytest.fixture(autouse=True)
def clock():
    """Time stands still: no test crosses the end of a minute."""
    with time_machine.travel(MINUTE, tick=False) as clock:
        yield clock


def left(answer):
    """The quota, the window, what is left, and the seconds until it is full again."""
    policy = re.fullmatch(r'"([^"]+)";q=(\d+);w=(\d+)', answer.headers["RateLimit-Policy"])
    now = re.fullmatch(r'"([^"]+)";r=(\d+);t=(\d+)', answer.headers["RateLimit"])
    assert policy[1] == now[1]
    return {"quota": int(policy[2]), "window": int(policy[3]), "left": int(now[2])}


def test_decision_7_600_requests_a_minute_unless_set(api):
    assert left(api.get(PATH)) == {"quota": 600, "window": 60, "left": 599}


def test_decision_7_the_headers_are_on_each_keyed_answer(api, organization, settings):
    settings.RATE_LIMIT_PER_MINUTE = 50
    reader = make_api(organization, scopes=["read"])

    answers = [
        api.book(),
        api.book(),
        api.book(schedule_time="2028-01-01T00:00:00Z"),
        api.book(schedule_time="x"),
        api.get("/api/nothing"),
        reader.book(),
    ]
    answers += [
        api.request("DELETE", PATH),
        api.request("POST", "/api/opt-in/submit", b"{"),
        api.request("POST", "/api/opt-in/submit", b"{}", "text/plain"),
    ]

    assert [answer.status_code for answer in answers] == [201, 200, 409, 400, 404, 403, 405, 400, 415]
    assert [left(answer) for answer in answers] == [{"quota": 50, "window": 60, "left": 49 - n} for n in range(9)]


def test_decision_7_one_request_too_many_is_429(api, settings):
    settings.RATE_LIMIT_PER_MINUTE = 3
    served = [api.get(PATH) for _ in range(3)]

    answer = api.get(PATH)

    assert [left(one)["left"] for one in served] == [2, 1, 0]
    assert_error(answer, 429, "Too many requests")
    assert left(answer) == {"quota": 3, "window": 60, "left": 0}
    assert re.fullmatch(r"[1-9]\d?", answer.headers["Retry-After"])
    assert int(answer.headers["Retry-After"]) <= 60


def test_decision_7_after_retry_after_it_is_served_again(api, settings, clock):
    settings.RATE_LIMIT_PER_MINUTE = 1
    api.get(PATH)
    assert_error(api.get(PATH), 429, "Too many requests")

    clock.shift(int(api.get(PATH).headers["Retry-After"]))

    assert api.get(PATH).status_code == 200


def test_decision_7_a_refused_request_changes_nothing(api, organization):
    organization.rate_limit_per_minute = 1
    organization.save()
    limited = make_api(organization)
    limited.get(PATH)

    assert_error(limited.book(), 429, "Too many requests")

    organization.rate_limit_per_minute = 100
    organization.save()
    assert make_api(organization).get_data("/api/external/appointments") == []


@pytest.mark.parametrize("limit", [1, 5])
def test_decision_7_an_organization_has_its_own_limit(organization, settings, limit):
    settings.RATE_LIMIT_PER_MINUTE = 3
    organization.rate_limit_per_minute = limit
    organization.save()
    api = make_api(organization)

    codes = [api.get(PATH).status_code for _ in range(limit + 2)]

    assert codes == [200] * limit + [429] * 2


def test_decision_7_all_keys_of_an_organization_share_the_limit_and_no_other(api, organization, other_api, settings):
    settings.RATE_LIMIT_PER_MINUTE = 2
    other = make_api(organization)

    codes = [each.get(PATH).status_code for each in (api, other, api, other, other_api, other_api, other_api)]

    assert codes == [200, 200, 429, 429, 200, 200, 429]


def test_decision_7_failed_keys_are_limited_by_address(db, settings):
    settings.FAILED_KEYS_PER_MINUTE = 3
    here, there = ApiClient(STRANGE), ApiClient(STRANGE)
    there.client.defaults["REMOTE_ADDR"] = "203.0.113.9"

    answers = [here.get(PATH) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert_error(answers[-1], 429, "Too many requests")
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 60
    assert_error(there.get(PATH), 401, "Invalid or revoked API key")


@pytest.mark.parametrize(
    "key", [None, "", "pb_x", f"pb_{'a' * 12}_{'b' * 38}"], ids=["missing", "empty", "short", "checksum"]
)
def test_decision_7_every_way_to_fail_counts(db, settings, key):
    settings.FAILED_KEYS_PER_MINUTE = 2

    codes = [ApiClient(key).get(PATH).status_code for _ in range(3)]

    assert codes == [401, 401, 429]


def test_decision_7_60_failed_keys_a_minute_unless_set(db):
    codes = [ApiClient(STRANGE).get(PATH).status_code for _ in range(61)]

    assert codes == [401] * 60 + [429]


def test_decision_7_good_keys_at_the_same_address_go_on(api, settings):
    settings.FAILED_KEYS_PER_MINUTE = 1
    assert [ApiClient(STRANGE).get(PATH).status_code for _ in range(2)] == [401, 429]

    assert api.get(PATH).status_code == 200


def test_decision_7_good_keys_are_no_failures(api, settings):
    settings.FAILED_KEYS_PER_MINUTE = 2
    for _ in range(5):
        api.get(PATH)

    assert_error(ApiClient(STRANGE).get(PATH), 401, "Invalid or revoked API key")


def test_decision_7_a_forwarded_address_of_the_clients_own_making_is_not_believed(db, settings):
    settings.FAILED_KEYS_PER_MINUTE = 2

    codes = [ApiClient(STRANGE).get(PATH, x_forwarded_for=f"203.0.113.{n}").status_code for n in range(3)]

    assert codes == [401, 401, 429]


def redis_away():
    """The counters' server is at an address where nothing listens."""
    away = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    return override_settings(CACHES={**settings.CACHES, "default": away})


def test_decision_7_without_redis_a_limit_in_memory_goes_on(organization):
    organization.rate_limit_per_minute = 2
    organization.save()
    api = make_api(organization)

    with redis_away():
        answers = [api.get(PATH) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert left(answers[-1]) == {"quota": 2, "window": 60, "left": 0}


def test_decision_7_without_redis_bookings_are_still_made_and_the_log_is_not_flooded(api, caplog):
    with redis_away():
        codes = [api.book(external_reference=f"ref-{n}").status_code for n in range(5)]

    said = [record for record in caplog.records if "redis" in record.getMessage().lower()]
    assert codes == [201] * 5
    assert len(said) <= 1
