"""API keys (docs/interface.md, G1 and K1 to K10)."""

import hashlib
import re
from datetime import timedelta

import pytest

from foundation.db.timestamps import now
from organizations.models import ApiKey
from organizations.services import issue_key, revoke_key, rotate_key
from tests.client import ApiClient, booking_payload, opt_in_payload
from tests.contract.assertions import assert_error, assert_error_format
from tests.factories import make_api, snapshot_of

INVALID_KEY = "Invalid or revoked API key"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
READ_PATHS = [
    "appointments",
    f"appointments/{UNKNOWN_ID}",
    "opt-ins",
    f"opt-ins/{UNKNOWN_ID}",
    "statuses",
    "leads",
    f"leads/{UNKNOWN_ID}",
    "events",
    "me",
    "members",
    "event-types",
    "sources",
    "custom-fields",
]
WRITE_BODIES = {
    "POST /api/external/appointments": booking_payload(),
    "POST /api/external/appointments/reschedule": {
        "external_reference": "ref-1",
        "schedule_time": "2027-01-06T11:00:00Z",
    },
    "POST /api/external/appointments/cancel": {"external_reference": "ref-1"},
    "POST /api/external/appointments/import": {"rows": [booking_payload()]},
    "POST /api/external/leads/import": {"rows": [{"email": "ada@example.com"}]},
    "POST /api/opt-in/submit": opt_in_payload(),
    f"PATCH /api/external/appointments/{UNKNOWN_ID}": {"meeting_url": None},
    f"PATCH /api/external/leads/{UNKNOWN_ID}": {"last_name": None},
    f"PATCH /api/external/leads/{UNKNOWN_ID}/status": {"status_id": UNKNOWN_ID},
}
WEBHOOK_PATHS = ["webhook-endpoints", f"webhook-endpoints/{UNKNOWN_ID}/deliveries", "webhook-topics"]
ALL_OPERATIONS = [*(f"GET /api/external/{path}" for path in READ_PATHS + WEBHOOK_PATHS), *WRITE_BODIES]
PATH = "/api/external/statuses"


def send(api, operation):
    """Send the operation with a valid body, so that only the key decides the response."""
    method, path = operation.split(" ")
    return api.get(path) if method == "GET" else getattr(api, method.lower())(path, WRITE_BODIES[operation])


def key_of(api, organization):
    # The key id is the part between "pb_" and the second underscore.
    return ApiKey.objects.of(organization).get(key_id=api.key[3:15])


@pytest.mark.parametrize("operation", ALL_OPERATIONS)
def test_every_endpoint_requires_a_key(organization, operation):
    """docs/interface.md, K1, K2"""
    before = snapshot_of(organization)

    assert_error(send(ApiClient(None), operation), 401, INVALID_KEY)

    assert snapshot_of(organization) == before


MALFORMED_KEYS = {
    "missing": None,
    "empty": "",
    "spaces": "   ",
    "word": "secret",
    "prefix_only": "pb_",
    "too_long": "pb_" + "a" * 10_000,
    "other_characters": f"pb_{'é' * 12}_{'é' * 38}",
    "full_width_digits": f"pb_{'１' * 12}_{'１' * 38}",
    "wrong_checksum": f"pb_{'a' * 12}_{'b' * 32}000000",
    "sql": "pb_' OR 1=1 --",
}


@pytest.mark.parametrize("key", MALFORMED_KEYS.values(), ids=MALFORMED_KEYS)
def test_a_malformed_key_is_401_without_a_query(organization, django_assert_num_queries, key):
    """docs/interface.md, K3"""
    with django_assert_num_queries(0):
        response = ApiClient(key).get(PATH)

    assert_error(response, 401, INVALID_KEY)


# Positions in the prefix, the key id, the separator, the secret and the checksum.
@pytest.mark.parametrize("position", [0, 3, 10, 14, 15, 16, 40, 47, 48, 53])
def test_a_key_with_one_wrong_character_is_401_without_a_query(api, django_assert_num_queries, position):
    """docs/interface.md, K3"""
    character = "x" if api.key[position] != "x" else "y"
    wrong_key = api.key[:position] + character + api.key[position + 1 :]

    with django_assert_num_queries(0):
        response = ApiClient(wrong_key).get(PATH)

    assert_error(response, 401, INVALID_KEY)


@pytest.mark.parametrize(
    "change",
    [str.upper, str.lower, str.swapcase, lambda key: key[:-1], lambda key: f"{key}0", lambda key: f"{key[:3]}{key}"],
)
def test_a_changed_key_is_401_without_a_query(api, django_assert_num_queries, change):
    """docs/interface.md, K3"""
    with django_assert_num_queries(0):
        response = ApiClient(change(api.key)).get(PATH)

    assert_error(response, 401, INVALID_KEY)


def test_a_key_has_the_documented_format_and_only_the_hash_of_its_secret_is_stored(api, organization):
    """docs/interface.md, K3, K4"""
    secret = api.key[16:48]

    assert re.fullmatch("pb_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", api.key)
    assert bytes(key_of(api, organization).secret_hash) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(ApiKey.objects.of(organization).values().get())


def test_an_unknown_key_is_401(api, organization):
    """docs/interface.md, K2"""
    key_of(api, organization).delete()

    assert_error(api.get(PATH), 401, INVALID_KEY)


def test_a_known_key_id_with_another_secret_is_401(api, organization):
    """docs/interface.md, K2"""
    ApiKey.objects.of(organization).update(secret_hash=hashlib.sha256(b"another").digest())

    assert_error(api.get(PATH), 401, INVALID_KEY)


