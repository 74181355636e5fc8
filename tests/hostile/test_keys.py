"""Keys as a stranger has them: whatever is wrong with one, the answer is the same to the byte (A1 to A14)."""

import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from organizations.keys import ParsedApiKey, new_key
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key, rotate_key
from pipeline_backend.db.timestamps import now
from tests.client import ApiClient
from tests.factories import make_api, make_organization

PATHS = ["/api/external/statuses", "/api/external/appointments/cancel", "/api/nothing", "/api/"]
MINE = "X-Request-Id"
SAMPLES = 300


def row_of(api: ApiClient) -> ApiKey:
    """The key as the database has it."""
    assert api.key
    return ApiKey.unscoped.get(key_id=api.key[3:15])


def expired(organization: Organization) -> str | None:
    """Its end has come."""
    return make_api(organization, expires_at=now() - timedelta(seconds=1)).key


def revoked(organization: Organization) -> str | None:
    """Somebody ended it."""
    api = make_api(organization)
    revoke_key(key=row_of(api))
    return api.key


def past_its_overlap(organization: Organization) -> str | None:
    """It was rotated, and the overlap is over."""
    api = make_api(organization)
    rotate_key(key=row_of(api), overlap="now")
    return api.key


def of_an_inactive_organization(organization: Organization) -> str | None:
    """Good, but for its organization."""
    other = make_organization("Initech")
    api = make_api(other)
    other.is_active = False
    other.save()
    return api.key


def with_anothers_secret(organization: Organization) -> str | None:
    """Its id is known, and its checksum right."""
    return ParsedApiKey(key_id=row_of(make_api(organization)).key_id, secret=new_key().secret).text


def twice(organization: Organization) -> str | None:
    """As two headers arrive."""
    return f"{make_api(organization).key},{make_api(organization).key}"


WRONG: dict[str, Callable[[Organization], str | None]] = {
    "missing": lambda organization: None,
    "empty": lambda organization: "",
    "spaces": lambda organization: "   ",
    "malformed": lambda organization: "secret",
    "checksum": lambda organization: f"{str(make_api(organization).key)[:-1]}~",
    "huge": lambda organization: "pb_" + "a" * 100_000,
    "not ASCII": lambda organization: "pb_é\xff",
    "unknown": lambda organization: new_key().text,
    "another's secret": with_anothers_secret,
    "expired": expired,
    "revoked": revoked,
    "past its overlap": past_its_overlap,
    "inactive organization": of_an_inactive_organization,
    "two of them": twice,
}


def seen(answer: Any) -> tuple[int, bytes, dict[str, str]]:
    """All that a client sees, but for the request's own id."""
    return answer.status_code, answer.content, {name: value for name, value in answer.headers.items() if name != MINE}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_nobody_can_tell_what_is_wrong_with_a_key_or_which_addresses_there_are(
    path: str, method: str, organization: Organization
):
    first = seen(ApiClient(None).request(method, "/api/external/statuses"))

    answers = {name: seen(ApiClient(make(organization)).request(method, path)) for name, make in WRONG.items()}

    assert first[:2] == (401, b'{"status":"error","message":"Invalid or revoked API key"}')
    assert {name: answer for name, answer in answers.items() if answer != first} == {}


@pytest.mark.parametrize("name", ["x-api-key", "X-API-KEY", "X-Api-Key"])
def test_the_header_is_read_in_any_letter_case(name: str, api: ApiClient):
    assert ApiClient(None).client.get(PATHS[0], headers={name: api.key}).status_code == 200


def test_no_use_of_unknown_keys_is_noted_and_no_row_is_touched(organization: Organization):
    make_api(organization)
    before = list(ApiKey.unscoped.values())

    for make in (with_anothers_secret, WRONG["unknown"], WRONG["checksum"]):
        ApiClient(make(organization)).get(PATHS[0])

    assert list(
        ApiKey.unscoped.exclude(pk__in=[row["id"] for row in before]).values_list("last_used_at", flat=True)
    ) == [None, None]
    assert list(ApiKey.unscoped.filter(pk__in=[row["id"] for row in before]).values()) == before


def test_how_long_a_refusal_takes_says_little(organization: Organization, settings: Any, capsys: Any):
    """Printed, not judged: an unknown id and a known one with a wrong secret, measured in turn (A11)."""
    settings.FAILED_KEYS_PER_MINUTE = 1_000_000
    kinds = {"unknown id": ApiClient(new_key().text), "wrong secret": ApiClient(with_anothers_secret(organization))}
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(SAMPLES):
        for name, api in kinds.items():
            started = time.perf_counter()
            assert api.get(PATHS[0]).status_code == 401
            seconds[name].append(time.perf_counter() - started)

    medians = {name: statistics.median(measured) for name, measured in seconds.items()}
    ratio = medians["wrong secret"] / medians["unknown id"]
    with capsys.disabled():
        print(f"\nrefusals, medians of {SAMPLES}: wrong secret / unknown id = {ratio:.3f}")  # noqa: T201
