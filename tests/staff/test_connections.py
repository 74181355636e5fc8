"""API keys, endpoints and deliveries: secrets are shown once and stored nowhere in plain text."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from appointments.models import Appointment
from foundation.outbox import State
from organizations.models import ApiKey, Organization, Session
from tests.client import ApiClient
from tests.factories import snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, shown_messages
from webhooks.models import Delivery, Endpoint, Event

KEY = re.compile(r"pb_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}")
SECRET = re.compile(r"whsec_[0-9A-Za-z+/=_-]+")


def issue_in_admin(client: Client, **fields: object) -> str:
    """Issue a key in the admin, and return its full text."""
    response = client.post(
        admin_url(ApiKey, "add"), form_data(client, admin_url(ApiKey, "add"), name="Zapier", **fields)
    )
    assert "no-store" in response.headers["Cache-Control"]
    return KEY.search(response.content.decode())[0]


def log_and_sessions() -> str:
    """Return what the admin itself stores, where a secret must not be: its log and the sessions."""
    sessions = [session.get_decoded() for session in Session.objects.all()]
    return str([sessions, list(LogEntry.objects.values())])


def test_a_key_is_shown_once_and_works(owner: Client, organization: Organization):
    text = issue_in_admin(owner)

    key = ApiKey.objects.of(organization).get()
    pages = [
        owner.get(url).content.decode()
        for url in (
            admin_url(ApiKey, "changelist"),
            admin_url(ApiKey, "change", key.pk),
            admin_url(ApiKey, "history", key.pk),
        )
    ]
    assert ApiClient(text).get("/api/external/statuses").status_code == 200
    assert (key.name, sorted(key.scopes), key.created_by.email) == ("Zapier", ["read", "write"], "owner@acme.example")
    assert [page for page in [*pages, log_and_sessions()] if text in page or text[16:48] in page] == []


def test_a_key_has_the_chosen_scopes(owner: Client, organization: Organization):
    issue_in_admin(owner, scopes=["read", "webhooks"])

    assert ApiKey.objects.of(organization).get().scopes == ["read", "webhooks"]


def test_the_list_of_endpoints_shows_which_key_made_one_until_it_is_deleted(owner: Client, organization: Organization):
    api = ApiClient(issue_in_admin(owner, scopes=["webhooks"]))
    path, url = "/api/external/webhook-endpoints", "https://hooks.example.com/zap"
    id = api.post(path, {"url": url}).json()["data"]["id"]
    pages = [owner.get(admin_url(Endpoint, *page)).content.decode() for page in (("changelist",), ("change", id))]
    api.request("DELETE", f"{path}/{id}")
    pages.append(owner.get(admin_url(Endpoint, "changelist")).content.decode())

    name = str(ApiKey.objects.of(organization).get())
    assert [(url in page, name in page) for page in pages] == [(True, True), (True, True), (False, False)]


@pytest.mark.parametrize(("overlap", "old_works"), [("now", False), ("24h", True)])
def test_a_rotated_key_ends_after_the_overlap(overlap: str, old_works: bool, owner: Client, organization: Organization):
    old = issue_in_admin(owner)
    key = ApiKey.objects.of(organization).get()

    response = owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": overlap})

    new = KEY.search(response.content.decode())[0]
    assert new != old
    assert [ApiClient(text).get("/api/external/statuses").status_code for text in (new, old)] == [
        200,
        200 if old_works else 401,
    ]


def test_a_revoked_key_is_refused_at_once(owner: Client, organization: Organization):
    text = issue_in_admin(owner)
    key = ApiKey.objects.of(organization).get()

    confirmation = owner.get(admin_url(ApiKey, "revoke", key.pk))
    worked = ApiClient(text).get("/api/external/statuses").status_code
    owner.post(admin_url(ApiKey, "revoke", key.pk))

    assert (confirmation.status_code, worked, ApiClient(text).get("/api/external/statuses").status_code) == (
        200,
        200,
        401,
    )
    assert shown_messages(owner.post(admin_url(ApiKey, "rotate", key.pk), {"overlap": "now"})) != []
    assert ApiKey.objects.of(organization).count() == 1


def test_the_secret_of_an_endpoint_is_shown_once(owner: Client, organization: Organization):
    data = form_data(
        owner, admin_url(Endpoint, "add"), url="https://hooks.example.com/in", event_types=["lead.created"]
    )

    response = owner.post(admin_url(Endpoint, "add"), data)

    endpoint = Endpoint.objects.of(organization).get()
    assert SECRET.search(response.content.decode())[0] == endpoint.secret
    assert ("no-store" in response.headers["Cache-Control"], endpoint.event_types) == (True, ["lead.created"])
    pages = [
        owner.get(admin_url(Endpoint, view, *ids)).content.decode()
        for view, ids in (("changelist", []), ("change", [endpoint.pk]), ("history", [endpoint.pk]))
    ]
    assert [page for page in [*pages, log_and_sessions()] if endpoint.secret in page or "whsec_" in page] == []


@pytest.mark.parametrize(
    "url",
    ["http://hooks.example.com/", "https://127.0.0.1/", "https://localhost/", "javascript:alert(1)", "https://a b/"],
)
def test_an_endpoint_with_a_private_address_is_refused(url: str, owner: Client, organization: Organization):
    response = owner.post(admin_url(Endpoint, "add"), form_data(owner, admin_url(Endpoint, "add"), url=url))

    assert form_errors(response) == ["Must be a public https address"]
    assert not Endpoint.objects.of(organization).exists()


def test_an_endpoint_can_be_disabled_and_enabled(owner: Client, appointment: Appointment):
    endpoint = Endpoint.objects.of(appointment.organization).get()
    url = admin_url(Endpoint, "change", endpoint.pk)

    data = form_data(owner, url)
    owner.post(url, {name: value for name, value in data.items() if name != "is_active"})
    disabled = Endpoint.objects.of(appointment.organization).get()
    owner.post(url, form_data(owner, url, is_active="on"))

    assert (disabled.is_active, disabled.disabled_reason) == (False, "Disabled by staff")
    assert Endpoint.objects.of(appointment.organization).get().is_active


def test_a_rotated_secret_is_shown_once_and_the_old_one_still_works(owner: Client, appointment: Appointment):
    endpoint = Endpoint.objects.of(appointment.organization).get()

    response = owner.post(admin_url(Endpoint, "rotate_secret", endpoint.pk))

    rotated = Endpoint.objects.of(appointment.organization).get()
    assert SECRET.search(response.content.decode())[0] == rotated.secret
    assert rotated.previous_secret == endpoint.secret


def test_a_rotation_that_is_sent_twice_keeps_the_old_secret(owner: Client, appointment: Appointment):
    endpoint = Endpoint.objects.of(appointment.organization).get()
    url = admin_url(Endpoint, "rotate_secret", endpoint.pk)
    form = form_data(owner, url)
    owner.post(url, form)
    rotated = Endpoint.objects.of(appointment.organization).get()

    again = owner.post(url, form)

    assert shown_messages(again) == ["Rotate signing secret: this was done already. Nothing was done again."]
    unchanged = Endpoint.objects.of(appointment.organization).get()
    assert (unchanged.secret, unchanged.previous_secret) == (rotated.secret, endpoint.secret)
    assert owner.post(url, form_data(owner, url)).status_code == 200


def test_a_second_rotation_within_a_day_says_what_ends(owner: Client, appointment: Appointment):
    url = admin_url(Endpoint, "rotate_secret", Endpoint.objects.of(appointment.organization).get().pk)
    first = owner.get(url).content.decode()
    owner.post(url, form_data(owner, url))

    second = owner.get(url).content.decode()

    text = "receivers that have the secret from before it will refuse deliveries from now on"
    assert [text in page for page in (first, second)] == [False, True]


def test_a_rotation_of_a_key_that_is_sent_twice_issues_one_key(owner: Client, organization: Organization):
    issue_in_admin(owner)
    key = ApiKey.objects.of(organization).get()
    url = admin_url(ApiKey, "rotate", key.pk)
    form = form_data(owner, url, overlap="24h")
    owner.post(url, form)

    again = owner.post(url, form)

    assert shown_messages(again) == ["Rotate: this was done already. Nothing was done again."]
    assert ApiKey.objects.of(organization).count() == 2


def test_a_test_event_is_sent_to_its_endpoint_only(owner: Client, appointment: Appointment):
    endpoint = Endpoint.objects.of(appointment.organization).get()

    owner.post(admin_url(Endpoint, "send_test", endpoint.pk))

    event = Event.objects.of(appointment.organization).get(type="webhook.test")
    assert [delivery.endpoint for delivery in event.deliveries.all()] == [endpoint]


@pytest.mark.parametrize("action", ["button", "list"])
def test_a_dead_delivery_can_be_replayed(action: str, owner: Client, appointment: Appointment):
    delivery = Delivery.objects.of(appointment.organization).first()
    Delivery.objects.of(appointment.organization).filter(pk=delivery.pk).update(
        state=State.DEAD, attempt_count=10, next_attempt_at=None
    )

    if action == "button":
        owner.post(admin_url(Delivery, "replay", delivery.pk))
    else:
        owner.post(
            admin_url(Delivery, "changelist"),
            {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
        )

    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt_count) == (State.PENDING, 0)


def test_missed_events_of_an_endpoint_can_be_replayed(owner: Client, appointment: Appointment):
    endpoint = Endpoint.objects.of(appointment.organization).get()
    Delivery.objects.of(appointment.organization).update(state=State.DEAD)

    response = owner.post(
        admin_url(Endpoint, "replay_missed", endpoint.pk),
        {"since_0": "2020-01-01", "since_1": "00:00", "until_0": "", "until_1": ""},
    )

    assert response.status_code == 302, form_errors(response)
    assert set(Delivery.objects.of(appointment.organization).values_list("state", flat=True)) == {State.PENDING}


def test_a_delivery_in_progress_cannot_be_replayed(owner: Client, appointment: Appointment):
    delivery, before = Delivery.objects.of(appointment.organization).first(), snapshot_of(appointment.organization)

    button_response = owner.post(admin_url(Delivery, "replay", delivery.pk))
    list_response = owner.post(
        admin_url(Delivery, "changelist"),
        {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
    )

    assert shown_messages(button_response) == ["Replay: this is not possible at the moment."]
    assert "Skipped 1: already in progress." in shown_messages(list_response)
    assert snapshot_of(appointment.organization) == before


def test_the_page_of_an_event_shows_its_body_and_deliveries(owner: Client, appointment: Appointment):
    event = Event.objects.of(appointment.organization).filter(type="appointment.created").get()

    page = owner.get(admin_url(Event, "change", event.pk)).content.decode()

    assert "ours@leads.example" in page
    assert "ours receiver" in page
