"""API keys: interface 5, decisions 1, 10, 11 and 12."""

import hashlib
import re
from datetime import timedelta

import pytest

from organizations.models import ApiKey
from organizations.services import issue_key, revoke_key, rotate_key
from pipeline_backend.db.timestamps import now
from tests.client import ApiClient, booking_payload, opt_in_payload
from tests.contract.assertions import assert_error
from tests.factories import make_api, snapshot_of

MESSAGE = "Invalid or revoked API key"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
READS = [
    "appointments",
    f"appointments/{UNKNOWN}",
    "opt-ins",
    f"opt-ins/{UNKNOWN}",
    "statuses",
    "leads",
    f"leads/{UNKNOWN}",
    "events",
]
WRITES = {
    "POST /api/external/appointments": booking_payload(),
    "POST /api/external/appointments/cancel": {"external_reference": "ref-1"},
    "POST /api/opt-in/submit": opt_in_payload(),
    f"PATCH /api/external/leads/{UNKNOWN}/status": {"status_id": UNKNOWN},
}
ALL = [*(f"GET /api/external/{path}" for path in READS), *WRITES]
PATH = "/api/external/statuses"


def send(api, call):
    method, path = call.split(" ")
    return api.get(path) if method == "GET" else getattr(api, method.lower())(path, WRITES[call])


def row_of(api, organization):
    return ApiKey.objects.of(organization).get(key_id=api.key[3:15])


@pytest.mark.parametrize("call", ALL)
def test_every_endpoint_requires_a_key(organization, call):
    before = snapshot_of(organization)

    assert_error(send(ApiClient(None), call), 401, MESSAGE)

    assert snapshot_of(organization) == before


BROKEN = {
    "missing": None,
    "empty": "",
    "spaces": "   ",
    "word": "secret",
    "prefix_alone": "pb_",
    "too_long": "pb_" + "a" * 10_000,
    "other_characters": f"pb_{'é' * 12}_{'é' * 38}",
    "full_width_digits": f"pb_{'１' * 12}_{'１' * 38}",
    "wrong_checksum": f"pb_{'a' * 12}_{'b' * 32}000000",
    "sql": "pb_' OR 1=1 --",
}


@pytest.mark.parametrize("key", BROKEN.values(), ids=BROKEN)
def test_decision_10_a_key_of_a_wrong_form_is_401_without_a_query(organization, django_assert_num_queries, key):
    with django_assert_num_queries(0):
        answer = ApiClient(key).get(PATH)

    assert_error(answer, 401, MESSAGE)


@pytest.mark.parametrize("at", [0, 3, 10, 14, 15, 16, 40, 47, 48, 53])
def test_decision_10_a_key_with_one_wrong_character_is_401_without_a_query(api, django_assert_num_queries, at):
    other = "x" if api.key[at] != "x" else "y"

    with django_assert_num_queries(0):
        answer = ApiClient(api.key[:at] + other + api.key[at + 1 :]).get(PATH)

    assert_error(answer, 401, MESSAGE)


@pytest.mark.parametrize(
    "change",
    [str.upper, str.lower, str.swapcase, lambda key: key[:-1], lambda key: f"{key}0", lambda key: f"{key[:3]}{key}"],
)
def test_decision_10_a_changed_key_is_401_without_a_query(api, django_assert_num_queries, change):
    with django_assert_num_queries(0):
        answer = ApiClient(change(api.key)).get(PATH)

    assert_error(answer, 401, MESSAGE)


def test_decision_10_the_form_of_a_key(api, organization):
    secret = api.key[16:48]

    assert re.fullmatch("pb_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", api.key)
    assert bytes(row_of(api, organization).secret_hash) == hashlib.sha256(secret.encode()).digest()
    assert secret not in str(ApiKey.objects.of(organization).values().get())


def test_an_unknown_key_is_401(api, organization):
    row_of(api, organization).delete()

    assert_error(api.get(PATH), 401, MESSAGE)


def test_a_known_id_with_another_secret_is_401(api, organization):
    ApiKey.objects.of(organization).update(secret_hash=hashlib.sha256(b"another").digest())

    assert_error(api.get(PATH), 401, MESSAGE)


def test_decision_11_a_revoked_key_is_401_from_the_next_request_on(api, organization):
    assert api.get(PATH).status_code == 200

    revoke_key(key=row_of(api, organization))

    assert_error(api.get(PATH), 401, MESSAGE)
    assert_error(api.book(), 401, MESSAGE)


def test_decision_11_revoking_one_key_leaves_the_others(api, organization):
    other = make_api(organization)

    revoke_key(key=row_of(api, organization))

    assert other.get(PATH).status_code == 200


