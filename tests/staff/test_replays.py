"""The page of an endpoint shows the progress of its replays: who requested them, and how many are delivered."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from appointments.models import Appointment
from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from organizations.models import Membership, Organization
from tests.receiver import Receiver
from tests.staff.pages import admin_url, form_errors, shown_messages
from webhooks.models import Delivery, Endpoint, Replay
from webhooks.queue import DELIVERIES

ALL_TIME = {"since_0": "2020-01-01", "since_1": "00:00", "until_0": "", "until_1": ""}


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    """The server at the URL of the endpoint."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def endpoint(appointment: Appointment, receiver: Receiver) -> Endpoint:
    """Acme's endpoint, with only failed deliveries."""
    Endpoint.objects.of(appointment.organization).update(url=receiver.url)
    Delivery.objects.of(appointment.organization).update(state=State.DEAD, next_attempt_at=None)
    return Endpoint.objects.of(appointment.organization).get()


def replays_text(client: Client, endpoint: Endpoint) -> str:
    """Return the text of the replays on the endpoint's page, which the page reloads automatically."""
    page = client.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()
    assert page in client.get(admin_url(Endpoint, "change", endpoint.pk)).content.decode()
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def is_reloading(client: Client, endpoint: Endpoint) -> bool:
    """Return whether the page still reloads the replays."""
    return "data-in-progress" in client.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()


def delivery_count(endpoint: Endpoint) -> int:
    """Return the number of deliveries of the endpoint."""
    return Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint).count()


def test_without_a_replay_the_page_says_that_there_are_none(owner: Client, endpoint: Endpoint) -> None:
    assert replays_text(owner, endpoint).startswith("No replays yet.")
    assert not is_reloading(owner, endpoint)


def test_the_page_shows_the_progress_of_a_replay_until_its_end(
    owner: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    total = delivery_count(endpoint)

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), ALL_TIME)
    requested, was_reloading = replays_text(owner, endpoint), is_reloading(owner, endpoint)
    receiver.status_codes = [204, 500, 204]
    run_group(DELIVERIES, endpoint.pk)
    in_progress = replays_text(owner, endpoint)
    Delivery.objects.of(endpoint.organization).filter(state=State.PENDING).update(
        state=State.DEAD, next_attempt_at=None
    )

    assert requested.startswith("Missed events from Wed 1 Jan 2020, 00:00 to ")
    assert " Requested by owner@acme.example on " in requested
    assert requested.endswith(f" {total} deliveries: 0 delivered, {total} pending, 0 failed. 0 of {total}")
    assert in_progress.endswith(
        f" {total} deliveries: {total - 1} delivered, 1 pending, 0 failed. {total - 1} of {total}"
    )
    assert replays_text(owner, endpoint).endswith(
        f" {total} deliveries: {total - 1} delivered, 0 pending, 1 failed. Done."
    )
    assert (was_reloading, is_reloading(owner, endpoint)) == (True, False)


def test_a_replay_of_some_event_types_names_them(owner: Client, endpoint: Endpoint) -> None:
    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), {**ALL_TIME, "types": ["lead.created"]})

    assert ": lead.created Requested by " in replays_text(owner, endpoint)
    assert replays_text(owner, endpoint).endswith(" 2 deliveries: 0 delivered, 2 pending, 0 failed. 0 of 2")
    assert list(
        Delivery.objects.of(endpoint.organization).filter(state=State.PENDING).values_list("event__type", flat=True)
    ) == ["lead.created", "lead.created"]


def test_a_replay_of_a_time_without_missed_events_says_so(owner: Client, endpoint: Endpoint) -> None:
    owner.post(
        admin_url(Endpoint, "replay_missed", endpoint.pk), {**ALL_TIME, "until_0": "2020-01-02", "until_1": "00:00"}
    )

    assert " to Thu 2 Jan 2020, 00:00 Requested by " in replays_text(owner, endpoint)
    assert replays_text(owner, endpoint).endswith(" There was nothing to send.")


def test_deliveries_of_a_later_replay_are_shown_as_superseded(owner: Client, endpoint: Endpoint) -> None:
    total = delivery_count(endpoint)
    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), ALL_TIME)
    Delivery.objects.of(endpoint.organization).update(state=State.DEAD, next_attempt_at=None)

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), ALL_TIME)

    assert replays_text(owner, endpoint).endswith(
        f" {total} deliveries: 0 delivered, 0 pending, 0 failed, {total} superseded by a later replay. Done."
    )


