"""Notes of appointments and leads through the API (docs/interface.md, L34 to L38)."""

import json
from typing import Any

import pytest

from leads.merging import merge_leads
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from notifications.models import Kind, Notification
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import make_api, make_member, owner_actor, snapshot_of

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
KINDS = ["appointments", "leads"]
both = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def path(api: ApiClient, kind: str) -> str:
    """The notes of Ada's appointment, or of Ada."""
    appointment = api.get_appointment(api.book().json()["data"]["id"])
    row = appointment if kind == "appointments" else appointment["lead"]
    return f"/api/external/{kind}/{row['id']}/notes"


def add(api: ApiClient, path: str, note: str = "Prefers mornings", **fields: Any) -> Any:
    return api.post(path, {"note": note, **fields})


@both
def test_a_note_is_added_and_listed(api, path, kind):
    """L34"""
    response = add(api, path, external_reference="crm-1")
    second = add(api, path, " Called\n").json()["data"]

    data = response.json()["data"]
    assert (response.status_code, response.json()["message"]) == (201, "Note created")
    assert (data["note"], data["external_reference"], data["author"]["kind"]) == (
        "Prefers mornings",
        "crm-1",
        "API_KEY",
    )
    assert data[f"{kind[:-1]}_id"] in path
    page = api.get(path, {"limit": 1}).json()
    assert (page["success"], page["data"], page["pagination"]["total"]) == (True, [second], 2)
    assert api.get_data(path, {"page": 2, "limit": 1}) == [data]
    assert second["note"] == " Called\n"


@pytest.mark.django_db(transaction=True)
@both
def test_each_change_is_an_event(api, path, kind):
    """A30, L34, L36, L37"""
    id = add(api, path).json()["data"]["id"]
    changed = api.patch(f"{path}/{id}", {"note": "Prefers evenings"})
    repeated = api.patch(f"{path}/{id}", {"note": "Prefers evenings"})
    deleted = api.delete(f"{path}/{id}")

    assert [response.status_code for response in (changed, repeated, deleted)] == [200, 200, 200]
    assert changed.json()["data"] == repeated.json()["data"]
    assert deleted.json() == {"status": "success", "message": "Note deleted", "data": {"id": id}}
    assert api.get_data(path) == []
    topic = {"appointments": "note.", "leads": "lead.note_"}[kind]
    row_id = path.split("/")[4]
    events = [event for event in api.list_events(**{f"{kind[:-1]}_id": row_id}) if event["type"].startswith(topic)]
    assert [event["type"] for event in events] == [f"{topic}created", f"{topic}updated", f"{topic}deleted"]
    assert events[1]["previous"] == {"note": "Prefers mornings"}
    assert [event["data"]["note"] for event in events] == ["Prefers mornings", "Prefers evenings", "Prefers evenings"]
    if kind == "appointments":
        versions = [event["data"]["appointment"]["updated_at"] for event in events]
        assert sorted({*versions}) == versions
        assert api.get_appointment(row_id)["updated_at"] == versions[-1]


@both
def test_a_repeated_reference_is_200_with_the_same_note_and_409_with_another_text(api, organization, path, kind):
    """L35"""
    first = add(api, path, external_reference="crm-1")
    same_text = add(api, path, external_reference="crm-2")
    before = snapshot_of(organization)

    repeated = add(api, path, external_reference="crm-1")
    without_reference = add(api, path)
    conflict = add(api, path, "Prefers evenings", external_reference="crm-1")

    assert same_text.status_code == 201
    assert (repeated.status_code, repeated.json()["message"]) == (200, "Note already exists")
    assert repeated.json()["data"] == first.json()["data"]
    assert without_reference.status_code == 200
    assert_error(conflict, 409, "external_reference crm-1 already belongs to a note with another text")
    assert snapshot_of(organization) == before


@both
def test_only_the_key_that_wrote_a_note_changes_it(api, organization, path, kind):
    """L36"""
    id = add(api, path).json()["data"]["id"]
    other = make_api(organization)
    before = snapshot_of(organization)

    responses = [other.patch(f"{path}/{id}", {"note": "x"}), other.delete(f"{path}/{id}")]

    for response in responses:
        assert_error(response, 403, "Only the API key that wrote the note can change or delete it")
    assert snapshot_of(organization) == before


@both
def test_the_latest_note_that_is_left_is_shown(api, path, kind):
    """L37: the list of appointments shows it, and a deleted note's reference is free."""
    add(api, path, "First")
    id = add(api, path, "Second", external_reference="crm-1").json()["data"]["id"]
    api.patch(f"{path}/{id}", {"note": "Other"})
    shown = api.get_data("/api/external/appointments")[0]["notes"]
    api.delete(f"{path}/{id}")

    again = add(api, path, "Third", external_reference="crm-1")

    assert shown == ({"note": "Other", "mention_users": []} if kind == "appointments" else None)
    assert again.status_code == 201
    assert_error(api.delete(f"{path}/{id}"), 404, "Resource not found")