def test_a_revoked_key_is_401_from_the_next_request_on(api, organization):
    """docs/interface.md, K7"""
    assert api.get(PATH).status_code == 200

    revoke_key(key=key_of(api, organization))

    assert_error(api.get(PATH), 401, INVALID_KEY)
    assert_error(api.book(), 401, INVALID_KEY)


def test_revoking_one_key_does_not_affect_the_others(api, organization):
    """docs/interface.md, K7"""
    other_key_api = make_api(organization)

    revoke_key(key=key_of(api, organization))

    assert other_key_api.get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("expires_in", "status_code"), [(timedelta(seconds=-1), 401), (timedelta(0), 401), (timedelta(minutes=1), 200)]
)
def test_a_key_is_401_from_its_expiry_on(organization, expires_in, status_code):
    """docs/interface.md, K2"""
    api = make_api(organization, expires_at=now() + expires_in)

    assert api.get(PATH).status_code == status_code


@pytest.mark.parametrize(("overlap", "old_key_status_code"), [("now", 401), ("1h", 200), ("24h", 200), ("7d", 200)])
def test_rotating_creates_a_second_key_and_sets_the_expiry_of_the_first(
    api, organization, overlap, old_key_status_code
):
    """docs/interface.md, K6"""
    key = key_of(api, organization)

    new_key, new_key_text = rotate_key(key=key, overlap=overlap)

    assert (api.get(PATH).status_code, ApiClient(new_key_text).get(PATH).status_code) == (old_key_status_code, 200)
    assert (new_key.scopes, new_key.expires_at) == (key.scopes, None)
    durations = {"now": timedelta(0), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
    expected_expiry = now() + durations[overlap]
    assert timedelta(0) <= expected_expiry - key_of(api, organization).expires_at < timedelta(minutes=1)


def test_a_key_of_an_inactive_organization_is_401(api, other_api, organization):
    """docs/interface.md, K10"""
    assert api.get(PATH).status_code == 200
    organization.is_active = False
    organization.save()

    assert_error(api.get(PATH), 401, INVALID_KEY)
    assert other_api.get(PATH).status_code == 200


@pytest.mark.parametrize("operation", WRITE_BODIES)
def test_writing_requires_the_write_scope(organization, operation):
    """docs/interface.md, K9"""
    api = make_api(organization, scopes=["read"])
    before = snapshot_of(organization)

    response = send(api, operation)

    assert_error_format(response, 403)
    assert "write" in response.json()["message"]
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("path", READ_PATHS)
def test_reading_requires_the_read_scope(organization, path):
    """docs/interface.md, K9"""
    response = make_api(organization, scopes=["write"]).get(f"/api/external/{path}")

    assert_error_format(response, 403)
    assert "read" in response.json()["message"]


def test_one_scope_is_sufficient_for_its_own_operations(organization):
    """docs/interface.md, K9"""
    reader, writer = make_api(organization, scopes=["read"]), make_api(organization, scopes=["write"])

    assert [writer.book().status_code, writer.cancel().status_code, writer.submit().status_code] == [201, 200, 200]
    assert [reader.get(f"/api/external/{path}").status_code for path in READ_PATHS] == [
        200,
        404,
        200,
        404,
        200,
        200,
        404,
        *[200] * 6,
    ]


def test_a_key_has_both_scopes_by_default(organization):
    """docs/interface.md, K9"""
    key, _ = issue_key(organization=organization, name="Both")

    assert sorted(key.scopes) == ["read", "write"]


@pytest.mark.parametrize(
    "path", ["/api/external/nothing", "/api/", "/api/nothing", "/api/external/appointments/", "/api/external"]
)
def test_an_unknown_path_is_401_without_a_key_and_404_with_one(api, path):
    """docs/interface.md, G8"""
    assert_error(ApiClient(None).get(path), 401, INVALID_KEY)
    assert_error(api.get(path), 404, "Resource not found")


@pytest.mark.parametrize("location", ["query", "authorization", "basic", "cookie", "other_header", "body"])
def test_a_key_outside_its_header_is_not_read(api, location):
    """docs/interface.md, K1"""
    anonymous = ApiClient(None)
    anonymous.client.cookies["x-api-key"] = api.key if location == "cookie" else ""
    headers = {
        "authorization": {"authorization": f"Bearer {api.key}"},
        "basic": {"authorization": api.key},
        "other_header": {"api_key": api.key},
    }
    query = {"x-api-key": api.key, "api_key": api.key} if location == "query" else {}

    if location == "body":
        assert_error(anonymous.submit(**{"x-api-key": api.key}), 401, INVALID_KEY)

    assert_error(anonymous.get(PATH, query, **headers.get(location, {})), 401, INVALID_KEY)


def test_each_key_reads_the_data_of_its_own_organization(api, other_api):
    """docs/interface.md, G22"""
    statuses, other_statuses = api.get_data(PATH), other_api.get_data(PATH)

    assert [status["name"] for status in statuses] == [status["name"] for status in other_statuses]
    assert not {status["id"] for status in statuses} & {status["id"] for status in other_statuses}


def test_last_used_at_is_written_at_most_once_in_five_minutes(api, organization):
    """docs/interface.md, K8"""
    api.get(PATH)
    first_use = key_of(api, organization).last_used_at
    api.get(PATH)
    second_use = key_of(api, organization).last_used_at
    ApiKey.objects.of(organization).update(last_used_at=first_use - timedelta(minutes=5, seconds=1))
    api.get(PATH)

    assert first_use is not None
    assert second_use == first_use
    assert key_of(api, organization).last_used_at >= first_use
