"""A lead's status changes and an appointment's outcome changes (docs/interface.md, L40 to L42, A50 to A52)."""

from typing import Any
from uuid import UUID

from leads.models import LeadStatusChange
from organizations.models import ApiKey, Organization
from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields
from tests.merging.leads import merge

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


def status_changes(id: str) -> str:
    return f"/api/external/leads/{id}/status-changes"


def outcome_changes(id: str) -> str:
    return f"/api/external/appointments/{id}/outcome-changes"


def api_actor(organization: Organization) -> dict[str, Any]:
    return {"kind": "API_KEY", "id": ApiKey.objects.of(organization).get().key_id, "name": "Tests"}


def test_a_leads_status_changes_are_listed_exactly(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, L40, L41"""
    lead_id = api.submit().json()["data"]["lead_id"]
    new, won = api.get_status("NEW_LEAD"), api.get_status("WON")
    api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": won["id"]})

    response = api.get(status_changes(lead_id)).json()

    latest, first = LeadStatusChange.objects.of(organization).order_by("-created_at", "-id")
    assert (response["message"], response["pagination"]["total"]) == ("Status changes retrieved", 2)
    shown = [{key: row[key] for key in ("id", "from", "to", "actor")} for row in response["data"]]
    actor = api_actor(organization)
    assert shown == [
        {"id": str(latest.pk), "from": new, "to": won, "actor": actor},
        {"id": str(first.pk), "from": None, "to": new, "actor": actor},
    ]
    assert list(response["data"][0]) == ["id", "from", "to", "actor", "created_at"]
    assert response["data"][0]["created_at"] >= api.get_lead(lead_id)["updated_at"]


def test_an_appointments_outcome_changes_are_listed_exactly(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A50, A51"""
    id = api.book().json()["data"]["id"]
    booked = api.get_appointment(id)["outcome"]
    api.cancel()

    response = api.get(outcome_changes(id)).json()

    canceled = api.get_appointment(id)["outcome"]
    assert response["message"] == "Outcome changes retrieved"
    assert [(row["from"], row["to"]) for row in response["data"]] == [(booked, canceled), (None, booked)]
    assert [row["actor"] for row in response["data"]] == [api_actor(organization)] * 2


def test_histories_have_pages_and_cursors(api: ApiClient) -> None:
    """docs/interface.md, L41, G49"""
    lead_id = api.submit().json()["data"]["lead_id"]
    for role in ("WON", "LOST"):
        api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": api.get_status(role)["id"]})
    path = status_changes(lead_id)
    all_rows = api.get_data(path)

    pages = [api.get_data(path, {"page": page, "limit": 1})[0] for page in (1, 2, 3)]
    first = api.get(path, {"cursor": "start", "limit": 2, "count": "false"}).json()
    rest = api.get_data(path, {"cursor": first["pagination"]["nextCursor"]})

    assert pages == all_rows == first["data"] + rest
    assert [row["to"]["role"] for row in all_rows] == ["LOST", "WON", "NEW_LEAD"]


def test_the_history_of_a_merged_lead_is_that_of_the_kept_one(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, L42, L22"""
    kept_id, merged_id = (
        api.submit(email=f"{name}@example.com").json()["data"]["lead_id"] for name in ("kept", "merged")
    )
    merge(organization, UUID(kept_id), UUID(merged_id))

    assert api.get_data(status_changes(merged_id)) == api.get_data(status_changes(kept_id)) != []


def test_an_unknown_id_is_404_after_invalid_parameters(api: ApiClient, other_api: ApiClient) -> None:
    """docs/interface.md, G1, L42, A52"""
    lead_id = other_api.submit().json()["data"]["lead_id"]
    appointment_id = other_api.book().json()["data"]["id"]
    unknown = [f(id) for f in (status_changes, outcome_changes) for id in (UNKNOWN_ID, "x")]

    for path in [status_changes(lead_id), outcome_changes(appointment_id), *unknown]:
        response = api.get(path)

        assert (response.status_code, response.json()["message"]) == (404, "Resource not found")
        assert_invalid_fields(api.get(path, {"limit": 0}), "limit")
