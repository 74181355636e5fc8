"""Webhook endpoints that API keys make (docs/interface.md, W30 to W39)."""

from datetime import timedelta
from typing import Any

import pytest

from foundation.api.exceptions import Conflict
from foundation.db.timestamps import isoformat_z, now
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key, rotate_key
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import make_api, set_columns, snapshot_of
from webhooks import key_endpoints, services
from webhooks.models import Delivery, Endpoint
from webhooks.services import add_endpoint, change_endpoint, prune

PATH = "/api/external/webhook-endpoints"
TOPICS = "/api/external/webhook-topics"
URL = "https://hooks.example.com/zap"


@pytest.fixture
def id(api: ApiClient) -> str:
    return str(create(api).json()["data"]["id"])


def create(api: ApiClient, **fields: Any) -> Any:
    return api.post(PATH, {"url": URL, "topics": ["lead.created"], **fields})


def key_of(api: ApiClient, organization: Organization) -> ApiKey:
    return ApiKey.objects.of(organization).get(key_id=(api.key or "")[3:15])


def stored(id: str) -> Endpoint:
    return Endpoint.unscoped.get(pk=id)


def test_a_key_makes_an_endpoint_and_gets_its_secret_once(api, organization):
    """W30"""
    response = create(api, topics=["opt_in.created", "lead.created"], description="Zap 7", metadata={"zap": "7"})

    data = response.json()["data"]
    endpoint = stored(data["id"])
    assert (response.status_code, data.pop("secret")) == (201, endpoint.secret)
    assert data == {
        "id": str(endpoint.pk),
        "url": URL,
        "topics": ["lead.created", "opt_in.created"],
        "description": "Zap 7",
        "metadata": {"zap": "7"},
        "is_active": True,
        "disabled_reason": "",
        "failing_since": None,
        "last_success_at": None,
        "created_at": isoformat_z(endpoint.created_at),
    }
    again = create(api, topics=["lead.created", "opt_in.created", "lead.created"])
    assert (again.status_code, again.json()["data"]) == (200, data)
    assert api.get_data(f"{PATH}/{endpoint.pk}") == data
    assert Endpoint.objects.of(organization).count() == 1


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_make_one_endpoint(api, organization):
    """W30"""
    responses = run_concurrently(api.key, *[create] * 4)

    assert status_codes(responses) == {200: 3, 201: 1}
    assert Endpoint.objects.of(organization).count() == 1


@pytest.mark.parametrize(
    ("fields", "invalid"),
    [
        ({"url": "http://hooks.example.com/zap"}, "url"),
        ({"url": "https://127.0.0.1/zap"}, "url"),
        ({"topics": ["lead.created", "lead.lost"]}, "topics.1"),
        ({"topics": ["lead.created"] * 101}, "topics"),
        ({"metadata": {str(number): "x" for number in range(21)}}, "metadata"),
        ({"metadata": {"x" * 41: "x"}}, "metadata"),
        ({"metadata": {"x": 5}}, "metadata"),
        ({"metadata": {"x": "x" * 501}}, "metadata"),
    ],
)
def test_invalid_fields_are_refused(api, organization, id, fields, invalid):
    """W30, W32"""
    before = snapshot_of(organization)

    for response in (create(api, **fields), api.patch(f"{PATH}/{id}", fields)):
        assert_invalid_fields(response, invalid)

    assert snapshot_of(organization) == before


def test_a_key_sees_only_the_endpoints_that_it_made(api, organization, id):
    """W31"""
    other_id = create(api, url="https://hooks.example.com/other").json()["data"]["id"]
    other_api = make_api(organization)
    add_endpoint(organization=organization, url=URL)

    assert [endpoint["id"] for endpoint in api.get_data(PATH)] == [other_id, id]
    assert [endpoint["id"] for endpoint in api.get_data(PATH, {"url": URL})] == [id]
    assert other_api.get_data(PATH) == []
    for method, path in [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/deliveries"),
        ("POST", "/rotate-secret"),
        ("POST", "/test"),
    ]:
        assert_error(other_api.request(method, f"{PATH}/{id}{path}", b"{}"), 404, "Resource not found")
    assert_error(other_api.post(f"{PATH}/{id}/replay", {"since": isoformat_z(now())}), 404, "Resource not found")


def test_every_operation_needs_the_scope(organization, id):
    """W30"""
    api = make_api(organization, scopes=["read", "write"])

    for response in (api.get(PATH), create(api), api.request("DELETE", f"{PATH}/{id}"), api.get(TOPICS)):
        assert_error(response, 403, "This API key lacks the scope webhooks")


