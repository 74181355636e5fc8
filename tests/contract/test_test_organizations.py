"""Test organizations, and resetting their data (docs/interface.md, G64 to G66)."""

from contextlib import closing

import pytest
from django.apps import apps
from django.db import connection

from appointments.services.resetting import DELETED
from foundation.db.deletes import delete_batch
from foundation.outbox import run_group
from leads.merging import merge_leads
from leads.models import Lead
from organizations.actors import SYSTEM
from organizations.isolation import TenantModel
from organizations.models import ApiKey, Membership, Organization
from statuses.models import Status
from tests.contract.assertions import assert_error
from tests.factories import make_api, make_custom_field, make_member, notifications_of, owner_of, snapshot_of
from tests.receiver import Receiver
from tests.staff.pages import logged_in_client
from webhooks.models import Delivery, Endpoint, Event
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint

RESET = "/api/external/test/reset"
# What people have set up. A new model belongs here or is deleted by a reset.
CONFIGURATION = {
    *("ApiKey", "Membership", "Invitation", "SavedView", "MailPreference", "RowCount"),
    *("DayCount", "ChangedDay", "ChangedLead"),
    *("Status", "Source", "CustomField", "EventType", "ImportColumn", "LeadMessage", "LeadRetention"),
    *("Endpoint", "ReceivingHost"),
}


def reset(client):
    return client.request("POST", RESET)


@pytest.fixture
def test_organization(organization):
    Organization.objects.filter(pk=organization.pk).update(is_test=True)
    organization.refresh_from_db()
    return organization


def fill(api, organization):
    """Store rows of each kind that integrations store."""
    add_endpoint(organization=organization, url="https://hooks.acme.example/in")
    make_custom_field(organization, "LEAD", "size")
    first, second = (api.submit(email=f"{name}@example.com").json()["data"]["lead_id"] for name in ("ada", "bob"))
    id = api.book(lead_email="ada@example.com", notes="Wants to know the price").json()["data"]["id"]
    api.reschedule(new_external_reference="ref-2")
    api.cancel(external_reference="ref-9", if_unknown="remember")
    api.post(f"/api/external/leads/{first}/notes", {"note": "Called"}, idempotency_key="1")
    analysis = {"ai_generated_title": "A", "ai_rationale": "B", "ai_suggested_outcome": "Won"}
    body = {**analysis, "ai_confidence_score": 0.5, "appointment_id": id}
    api.put("/api/external/call-analyses/call-1", body)
    merge_leads(
        organization=organization,
        actor=SYSTEM,
        keep=Lead.objects.of(organization).get(pk=first).pk,
        merge=Lead.objects.of(organization).get(pk=second).pk,
        values=[],
    )


def rows_by_model(organization):
    models = [model for model in apps.get_models() if issubclass(model, TenantModel)]
    counts = {model.__name__: model.objects.of(organization).count() for model in models}
    return {name: count for name, count in counts.items() if count}


def test_a_reset_deletes_the_data_and_keeps_the_configuration(api, test_organization, other_api, other_organization):
    fill(other_api, other_organization)
    fill(api, test_organization)
    before, others = rows_by_model(test_organization), snapshot_of(other_organization)
    events = Event.objects.of(test_organization).count()

    response = reset(api)

    deleted = {"leads": 1, "appointments": 1, "opt_ins": 2, "events": events}
    assert (response.status_code, response.json()) == (
        200,
        {
            "status": "success",
            "message": "Test data deleted",
            "data": {"deleted": deleted, "is_complete": True},
        },
    )
    kept = rows_by_model(test_organization)
    before["ChangedLead"] = kept["ChangedLead"]  # a deleted booking marks its lead
    assert kept == {name: before[name] for name in before if name in CONFIGURATION}
    assert {Membership, ApiKey, Status, Endpoint} <= {model for model in apps.get_models() if model.__name__ in kept}
    assert snapshot_of(other_organization) == others
    assert api.book().status_code == 201


