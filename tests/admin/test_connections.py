"""Keys, endpoints and deliveries: secrets are shown once and written nowhere."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client

from appointments.models import Appointment
from organizations.models import ApiKey, Organization
from pipeline_backend.outbox import State
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, shown_messages
from tests.client import ApiClient
from tests.factories import snapshot_of
from webhooks.models import Delivery, Endpoint, Event

KEY = re.compile(r"pb_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}")
SECRET = re.compile(r"whsec_[0-9A-Za-z+/=_-]+")


def issued(client: Client, **fields: object) -> str:
    answer = client.post(admin_url(ApiKey, "add"), form_data(client, admin_url(ApiKey, "add"), name="Zapier", **fields))
    assert "no-store" in answer.headers["Cache-Control"]
    return KEY.search(answer.content.decode())[0]


def written() -> str:
    """All that could have kept a secret: the log of the admin and the sessions."""
    sessions = [session.get_decoded() for session in Session.objects.all()]
    return str([sessions, list(LogEntry.objects.values())])


def test_a_key_is_shown_once_and_works(owner: Client, organization: Organization):
    text = issued(owner)

    key = ApiKey.objects.of(organization).get()
    later = [
        owner.get(address).content.decode()
        for address in (
            admin_url(ApiKey, "changelist"),
            admin_url(ApiKey, "change", key.pk),
            admin_url(ApiKey, "history", key.pk),
        )
    ]
    assert ApiClient(text).get("/api/external/statuses").status_code == 200
    assert (key.name, sorted(key.scopes), key.created_by.email) == ("Zapier", ["read", "write"], "owner@acme.example")
    assert [page for page in [*later, written()] if text in page or text[16:48] in page] == []


def test_a_key_has_the_scopes_it_was_given(owner: Client, organization: Organization):
    issued(owner, scopes=["read"])

    assert ApiKey.objects.of(organization).get().scopes == ["read"]


@pytest.mark.parametrize(("overlap", "old_works"), [("now", False), ("24h", True)])
def test_a_rotated_key_ends_after_the_overlap(overlap: str, old_works: bool, owner: Client, organization: Organization):
    old = issued(owner)
    key = ApiKey.objects.of(organization).get()

    answer = owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": overlap})

    new = KEY.search(answer.content.decode())[0]
    assert new != old
    assert [ApiClient(text).get("/api/external/statuses").status_code for text in (new, old)] == [
        200,
        200 if old_works else 401,
    ]


def test_a_revoked_key_is_refused_at_once(owner: Client, organization: Organization):
    text = issued(owner)
    key = ApiKey.objects.of(organization).get()

    asked = owner.get(admin_url(ApiKey, "revoke", key.pk))
    worked = ApiClient(text).get("/api/external/statuses").status_code
    owner.post(admin_url(ApiKey, "revoke", key.pk))

    assert (asked.status_code, worked, ApiClient(text).get("/api/external/statuses").status_code) == (200, 200, 401)
    assert shown_messages(owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": "now"})) != []
    assert ApiKey.objects.of(organization).count() == 1


def test_an_endpoints_secret_is_shown_once(owner: Client, organization: Organization):
    data = form_data(
        owner, admin_url(Endpoint, "add"), url="https://hooks.example.com/in", event_types=["lead.created"]
    )

    answer = owner.post(admin_url(Endpoint, "add"), data)

    endpoint = Endpoint.objects.of(organization).get()
    assert SECRET.search(answer.content.decode())[0] == endpoint.secret
    assert ("no-store" in answer.headers["Cache-Control"], endpoint.event_types) == (True, ["lead.created"])
    pages = [
        owner.get(admin_url(Endpoint, view, *ids)).content.decode()
        for view, ids in (("changelist", []), ("change", [endpoint.pk]), ("history", [endpoint.pk]))
    ]
    assert [page for page in [*pages, written()] if endpoint.secret in page or "whsec_" in page] == []


@pytest.mark.parametrize(
    "address",
    ["http://hooks.example.com/", "https://127.0.0.1/", "https://localhost/", "javascript:alert(1)", "https://a b/"],
)
def test_an_endpoint_that_is_not_public_is_refused(address: str, owner: Client, organization: Organization):
    answer = owner.post(admin_url(Endpoint, "add"), form_data(owner, admin_url(Endpoint, "add"), url=address))

    assert form_errors(answer) == ["Must be a public https address"]
    assert not Endpoint.objects.of(organization).exists()


def test_an_endpoint_is_disabled_and_enabled(owner: Client, ours: Appointment):
    endpoint = Endpoint.objects.of(ours.organization).get()
    address = admin_url(Endpoint, "change", endpoint.pk)

    data = form_data(owner, address)
    owner.post(address, {name: value for name, value in data.items() if name != "is_active"})
    disabled = Endpoint.objects.of(ours.organization).get()
    owner.post(address, form_data(owner, address, is_active="on"))

    assert (disabled.is_active, disabled.disabled_reason) == (False, "Disabled by staff")
    assert Endpoint.objects.of(ours.organization).get().is_active


def test_a_rotated_secret_is_shown_once_and_the_old_one_overlaps(owner: Client, ours: Appointment):
    endpoint = Endpoint.objects.of(ours.organization).get()

    answer = owner.post(admin_url(Endpoint, "rotate_secret", endpoint.pk))

    rotated = Endpoint.objects.of(ours.organization).get()
    assert SECRET.search(answer.content.decode())[0] == rotated.secret
    assert rotated.previous_secret == endpoint.secret


def test_a_test_event_goes_to_the_endpoint(owner: Client, ours: Appointment):
    endpoint = Endpoint.objects.of(ours.organization).get()

    owner.post(admin_url(Endpoint, "send_test", endpoint.pk))

    event = Event.objects.of(ours.organization).get(type="webhook.test")
    assert [delivery.endpoint for delivery in event.deliveries.all()] == [endpoint]


@pytest.mark.parametrize("way", ["button", "list"])
def test_a_dead_delivery_is_replayed(way: str, owner: Client, ours: Appointment):
    delivery = Delivery.objects.of(ours.organization).first()
    Delivery.objects.of(ours.organization).filter(pk=delivery.pk).update(
        state=State.DEAD, attempt_count=10, next_attempt_at=None
    )

    if way == "button":
        owner.post(admin_url(Delivery, "replay", delivery.pk))
    else:
        owner.post(
            admin_url(Delivery, "changelist"),
            {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
        )

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count) == (State.PENDING, 0)


def test_what_an_endpoint_has_missed_is_sent(owner: Client, ours: Appointment):
    endpoint = Endpoint.objects.of(ours.organization).get()
    Delivery.objects.of(ours.organization).update(state=State.DEAD)

    answer = owner.post(
        admin_url(Endpoint, "replay_missed", endpoint.pk),
        {"since_0": "2020-01-01", "since_1": "00:00", "until_0": "", "until_1": ""},
    )

    assert answer.status_code == 302, form_errors(answer)
    assert set(Delivery.objects.of(ours.organization).values_list("state", flat=True)) == {State.PENDING}


def test_a_delivery_under_way_is_not_replayed(owner: Client, ours: Appointment):
    delivery, before = Delivery.objects.of(ours.organization).first(), snapshot_of(ours.organization)

    button = owner.post(admin_url(Delivery, "replay", delivery.pk))
    chosen = owner.post(
        admin_url(Delivery, "changelist"),
        {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
    )

    assert shown_messages(button) == ["Replay: this is not possible at the moment."]
    assert "Skipped 1: already in progress." in shown_messages(chosen)
    assert snapshot_of(ours.organization) == before


def test_an_events_body_is_shown_with_its_deliveries(owner: Client, ours: Appointment):
    event = Event.objects.of(ours.organization).filter(type="appointment.created").get()

    page = owner.get(admin_url(Event, "change", event.pk)).content.decode()

    assert "ours@leads.example" in page
    assert "ours receiver" in page