@pytest.mark.parametrize("kind", ["appointments"])
def test_members_are_mentioned_and_notified_once(api, organization: Organization, host: Membership, path, kind):
    """L38, N2"""
    olga = make_member(organization, "olga@acme.example")
    mentioned = Notification.objects.of(organization).filter(kind=Kind.MENTIONED).order_by("created_at", "id")

    data = add(api, path, mention_emails=["HANA@acme.example", "hana@acme.example"]).json()["data"]
    changes = {"mention_emails": [host.user.email, olga.user.email]}
    changed = api.patch(f"{path}/{data['id']}", changes).json()["data"]
    cleared = api.patch(f"{path}/{data['id']}", {"mention_emails": None}).json()["data"]

    assert [user["email"] for user in data["mention_users"]] == [host.user.email]
    assert {user["email"] for user in changed["mention_users"]} == {host.user.email, olga.user.email}
    assert (cleared["mention_users"], cleared["note"]) == ([], "Prefers mornings")
    assert [row.recipient_id for row in mentioned] == [host.pk, olga.pk]


@pytest.mark.parametrize("kind", ["appointments"])
def test_who_is_no_active_member_is_not_mentioned(api, organization, host, path, kind):
    """L38"""
    before = snapshot_of(organization)

    response = add(api, path, mention_emails=[host.user.email, "nobody@acme.example"])

    assert_invalid_fields(response, "mention_emails.1")
    assert snapshot_of(organization) == before


@both
def test_an_unknown_note_or_object_is_404(api, other_api, other_organization, path, kind):
    """G22"""
    id = add(api, path).json()["data"]["id"]
    unknown = path.replace(path.split("/")[4], UNKNOWN_ID)
    before = snapshot_of(other_organization)

    responses = [
        *(api.get(unknown), add(api, unknown), api.delete(f"{unknown}/{id}"), api.delete(f"{path}/{UNKNOWN_ID}")),
        *(other_api.get(path), add(other_api, path), other_api.delete(f"{path}/{id}"), api.delete(f"{path}/x")),
    ]

    for response in responses:
        assert_error(response, 404, "Resource not found")
    assert snapshot_of(other_organization) == before
    assert len(api.get_data(path)) == 1


@pytest.mark.parametrize("kind", ["leads"])
def test_the_id_of_a_merged_lead_leads_to_the_notes_of_the_kept_one(api, organization, path, kind):
    """L22"""
    id = add(api, path).json()["data"]["id"]
    kept = api.submit(email="grace@example.com").json()["data"]["lead_id"]
    leads = {str(lead.pk): lead.pk for lead in Lead.objects.of(organization)}
    merge_leads(organization=organization, actor=SYSTEM, keep=leads[kept], merge=leads[path.split("/")[4]], values=[])

    assert [note["lead_id"] for note in api.get_data(path)] == [kept]
    assert api.patch(f"{path}/{id}", {"note": "x"}).json()["data"]["lead_id"] == kept


@pytest.mark.django_db(transaction=True)
@both
def test_erasing_a_lead_erases_the_events_of_deleted_notes(api, organization, path, kind):
    """L20"""
    id = add(api, path, "Secret").json()["data"]["id"]
    api.delete(f"{path}/{id}")
    lead = Lead.objects.of(organization).get()

    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=lead.pk)

    assert "Secret" not in str(api.list_events())


@pytest.mark.django_db(transaction=True)
@both
def test_simultaneous_requests_with_one_reference_add_one_note(api, path, kind):
    """L35"""
    responses = run_concurrently(api.key, *(lambda api: add(api, path, external_reference="crm-1") for _ in range(5)))

    assert status_codes(responses) == {201: 1, 200: 4}
    assert len(api.get_data(path)) == 1


@both
def test_nothing_personal_is_stored_for_an_erased_lead(api, organization, path, kind):
    """L35, A46"""
    lead = Lead.objects.of(organization).get()
    request_erasure(organization=organization, actor=owner_actor(organization), lead_id=lead.pk)
    appointment_id = str(lead.appointments.get().pk)
    analysis = {
        "ai_generated_title": "Call",
        "ai_rationale": "Ada is ill",
        "ai_suggested_outcome": "Lost",
        "ai_confidence_score": 0.5,
    }

    note = add(api, path)
    analyzed = api.request(
        "PUT", "/api/external/call-analyses/call-1", json.dumps({**analysis, "appointment_id": appointment_id})
    )

    assert (note.status_code, note.json()["message"]) == (409, "The lead was erased")
    assert (analyzed.status_code, analyzed.json()["message"]) == (409, "The lead was erased")