def test_an_update_changes_what_it_names(api, id):
    """W32"""
    changes = {"url": "https://hooks.example.com/2", "topics": None, "description": "Second", "metadata": {"a": "b"}}

    data = api.patch(f"{PATH}/{id}", changes).json()["data"]

    assert {name: data[name] for name in changes} == {**changes, "topics": []}
    data = api.patch(f"{PATH}/{id}", {"is_active": False, "metadata": None}).json()["data"]
    assert (data["is_active"], data["disabled_reason"], data["metadata"]) == (False, "Disabled by its API key", {})
    data = api.patch(f"{PATH}/{id}", {"is_active": True}).json()["data"]
    assert (data["is_active"], data["disabled_reason"], data["description"]) == (True, "", "Second")


def test_a_key_cannot_enable_what_staff_have_disabled(api, id):
    """W32"""
    change_endpoint(endpoint=stored(id), url=URL, description="", event_types=[], is_active=False)

    response = api.patch(f"{PATH}/{id}", {"is_active": True})

    assert_error(response, 409, "Staff have disabled this endpoint; they can enable it in the admin")
    assert_error(api.post(f"{PATH}/{id}/test", {}), 409, "This endpoint is disabled; enable it first")


def test_deleted_endpoints_that_are_not_pruned_yet_are_limited(api, monkeypatch):
    """W34"""
    monkeypatch.setattr(key_endpoints, "MAX_DELETED", 2)
    for _ in range(2):
        assert api.delete(f"{PATH}/{create(api).json()['data']['id']}").status_code == 204

    response = create(api)

    assert response.status_code == 409
    assert response.json()["message"].startswith("An organization can have at most 2 endpoints deleted within a day")


def test_a_deleted_endpoint_gets_nothing_and_is_pruned_a_day_later(api, organization, id):
    """W33"""
    api.submit()

    response = api.request("DELETE", f"{PATH}/{id}")

    assert (response.status_code, response.content) == (204, b"")
    assert_error(api.request("DELETE", f"{PATH}/{id}"), 404, "Resource not found")
    assert (api.get_data(PATH), create(api).status_code) == ([], 201)
    assert not stored(id).is_active
    prune(organization=organization)
    assert Delivery.objects.of(organization).filter(endpoint=id).count() == 1
    set_columns(Endpoint, organization, id, deleted_at=now() - timedelta(days=2))
    prune(organization=organization)
    assert not Endpoint.objects.of(organization).filter(pk=id).exists()


def test_keys_have_a_limit_of_their_own(api, organization, id, monkeypatch):
    """W34"""
    monkeypatch.setattr(services, "MAX_KEY_ENDPOINTS", 1)
    monkeypatch.setattr(services, "MAX_WEBHOOK_ENDPOINTS", 1)

    add_endpoint(organization=organization, url=URL)

    text = "An organization can have at most 1 webhook endpoints made by API keys. Delete one that is no longer needed."
    assert create(api).status_code == 200
    assert_error(create(api, url="https://hooks.example.com/2"), 409, text.removesuffix("."))
    revoke_key(key=key_of(api, organization))
    assert create(make_api(organization)).status_code == 201


def test_revoking_a_key_pauses_its_endpoints_until_staff_enable_them(api, organization, id):
    """W35"""
    other_id = create(make_api(organization)).json()["data"]["id"]

    revoke_key(key=key_of(api, organization))

    assert (stored(id).is_active, stored(id).disabled_reason) == (False, "Its API key was revoked")
    assert stored(other_id).is_active
    change_endpoint(endpoint=stored(id), url=URL, description="", event_types=[], is_active=True)
    assert stored(id).is_active


def test_rotating_a_key_hands_its_endpoints_to_the_new_key(api, organization, id):
    """W35"""
    newer, text = rotate_key(key=key_of(api, organization), overlap="24h")
    with pytest.raises(Conflict):  # the newer key would lose its endpoints
        rotate_key(key=key_of(api, organization), overlap="24h")
    _, newest_text = rotate_key(key=newer, overlap="24h")
    newest = ApiClient(newest_text)

    added = create(api, url="https://hooks.example.com/2").json()["data"]["id"]

    # The old keys act for the newest one as long as they live.
    for each in (api, ApiClient(text), newest):
        assert [endpoint["id"] for endpoint in each.get_data(PATH)] == [added, id]
    assert create(newest).status_code == 200
    revoke_key(key=key_of(api, organization))
    assert stored(id).is_active
    revoke_key(key=key_of(newest, organization))
    assert not stored(id).is_active
    message = "This API key, or the one that replaced it, has been revoked"
    assert_error(create(ApiClient(text)), 409, message)