def test_every_model_is_configuration_or_deleted():
    """Each model that isn't is reached from one that is deleted."""
    models = {model for model in apps.get_models() if issubclass(model, TenantModel)}
    found = set(DELETED)
    while (
        more := {
            relation.related_model
            for model in found
            for relation in model._meta.related_objects
            if relation.related_model in models and relation.on_delete.__name__ == "CASCADE"
        }
        - found
    ):
        found |= more

    assert {model.__name__ for model in models - found} == CONFIGURATION


def test_a_second_reset_deletes_nothing(api, test_organization):
    api.book()
    reset(api)

    assert reset(api).json()["data"] == {
        "deleted": {"leads": 0, "appointments": 0, "opt_ins": 0, "events": 0},
        "is_complete": True,
    }


def test_what_takes_too_long_is_left_to_another_request(api, test_organization, monkeypatch):
    monkeypatch.setattr("appointments.services.resetting.SECONDS", 0)
    api.book()

    assert reset(api).json()["data"]["is_complete"] is False

    monkeypatch.undo()
    assert reset(api).json()["data"]["is_complete"] is True


def test_a_reset_beside_a_booking_counts_what_is_deleted_and_leaves_the_rest(api, test_organization, monkeypatch):
    """The second lead gets an appointment after the first one was deleted."""
    api.submit()
    api.submit(email="bob@example.com", external_reference="2")
    booked = []

    def delete(rows, *arguments):
        count = delete_batch(rows, *arguments)
        if rows.model is Lead and not booked:
            booked.append(api.book(lead_email=Lead.objects.of(test_organization).get().email).status_code)
        return count

    monkeypatch.setattr("appointments.services.resetting.BATCH_SIZE", 1)
    monkeypatch.setattr("appointments.services.resetting.delete_batch", delete)
    data = reset(api).json()["data"]

    assert (data["deleted"]["leads"], data["is_complete"], booked) == (1, False, [201])
    assert reset(api).json()["data"]["is_complete"] is True


@pytest.mark.django_db(transaction=True)
def test_a_reset_while_events_are_sent_stops_neither_the_worker_nor_what_comes_after(api, test_organization, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    resets = []

    def reset_meanwhile(number):
        with closing(connection):  # this thread's own
            resets.append(reset(api).status_code)

    with Receiver(on_request=reset_meanwhile) as receiver:
        endpoint, _ = add_endpoint(organization=test_organization, url=receiver.url)
        api.submit()
        run_group(DELIVERIES, endpoint.pk)
        receiver.on_request = lambda number: None
        left = Delivery.objects.of(test_organization).count(), Event.objects.of(test_organization).count()
        api.submit(email="bob@example.com", external_reference="2")
        run_group(DELIVERIES, endpoint.pk)

    assert (set(resets), left) == ({200}, (0, 0))
    assert sorted(receiver.event_types()[-2:]) == ["lead.created", "opt_in.created"]
    assert set(Delivery.objects.of(test_organization).values_list("state", flat=True)) == {"DONE"}


def test_in_another_organization_a_reset_is_409_and_deletes_nothing(api, organization):
    api.book()
    before = snapshot_of(organization)

    assert_error(reset(api), 409, "This organization is not a test organization")

    assert snapshot_of(organization) == before


def test_a_key_without_the_scope_write_is_403(test_organization):
    assert_error(reset(make_api(test_organization, scopes=["read"])), 403, "This API key lacks the scope write")


@pytest.mark.django_db(transaction=True)
def test_me_and_every_event_say_that_it_is_one(api, test_organization, other_api):
    api.book()
    other_api.book()

    assert api.get_data("/api/external/me")["organization"]["is_test"] is True
    assert {event["is_test"] for event in api.list_events()} == {True}
    assert {event["is_test"] for event in other_api.list_events()} == {False}


def test_only_owners_get_its_notifications(api, test_organization):
    make_member(test_organization, "hana@acme.example")

    api.book(host_email="hana@acme.example")
    api.book(external_reference="ref-2", host_email="owner@acme.example")

    assert notifications_of(test_organization) == [("CALL_BOOKED", "owner@acme.example")]


def test_the_menu_of_the_admin_says_it(test_organization):
    page = logged_in_client(owner_of(test_organization)).get("/admin/")

    assert "Acme (test organization)" in page.content.decode()