@pytest.mark.parametrize(
    ("ends_in", "code"), [(timedelta(seconds=-1), 401), (timedelta(0), 401), (timedelta(minutes=1), 200)]
)
def test_decision_11_an_expired_key_is_401(organization, ends_in, code):
    api = make_api(organization, expires_at=now() + ends_in)

    assert api.get(PATH).status_code == code


@pytest.mark.parametrize(("overlap", "old"), [("now", 401), ("1h", 200), ("24h", 200), ("7d", 200)])
def test_decision_11_rotating_makes_a_second_key_and_ends_the_first(api, organization, overlap, old):
    key = row_of(api, organization)

    second, text = rotate_key(key=key, overlap=overlap)

    assert (api.get(PATH).status_code, ApiClient(text).get(PATH).status_code) == (old, 200)
    assert (second.scopes, second.expires_at) == (key.scopes, None)
    lasts = {"now": timedelta(0), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}[
        overlap
    ]
    assert timedelta(0) <= now() + lasts - row_of(api, organization).expires_at < timedelta(minutes=1)


def test_decision_12_a_key_of_an_inactive_organization_is_401(api, other_api, organization):
    assert api.get(PATH).status_code == 200
    organization.is_active = False
    organization.save()

    assert_error(api.get(PATH), 401, MESSAGE)
    assert other_api.get(PATH).status_code == 200


@pytest.mark.parametrize("call", WRITES)
def test_decision_12_writing_needs_the_scope_write(organization, call):
    api = make_api(organization, scopes=["read"])
    before = snapshot_of(organization)

    answer = send(api, call)

    assert (answer.status_code, sorted(answer.json()), answer.json()["status"]) == (403, ["message", "status"], "error")
    assert "write" in answer.json()["message"]
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("path", READS)
def test_decision_12_reading_needs_the_scope_read(organization, path):
    answer = make_api(organization, scopes=["write"]).get(f"/api/external/{path}")

    assert (answer.status_code, sorted(answer.json()), answer.json()["status"]) == (403, ["message", "status"], "error")
    assert "read" in answer.json()["message"]


def test_decision_12_one_scope_is_enough_for_its_own(organization):
    reader, writer = make_api(organization, scopes=["read"]), make_api(organization, scopes=["write"])

    assert [writer.book().status_code, writer.cancel().status_code, writer.submit().status_code] == [201, 200, 200]
    assert [reader.get(f"/api/external/{path}").status_code for path in READS] == [
        200,
        404,
        200,
        404,
        200,
        200,
        404,
        200,
    ]


def test_decision_12_a_key_has_both_scopes_unless_said_otherwise(organization):
    key, _ = issue_key(organization=organization, name="Both")

    assert sorted(key.scopes) == ["read", "write"]


@pytest.mark.parametrize(
    "path", ["/api/external/nothing", "/api/", "/api/nothing", "/api/external/appointments/", "/api/external"]
)
def test_decision_1_an_unknown_path_is_401_without_a_key_and_404_with_one(api, path):
    assert_error(ApiClient(None).get(path), 401, MESSAGE)
    assert_error(api.get(path), 404, "Resource not found")


@pytest.mark.parametrize("place", ["query", "authorization", "basic", "cookie", "other_header", "body"])
def test_a_key_anywhere_else_is_no_key(api, place):
    nobody = ApiClient(None)
    nobody.client.cookies["x-api-key"] = api.key if place == "cookie" else ""
    headers = {
        "authorization": {"authorization": f"Bearer {api.key}"},
        "basic": {"authorization": api.key},
        "other_header": {"api_key": api.key},
    }
    if place == "body":
        assert_error(nobody.submit(**{"x-api-key": api.key}), 401, MESSAGE)

    assert_error(
        nobody.get(
            PATH, {"x-api-key": api.key, "api_key": api.key} if place == "query" else {}, **headers.get(place, {})
        ),
        401,
        MESSAGE,
    )


def test_two_organizations_keys_see_their_own(api, other_api):
    ours, theirs = api.get_data(PATH), other_api.get_data(PATH)

    assert [status["name"] for status in ours] == [status["name"] for status in theirs]
    assert not {status["id"] for status in ours} & {status["id"] for status in theirs}


def test_decision_11_the_last_use_is_written_once_in_five_minutes(api, organization):
    api.get(PATH)
    first = row_of(api, organization).last_used_at
    api.get(PATH)
    second = row_of(api, organization).last_used_at
    ApiKey.objects.of(organization).update(last_used_at=first - timedelta(minutes=5, seconds=1))
    api.get(PATH)

    assert first is not None
    assert second == first
    assert row_of(api, organization).last_used_at >= first