def test_all_deliveries_that_match_a_filter_can_be_replayed(owner: Client, endpoint: Endpoint) -> None:
    delivery = Delivery.objects.of(endpoint.organization).filter(state=State.DEAD).first()
    data = {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0", "select_across": "1"}
    total = delivery_count(endpoint)

    response = owner.post(admin_url(Delivery, "changelist") + "?state__exact=DEAD", data)

    assert shown_messages(response) == [f"{total} deliveries queued. Follow progress on the endpoint page."]
    assert replays_text(owner, endpoint).startswith("Selected deliveries Requested by owner@acme.example on ")
    assert replays_text(owner, endpoint).endswith(
        f" {total} deliveries: 0 delivered, {total} pending, 0 failed. 0 of {total}"
    )


def test_a_user_without_the_permission_cannot_replay(closer: Client, manager: Client, endpoint: Endpoint) -> None:
    delivery = Delivery.objects.of(endpoint.organization).first()
    data = {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"}

    assert closer.get(admin_url(Endpoint, "replays", endpoint.pk)).status_code in {302, 403, 404}
    closer.post(admin_url(Delivery, "changelist"), data)

    assert not Replay.objects.of(endpoint.organization).exists()


def test_replays_of_another_organization_are_invisible_and_cannot_be_started(
    owner: Client, endpoint: Endpoint, other_appointment: Appointment
) -> None:
    other_endpoint = Endpoint.objects.of(other_appointment.organization).get()
    Delivery.objects.of(other_appointment.organization).update(state=State.DEAD, next_attempt_at=None)
    delivery = Delivery.objects.of(other_appointment.organization).first()

    response = owner.get(admin_url(Endpoint, "replays", other_endpoint.pk))
    owner.post(
        admin_url(Delivery, "changelist"),
        {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
    )

    assert response.status_code == 404
    assert not Replay.objects.of(other_appointment.organization).exists()
    assert set(Delivery.objects.of(other_appointment.organization).values_list("state", flat=True)) == {State.DEAD}


REASONS = {
    "button": "This endpoint is disabled. Enable it, then replay.",
    "list": "Skipped 1: the endpoint is disabled. Enable it, then replay.",
}


def test_a_replay_to_a_deleted_endpoint_says_that_it_was_deleted(owner: Client, endpoint: Endpoint) -> None:
    Endpoint.objects.of(endpoint.organization).update(is_active=False, deleted_at=now())
    delivery = Delivery.objects.of(endpoint.organization).first()

    response = owner.post(admin_url(Delivery, "replay", delivery.pk))

    assert form_errors(response) == ["This endpoint was deleted. Its deliveries can't be replayed."]


@pytest.mark.parametrize("action", REASONS)
def test_a_replay_to_a_disabled_endpoint_is_refused_with_the_reason(
    action: str, owner: Client, endpoint: Endpoint
) -> None:
    Endpoint.objects.of(endpoint.organization).update(is_active=False, disabled_at=now() - timedelta(days=1))
    delivery = Delivery.objects.of(endpoint.organization).first()

    if action == "button":
        response = owner.post(admin_url(Delivery, "replay", delivery.pk))
    else:
        response = owner.post(
            admin_url(Delivery, "changelist"),
            {"action": "replay_selected", "_selected_action": str(delivery.pk), "index": "0"},
        )

    shown = form_errors(response) if action == "button" else shown_messages(response)
    assert shown == [REASONS[action]]
    assert not Replay.objects.of(endpoint.organization).exists()


def test_a_long_name_is_truncated_and_escaped(owner: Client, endpoint: Endpoint, organization: Organization) -> None:
    user = Membership.objects.of(organization).get(user__email="owner@acme.example").user
    user.first_name, user.last_name = "<b>" + "Ada" * 40, "Lovelace" * 15
    user.save()

    owner.post(admin_url(Endpoint, "replay_missed", endpoint.pk), ALL_TIME)

    page = owner.get(admin_url(Endpoint, "replays", endpoint.pk)).content.decode()
    assert "by &lt;b&gt;AdaAda" in page
    assert "<b>" not in page
    assert "Lovelace" * 15 not in page
