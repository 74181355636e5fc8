"""POST /api/external/leads/{id}/erase (docs/interface.md, L49 and L50)."""

import re
from typing import Any

import pytest

from leads.merging import merge_leads
from leads.models import Lead
from leads.privacy import erasing
from leads.privacy.models import Erasure
from organizations.actors import SYSTEM
from organizations.models import ApiKey, SecurityEvent
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import events_of, make_api, make_member, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, logged_in_client

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


def erase(api: ApiClient, id: str, **headers: str) -> Any:
    return api.post(f"/api/external/leads/{id}/erase", {}, **headers)


@pytest.fixture
def id(api: ApiClient) -> str:
    lead_id: str = api.submit(email="ada@example.com", first_name="Ada").json()["data"]["lead_id"]
    return lead_id


def test_a_lead_is_erased_by_the_key(api, organization, id):
    """L49, L50: as by staff, with the key as the actor, also in the security log."""
    response = erase(api, id)

    key = ApiKey.objects.of(organization).get()
    assert response.status_code == 202
    assert response.json() == {
        "status": "success",
        "message": "Lead erasure accepted",
        "data": {"id": id, "state": "done"},
    }
    lead = api.get_lead(id)
    assert (lead["email"], lead["first_name"]) == (f"erased-{id}@erased.invalid", "")
    assert events_of(organization) == ["lead.erased"] * 3
    assert Erasure.objects.of(organization).get().actor_id == key.key_id
    logged = SecurityEvent.objects.get(organization=organization, kind="lead_erased")
    counts = "1 status changes, 1 opt-ins, 2 events"
    assert (logged.actor, logged.details) == (None, f"Lead {id} by API key Tests: {counts}")


def test_a_repeat_is_202(api, id):
    """L49"""
    assert [erase(api, id).status_code for _ in range(2)] == [202, 202]
    assert [erase(api, id, idempotency_key="key-1").status_code for _ in range(2)] == [202, 202]


def test_an_erasure_that_takes_long_is_running(api, organization, id, monkeypatch):
    """L49: a worker does it; until then a repeat changes nothing."""
    monkeypatch.setattr(erasing, "SMALL", 1)

    first = erase(api, id).json()["data"]
    before = snapshot_of(organization)

    assert (first, erase(api, id).json()["data"]) == ({"id": id, "state": "running"},) * 2
    assert snapshot_of(organization) == before
    details = SecurityEvent.objects.get(organization=organization, kind="lead_erased").details
    assert details == f"Lead {id} by API key Tests: requested; a worker erases it"


def test_only_who_may_erase_issues_and_rotates_keys_that_do(organization, api):
    """Sales-ops change keys, but erase no leads."""
    key = ApiKey.objects.of(organization).get()
    add, rotate = admin_url(ApiKey, "add"), admin_url(ApiKey, "rotate", key.pk)
    answers = {}
    for role in ("SALES_OPS", "MANAGER"):
        client = logged_in_client(make_member(organization, f"{role.lower()}@acme.example", role=role))
        issued = client.post(add, form_data(client, add, name=role, scopes=["read", "erase"]))
        rotated = client.post(rotate, {"overlap": "24h"})
        answers[role] = [bool(re.search("pb_[^_]+_[^…]", page.content.decode())) for page in (issued, rotated)]
        assert client.post(add, form_data(client, add, name=role, scopes=["read"])).status_code == 200

    assert answers == {"SALES_OPS": [False, False], "MANAGER": [True, True]}
    assert ApiKey.objects.of(organization).count() == 5


def test_it_needs_the_scope_erase(organization, id):
    """L49: all other scopes together are not enough, and this one reads and changes nothing else."""
    others = make_api(organization, scopes=["read", "write", "webhooks", "sync"])
    eraser = make_api(organization, scopes=["erase"])
    before = snapshot_of(organization)

    assert_error(erase(others, id), 403, "This API key lacks the scope erase")
    assert_error(eraser.get(f"/api/external/leads/{id}"), 403, "This API key lacks the scope read")
    assert_error(eraser.patch(f"/api/external/leads/{id}", {}), 403, "This API key lacks the scope write")
    assert snapshot_of(organization) == before
    assert erase(eraser, id).status_code == 202


def test_an_unknown_or_other_organizations_lead_is_404(api, other_api, organization, id):
    """L49"""
    before = snapshot_of(organization)

    for client, unknown in ((other_api, id), (api, UNKNOWN_ID), (api, "nonsense")):
        assert_error(erase(client, unknown), 404, "Resource not found")
    assert snapshot_of(organization) == before


def test_the_id_of_a_merged_lead_erases_the_kept_one(api, organization, id):
    """L22, L49"""
    other = api.submit(email="bob@example.com").json()["data"]["lead_id"]
    kept, merged = (Lead.objects.of(organization).get(pk=each).pk for each in (id, other))
    merge_leads(organization=organization, actor=SYSTEM, keep=kept, merge=merged)

    assert erase(api, other).json()["data"] == {"id": id, "state": "done"}

    assert Lead.objects.of(organization).get().is_erased