def test_both_secrets_sign_for_a_day_after_a_rotation(api, id):
    """W36"""
    before = stored(id).secret

    data = api.post(f"{PATH}/{id}/rotate-secret", {}).json()["data"]

    endpoint = stored(id)
    assert endpoint.signing_secrets() == [data["secret"], before]
    assert data["previous_secret_until"] == isoformat_z(endpoint.previous_secret_until)


def test_deliveries_are_listed_and_replayed(api, organization, id):
    """W37, W38"""
    start = isoformat_z(now())
    event_id = api.post(f"{PATH}/{id}/test", {}).json()["data"]["event_id"]
    api.submit()
    lead_created, test = api.get_data(f"{PATH}/{id}/deliveries")

    assert (test["event_id"], test["type"], lead_created["type"]) == (event_id, "webhook.test", "lead.created")
    assert (test["state"], test["attempts"], test["finished_at"]) == ("PENDING", 0, None)
    assert api.get_data(f"{PATH}/{id}/deliveries", {"state": "DEAD"}) == []
    response = api.post(f"{PATH}/{id}/replay", {"delivery_id": test["id"]})
    assert_error(response, 409, "This delivery is already in progress")
    Delivery.objects.of(organization).update(state="DEAD", finished_at=now(), next_attempt_at=None)
    response = api.post(f"{PATH}/{id}/replay", {"delivery_id": test["id"]})
    assert (response.status_code, response.json()["data"]) == (200, {"count": 1})
    response = api.post(f"{PATH}/{id}/replay", {"since": start, "topics": ["lead.created"]})
    assert response.json()["data"] == {"count": 1}
    assert [each["state"] for each in api.get_data(f"{PATH}/{id}/deliveries")] == ["PENDING", "PENDING"]


def test_a_replay_is_bounded_and_names_what_it_lacks(api, other_api, id, monkeypatch):
    """W38"""
    monkeypatch.setattr("webhooks.replays.MAX_REPLAYED", 1)
    start = isoformat_z(now())
    for email in ("ada@example.com", "eve@example.com"):
        api.submit(email=email)
    other_id = create(other_api).json()["data"]["id"]
    other_api.submit()
    [other_delivery] = other_api.get_data(f"{PATH}/{other_id}/deliveries")

    assert_invalid_fields(api.post(f"{PATH}/{id}/replay", {}), "since")
    assert_invalid_fields(api.post(f"{PATH}/{id}/replay", {"since": start}), "since")
    assert_invalid_fields(api.post(f"{PATH}/{id}/replay", {"delivery_id": other_delivery["id"]}), "delivery_id")
    both = {"delivery_id": other_delivery["id"], "since": start}
    assert_invalid_fields(api.post(f"{PATH}/{id}/replay", both), "delivery_id")


def test_samples_are_the_newest_bodies_or_the_documented_example(api, organization):
    """W39"""
    names = [topic["name"] for topic in api.get_data(TOPICS)]
    [example] = api.get_data(f"{TOPICS}/lead.created/samples")
    for number in range(4):
        api.submit(email=f"lead{number}@example.com")

    samples = api.get_data(f"{TOPICS}/lead.created/samples")

    assert (names == sorted(names), "webhook.test" in names, example["type"]) == (True, True, "lead.created")
    assert [sample["data"]["email"] for sample in samples] == [f"lead{number}@example.com" for number in (3, 2, 1)]
    assert len(api.get_data(f"{TOPICS}/lead.created/samples", {"limit": "1"})) == 1
    assert_error(api.get(f"{TOPICS}/lead.lost/samples"), 404, "Resource not found")
    assert_invalid_fields(api.get(f"{TOPICS}/lead.created/samples", {"limit": "11"}), "limit")


def test_no_key_enables_what_was_paused_because_its_key_was_revoked(organization, id):
    """W35: rotating the replaced key again hands the paused endpoint over, and doesn't enable it"""
    first = ApiKey.objects.of(organization).get(pk=stored(id).api_key_id)
    second, _ = rotate_key(key=first, overlap="24h")
    revoke_key(key=second)
    first.refresh_from_db()
    _, text = rotate_key(key=first, overlap="24h")

    response = ApiClient(text).patch(f"{PATH}/{id}", {"is_active": True})

    text = "This endpoint's API key was revoked; staff can enable the endpoint in the admin"
    assert_error(response, 409, text)
    assert not stored(id).is_active
