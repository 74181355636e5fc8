"""An integrator's own id of a lead, `external_reference` (docs/interface.md, L43 to L45)."""

from typing import Any
from uuid import UUID

import pytest

from leads.merging import merge_leads, undo_merge
from leads.models import Lead, LeadMerge
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import snapshot_of

PATH = "/api/external/leads"
TAKEN = "external_reference crm-1 belongs to another lead"


def send(api: ApiClient, email: str = "ada@example.com", **fields: Any) -> Any:
    return api.post(PATH, {"email": email, **fields})


def find(api: ApiClient, reference: str) -> list[str]:
    return [lead["id"] for lead in api.get_data(PATH, {"external_reference": reference})]


def test_a_lead_is_found_by_the_reference_it_was_created_with(api, other_api):
    """L43, L45: compared exactly, and unique in an organization only; no response has it."""
    response = send(api, external_reference="crm-1")
    other = send(other_api, external_reference="crm-1")
    data = response.json()["data"]

    assert (response.status_code, other.status_code) == (201, 201)
    assert data == {"id": data["id"], "is_new": True, "changed": ["external_reference"], "kept": []}
    assert (find(api, "crm-1"), find(api, "CRM-1"), find(api, "crm-1 ")) == ([data["id"]], [], [])
    assert find(other_api, "crm-1") == [other.json()["data"]["id"]]
    assert "external_reference" not in api.get_lead(data["id"])
    assert "external_reference" not in api.get_data(PATH)[0]


def test_a_known_lead_gets_a_reference_and_keeps_it_unless_overwritten(api):
    """L43"""
    id = send(api).json()["data"]["id"]

    answers = [
        send(api, external_reference="crm-1").json()["data"],
        send(api, external_reference="crm-1").json()["data"],
        send(api, external_reference="crm-2").json()["data"],
        send(api, external_reference="crm-2", overwrite=["external_reference"]).json()["data"],
    ]

    changed, nothing, kept = ["external_reference"], [], ["external_reference"]
    assert [(answer["changed"], answer["kept"]) for answer in answers] == [
        (changed, nothing),
        (nothing, nothing),
        (nothing, kept),
        (changed, nothing),
    ]
    assert (find(api, "crm-1"), find(api, "crm-2")) == ([], [id])


def test_another_leads_reference_is_409_and_changes_nothing(api, organization):
    """L44"""
    send(api, external_reference="crm-1")
    other = send(api, "bob@example.com", external_reference="crm-2").json()["data"]["id"]
    before = snapshot_of(organization)

    new = send(api, "new@example.com", external_reference="crm-1", source="Fair")
    known = send(api, "bob@example.com", external_reference="crm-1", last_name="Berg")
    update = api.patch(f"{PATH}/{other}", {"external_reference": "crm-1", "last_name": "Berg"})

    for response in (new, known, update):
        assert_error(response, 409, TAKEN)
    assert snapshot_of(organization) == before


def test_an_update_sets_and_clears_it_without_an_event(api, organization):
    """L43: no one sees it, so neither `updated_at` nor the events change."""
    id = send(api, external_reference="crm-1").json()["data"]["id"]
    before, events = api.get_lead(id), snapshot_of(organization)

    for reference in ("crm-2", "crm-2", None, "crm-1"):
        assert api.patch(f"{PATH}/{id}", {"external_reference": reference}).status_code == 200
        assert find(api, reference or "crm-1") == ([id] if reference else [])

    assert (api.get_lead(id), snapshot_of(organization)) == (before, events)
    assert_invalid_fields(api.patch(f"{PATH}/{id}", {"external_reference": 5}), "external_reference")
    assert_invalid_fields(send(api, external_reference="x" * 256), "external_reference")
    assert_invalid_fields(api.get(PATH, {"external_reference": ["a", "b"]}), "external_reference")


def test_the_kept_lead_keeps_its_reference_or_takes_the_others(api, organization):
    """L45: undoing the merge gives it back, unless it was changed since."""
    ada, bob, cy = (UUID(send(api, f"{name}@example.com").json()["data"]["id"]) for name in ("ada", "bob", "cy"))
    api.patch(f"{PATH}/{bob}", {"external_reference": "crm-b"})
    api.patch(f"{PATH}/{cy}", {"external_reference": "crm-c"})
    common = {"organization": organization, "actor": SYSTEM}

    def undo(previous_id: UUID) -> None:
        undo_merge(**common, merge_id=LeadMerge.objects.of(organization).get(previous_id=previous_id).pk)

    merge_leads(**common, keep=ada, merge=bob)
    assert find(api, "crm-b") == [str(ada)]
    undo(bob)
    assert find(api, "crm-b") == [str(bob)]
    merge_leads(**common, keep=bob, merge=cy)
    assert (find(api, "crm-b"), find(api, "crm-c")) == ([str(bob)], [])
    undo(cy)
    assert (find(api, "crm-b"), find(api, "crm-c")) == ([str(bob)], [str(cy)])
    merge_leads(**common, keep=ada, merge=cy)
    api.patch(f"{PATH}/{ada}", {"external_reference": "crm-a"})
    undo(cy)
    assert (find(api, "crm-a"), find(api, "crm-c")) == ([str(ada)], [str(cy)])


def test_erasing_clears_it_for_another_lead(api, organization):
    """L45"""
    id = send(api, external_reference="crm-1").json()["data"]["id"]
    request_erasure(organization=organization, actor=SYSTEM, lead_id=id)

    assert find(api, "crm-1") == []
    assert send(api, "bob@example.com", external_reference="crm-1").status_code == 201


@pytest.mark.django_db(transaction=True)
def test_one_of_simultaneous_leads_gets_the_reference(api, organization):
    """L44"""
    responses = run_concurrently(
        api.key, *[lambda api, n=n: send(api, f"lead{n}@example.com", external_reference="crm-1") for n in range(8)]
    )

    assert status_codes(responses) == {201: 1, 409: 7}
    assert Lead.objects.of(organization).count() == 1
