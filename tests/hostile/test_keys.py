"""API keys that are wrong in any way: the response is the same to the byte (docs/guarantees.md, A1 to A14)."""

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from foundation.db.timestamps import now
from organizations.keys import ParsedApiKey, new_key
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key, rotate_key
from tests.client import ApiClient
from tests.factories import make_api, make_organization

PATHS = ["/api/external/statuses", "/api/external/appointments/cancel", "/api/nothing", "/api/"]
REQUEST_ID = "X-Request-Id"
SAMPLES = 300


def stored_key(api: ApiClient) -> ApiKey:
    """Return the database row of the client's key."""
    assert api.key
    return ApiKey.unscoped.get(key_id=api.key[3:15])


def expired_key(organization: Organization) -> str | None:
    return make_api(organization, expires_at=now() - timedelta(seconds=1)).key


def revoked_key(organization: Organization) -> str | None:
    api = make_api(organization)
    revoke_key(key=stored_key(api))
    return api.key


def rotated_key(organization: Organization) -> str | None:
    """Return a key that was rotated and whose overlap is over."""
    api = make_api(organization)
    rotate_key(key=stored_key(api), overlap="now")
    return api.key


def key_of_an_inactive_organization(organization: Organization) -> str | None:
    inactive = make_organization("Initech")
    api = make_api(inactive)
    inactive.is_active = False
    inactive.save()
    return api.key


def key_with_a_wrong_secret(organization: Organization) -> str | None:
    """Return a key with an existing id, another key's secret and a correct checksum."""
    key_id = stored_key(make_api(organization)).key_id
    return ParsedApiKey(key_id=key_id, secret=new_key().secret).text


def two_keys(organization: Organization) -> str | None:
    """Return two valid keys as the web server joins two headers."""
    return f"{make_api(organization).key},{make_api(organization).key}"


WRONG_KEYS: dict[str, Callable[[Organization], str | None]] = {
    "missing": lambda organization: None,
    "empty": lambda organization: "",
    "spaces": lambda organization: "   ",
    "malformed": lambda organization: "secret",
    "checksum": lambda organization: f"{str(make_api(organization).key)[:-1]}~",
    "huge": lambda organization: "pb_" + "a" * 100_000,
    "not ASCII": lambda organization: "pb_é\xff",
    "unknown": lambda organization: new_key().text,
    "another's secret": key_with_a_wrong_secret,
    "expired": expired_key,
    "revoked": revoked_key,
    "past its overlap": rotated_key,
    "inactive organization": key_of_an_inactive_organization,
    "two of them": two_keys,
}


def visible_response(response: Any) -> tuple[int, bytes, dict[str, str]]:
    """Return all of a response that could tell two wrong keys apart: everything but the request id."""
    headers = {name: value for name, value in response.headers.items() if name != REQUEST_ID}
    return response.status_code, response.content, headers


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_every_wrong_key_gets_the_same_401_for_every_path_and_method(
    path: str, method: str, organization: Organization
):
    expected = visible_response(ApiClient(None).request(method, "/api/external/statuses"))

    responses = {
        name: visible_response(ApiClient(make_key(organization)).request(method, path))
        for name, make_key in WRONG_KEYS.items()
    }

    assert expected[:2] == (401, b'{"status":"error","message":"Invalid or revoked API key"}')
    assert {name: response for name, response in responses.items() if response != expected} == {}


@pytest.mark.parametrize("name", ["x-api-key", "X-API-KEY", "X-Api-Key"])
def test_the_header_name_is_case_insensitive(name: str, api: ApiClient):
    assert ApiClient(None).client.get(PATHS[0], headers={name: api.key}).status_code == 200


def test_a_request_with_a_wrong_key_changes_no_key(organization: Organization):
    make_api(organization)
    before = list(ApiKey.unscoped.values())
    ids_before = [row["id"] for row in before]

    for make_key in (key_with_a_wrong_secret, WRONG_KEYS["unknown"], WRONG_KEYS["checksum"]):
        ApiClient(make_key(organization)).get(PATHS[0])

    # Two of the wrong keys are made from new rows, which must stay unused as well.
    new_keys = ApiKey.unscoped.exclude(pk__in=ids_before)
    assert list(new_keys.values_list("last_used_at", flat=True)) == [None, None]
    assert list(ApiKey.unscoped.filter(pk__in=ids_before).values()) == before


def test_the_time_to_refuse_an_unknown_id_and_a_wrong_secret_is_measured(
    organization: Organization, settings: Any, capsys: Any
):
    """Print the ratio without asserting it: a shared machine is too noisy (docs/guarantees.md, A11)."""
    settings.FAILED_KEYS_PER_MINUTE = 1_000_000
    clients = {
        "unknown id": ApiClient(new_key().text),
        "wrong secret": ApiClient(key_with_a_wrong_secret(organization)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in clients}

    # The two take turns, so that a slow phase of the machine slows both down.
    for _ in range(SAMPLES):
        for name, api in clients.items():
            started = time.perf_counter()
            assert api.get(PATHS[0]).status_code == 401
            seconds[name].append(time.perf_counter() - started)

    medians = {name: statistics.median(samples) for name, samples in seconds.items()}
    ratio = medians["wrong secret"] / medians["unknown id"]
    with capsys.disabled():
        print(f"\nrefusals, medians of {SAMPLES}: wrong secret / unknown id = {ratio:.3f}")  # noqa: T201
