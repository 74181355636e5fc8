"""Floods of failed API keys: past an address's limit a refusal asks nobody (docs/guarantees.md, A12, R8, R11, L7)."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import OperationalError, connection
from django.test import Client
from redis.connection import AbstractConnection
from time_machine import Traveller

from organizations import authentication
from organizations.keys import REFRESH_SECONDS, LiveKeys, ParsedApiKey, new_key
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key, rotate_key
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api, make_organization, snapshot_of

PATH = "/api/external/statuses"
LIMIT = 3


@pytest.fixture(autouse=True)
def clock(settings: Any) -> Iterator[Traveller]:
    """Stop the time, and allow three failed keys a minute."""
    settings.FAILED_KEYS_PER_MINUTE = LIMIT
    with time_machine.travel(datetime(2026, 6, 1, 10, tzinfo=UTC), tick=False) as clock:
        yield clock


@pytest.fixture
def requests_made(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the statements sent to PostgreSQL by Django, and the commands sent to Redis."""
    requests: list[str] = []
    send = AbstractConnection.send_packed_command

    def send_packed_command(self: AbstractConnection, command: Any, **options: Any) -> Any:
        requests.append("redis")
        return send(self, command, **options)

    def record(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        requests.append(sql)
        return execute(sql, *arguments)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", send_packed_command)
    with connection.execute_wrapper(record):
        yield requests


def unknown() -> ApiClient:
    """Return a client with a well-formed key that was never issued."""
    return ApiClient(new_key().text)


def exhaust_limit(client: Callable[[], ApiClient] = unknown) -> None:
    """Use up the address's failed keys, and send one more request."""
    assert [client().get(PATH).status_code for _ in range(LIMIT + 1)] == [401] * LIMIT + [429]


def expire_list() -> None:
    """Make the list of live keys as old as when it is loaded again; the end of each test clears it."""
    authentication.LIVE_KEYS.next_load_at = 0.0


def keep_list() -> None:
    """Load the list no more in this test, however slow the machine is; the end of each test clears it."""
    authentication.LIVE_KEYS.next_load_at = float("inf")


def test_past_the_limit_unknown_keys_are_refused_without_any_query_or_redis_command(
    api: ApiClient, organization: Organization, requests_made: list[str]
):
    exhaust_limit()
    before = snapshot_of(organization)
    keep_list()
    requests_made.clear()

    responses = [
        response
        for _ in range(20)
        for response in (
            unknown().get(PATH),
            unknown().book(),
            unknown().get("/api/nothing"),
            ApiClient(None).get(PATH),
        )
    ]

    assert requests_made == []
    for response in responses:
        assert_error(response, 429, "Too many requests")
        assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert snapshot_of(organization) == before


def test_past_the_limit_malformed_keys_are_refused_without_any_query_or_redis_command(
    db: None, requests_made: list[str]
):
    exhaust_limit(lambda: ApiClient("pb_nobody"))
    keep_list()
    requests_made.clear()

    status_codes = [ApiClient(key).get(PATH).status_code for key in (None, "", "pb_x", "pb_nobody", "é") * 4]

    assert status_codes == [429] * 20
    assert requests_made == []


def test_an_existing_id_with_another_keys_secret_is_refused_without_any_query(
    api: ApiClient, organization: Organization, requests_made: list[str]
):
    own = make_api(make_organization("Globex")).key
    mixed = [
        ParsedApiKey(key_id=str(api.key)[3:15], secret=new_key().secret).text,
        ParsedApiKey(key_id=str(api.key)[3:15], secret=str(own)[16:48]).text,
    ]
    exhaust_limit()
    keep_list()
    requests_made.clear()

    status_codes = [ApiClient(key).get(PATH).status_code for key in mixed * 5]

    assert status_codes == [429] * 10
    assert requests_made == []


def test_valid_keys_from_a_limited_address_keep_working_through_a_flood(
    api: ApiClient, organization: Organization, other_api: ApiClient
):
    """Neither key has been used before the flood, so nothing has been learned about them."""
    exhaust_limit()

    responses = [
        response for _ in range(10) for response in (unknown().get(PATH), api.get(PATH), unknown().get(PATH))
    ] + [other_api.get(PATH), api.book()]

    assert [response.status_code for response in responses] == [429, 200, 429] * 10 + [200, 201]


def test_every_refusal_past_the_limit_looks_the_same(api: ApiClient, organization: Organization):
    revoked = make_api(organization)
    exhaust_limit()
    # Revoked after the list was loaded: it is still looked up, and refused by the database.
    revoke_key(key=ApiKey.objects.of(organization).get(key_id=str(revoked.key)[3:15]))

    responses = [client.get(PATH) for client in (revoked, unknown(), ApiClient("pb_x"), ApiClient(None))]

    visible = [
        (response.status_code, response.content, {**response.headers, "X-Request-Id": ""}) for response in responses
    ]
    assert visible == visible[:1] * 4
    assert visible[0][0] == 429


def test_a_revoked_key_from_a_limited_address_stops_at_once_and_soon_costs_no_query(
    api: ApiClient, organization: Organization, requests_made: list[str]
):
    exhaust_limit()
    assert api.get(PATH).status_code == 200

    revoke_key(key=ApiKey.objects.of(organization).get())
    at_once = api.get(PATH).status_code
    expire_list()
    unknown().get(PATH)
    keep_list()
    requests_made.clear()

    assert (at_once, api.get(PATH).status_code) == (429, 429)
    assert requests_made == []


@pytest.mark.parametrize("state", ["expired", "inactive organization", "past its overlap"])
def test_keys_that_are_no_longer_live_are_refused_without_any_query(
    state: str, organization: Organization, requests_made: list[str]
):
    owner = make_organization("Initech")
    api = make_api(owner)
    key = ApiKey.objects.of(owner).get()
    if state == "expired":
        ApiKey.objects.of(owner).update(expires_at=datetime(2026, 6, 1, 9, tzinfo=UTC))
    elif state == "inactive organization":
        Organization.objects.filter(pk=owner.pk).update(is_active=False)
    else:
        rotate_key(key=key, overlap="now")
    exhaust_limit()
    keep_list()
    requests_made.clear()

    status_codes = [api.get(PATH).status_code for _ in range(5)]

    assert status_codes == [429] * 5
    assert requests_made == []


def test_a_key_issued_during_a_flood_works_as_soon_as_the_list_is_loaded_again(organization: Organization):
    exhaust_limit()
    new = make_api(organization)
    refused = new.get(PATH)
    elsewhere = make_api(organization)
    elsewhere.client.defaults["REMOTE_ADDR"] = "203.0.113.9"

    expire_list()
    accepted = new.get(PATH)

    assert_error(refused, 429, "Too many requests")
    assert (accepted.status_code, elsewhere.get(PATH).status_code) == (200, 200)


def test_the_limit_ends_exactly_after_retry_after(db: None, clock: Traveller):
    exhaust_limit()
    retry_after = int(unknown().get(PATH).headers["Retry-After"])

    clock.shift(retry_after - 1)
    early = unknown().get(PATH).status_code
    clock.shift(1)

    assert (early, unknown().get(PATH).status_code) == (429, 401)


def test_a_clock_that_is_set_back_refuses_no_address_for_longer(db: None, clock: Traveller):
    exhaust_limit()

    clock.shift(-3600)

    exhaust_limit()


def test_other_addresses_are_looked_up_as_usual(db: None):
    exhaust_limit()

    response = Client(REMOTE_ADDR="203.0.113.9").get(PATH, headers={"x-api-key": new_key().text})

    assert response.status_code == 401


def test_if_the_list_cannot_be_loaded_every_key_is_looked_up(api: ApiClient, monkeypatch: pytest.MonkeyPatch):
    def fail() -> frozenset[bytes]:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(authentication.LIVE_KEYS, "load", fail)
    exhaust_limit()

    assert [unknown().get(PATH).status_code, api.get(PATH).status_code] == [429, 200]


def test_many_threads_load_the_list_once_and_then_at_most_every_five_seconds(monkeypatch: pytest.MonkeyPatch):
    loads: list[float] = []

    def load() -> frozenset[bytes]:
        loads.append(time.monotonic())
        time.sleep(0.02)
        return frozenset([LiveKeys.entry(known.key_id, known.secret_hash)])

    known = new_key()
    live_keys = LiveKeys(load)
    answers: list[bool] = []
    barrier = threading.Barrier(20)

    def ask() -> None:
        barrier.wait()
        answers.extend([live_keys.may_contain(known), live_keys.may_contain(new_key())])

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(loads), answers.count(True), answers.count(False)) == (1, 20, 20)
    # Later if the machine is so busy that loading took long.
    assert live_keys.next_load_at - loads[0] >= REFRESH_SECONDS
