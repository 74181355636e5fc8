"""Replays and pruning of deliveries (docs/interface.md, W23 and W24)."""

from datetime import timedelta

import pytest

from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.client import ApiClient
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.queue import DELIVERIES
from webhooks.replays import count_pending_replays, replay, replay_all, replay_since
from webhooks.services import add_endpoint, change_endpoint, prune, send_test


def set_active(endpoint: Endpoint, is_active: bool) -> None:
    change_endpoint(endpoint=endpoint, url=endpoint.url, description="", event_types=[], is_active=is_active)
    endpoint.refresh_from_db()


def test_events_recorded_while_an_endpoint_was_disabled_are_sent_by_a_replay(
    api: ApiClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    since = now()
    set_active(endpoint, False)
    api.book()
    set_active(endpoint, True)

    count = replay_since(endpoint=endpoint, actor=SYSTEM, since=since)
    run_group(DELIVERIES, endpoint.pk)

    assert count == 2
    assert sorted(receiver.event_types()) == ["appointment.created", "lead.created"]


def test_a_replay_of_a_period_sends_dead_deliveries_and_not_delivered_ones(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    api.book()
    run_group(DELIVERIES, endpoint.pk)
    Delivery.objects.of(organization).filter(event__type="lead.created").update(state=State.DEAD)

    count = replay_since(endpoint=endpoint, actor=SYSTEM, since=now() - timedelta(hours=1))
    run_group(DELIVERIES, endpoint.pk)

    assert count == 1
    assert receiver.event_types() == ["lead.created", "appointment.created", "lead.created"]
    assert receiver.requests[0].headers["webhook-id"] == receiver.requests[2].headers["webhook-id"]


def test_a_replay_of_many_deliveries_is_done_in_parts(
    api: ApiClient, organization: Organization, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one is stored, no organization sees newer events."""
    monkeypatch.setattr("webhooks.replays.MAX_REPLAYED", 2)
    since = now()
    api.book()
    Delivery.objects.of(organization).update(state=State.DEAD)
    set_active(endpoint, False)
    api.book(external_reference="missed", lead_email="another@example.com")
    set_active(endpoint, True)

    counts = [replay_since(endpoint=endpoint, actor=SYSTEM, since=since) for _ in range(3)]
    Delivery.objects.of(organization).update(state=State.DEAD)
    selected = replay_all(organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(organization))

    assert counts == [2, 2, 0]
    assert selected == 2


def test_a_replay_of_a_period_leaves_older_events_alone(
    api: ApiClient, organization: Organization, endpoint: Endpoint
) -> None:
    api.book()
    Delivery.objects.of(organization).update(state=State.DEAD)

    count = replay_since(endpoint=endpoint, actor=SYSTEM, since=now() + timedelta(seconds=1))

    assert count == 0


def test_a_replay_of_a_period_sends_only_topics_that_the_endpoint_subscribes_to(
    api: ApiClient, organization: Organization, receiver: Receiver
) -> None:
    since = now()
    api.book()
    later_endpoint, _ = add_endpoint(organization=organization, url=receiver.url, event_types=["appointment.created"])

    count = replay_since(endpoint=later_endpoint, actor=SYSTEM, since=since)

    assert count == 1


def test_a_replay_sends_nothing_of_another_organization(
    other_api: ApiClient, endpoint: Endpoint, other_organization: Organization, organization: Organization
) -> None:
    since = now()
    other_api.book()
    others = Delivery.objects.of(other_organization)

    period_count = replay_since(endpoint=endpoint, actor=SYSTEM, since=since)
    selected_count = replay_all(organization=organization, actor=SYSTEM, deliveries=others)

    assert (period_count, selected_count) == (0, 0)


def test_new_events_are_sent_before_replays(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    api.book()
    run_group(DELIVERIES, endpoint.pk)
    replay_all(organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(organization))
    send_test(endpoint=endpoint, actor=SYSTEM)
    assert count_pending_replays(endpoint) == 2

    run_group(DELIVERIES, endpoint.pk)

    assert receiver.event_types()[2:] == ["webhook.test", "lead.created", "appointment.created"]
    assert count_pending_replays(endpoint) == 0


def test_a_delivery_that_waits_for_a_retry_can_be_replayed_at_once(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500, 500, 200]
    for _ in range(2):
        send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    first, second = Delivery.objects.of(organization)

    replay(delivery=first)
    selected = Delivery.objects.of(organization).filter(pk=second.pk)
    count = replay_all(organization=organization, actor=SYSTEM, deliveries=selected)
    run_group(DELIVERIES, endpoint.pk)

    assert count == 1
    assert len(receiver.requests) == 4
    assert {delivery.state for delivery in Delivery.objects.of(organization)} == {State.DONE}


def test_a_delivery_that_was_never_attempted_cannot_be_replayed(organization: Organization, endpoint: Endpoint) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)

    with pytest.raises(Conflict, match="already in progress"):
        replay(delivery=Delivery.objects.of(organization).get())


def test_a_replay_to_a_disabled_endpoint_is_refused_and_changes_nothing(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    set_active(endpoint, False)

    with pytest.raises(Conflict, match="endpoint is disabled"):
        replay(delivery=Delivery.objects.of(organization).get())
    with pytest.raises(Conflict, match="endpoint is disabled"):
        replay_since(endpoint=endpoint, actor=SYSTEM, since=now() - timedelta(hours=1))

    assert replay_all(organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(organization)) == 0
    assert Delivery.objects.of(organization).get().state == State.DONE


def test_an_attempt_stores_exactly_the_request_that_was_sent(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    stored = Attempt.objects.of(organization).get().request_head
    request_line, *header_lines = stored.strip().split("\r\n")
    headers = dict(line.split(": ", 1) for line in header_lines)
    assert request_line == "POST /hook HTTP/1.1"
    assert {name.lower(): value for name, value in headers.items()} == receiver.requests[0].headers


def test_pruning_deletes_deliveries_that_ended_long_ago_and_keeps_events(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    old = Delivery.objects.of(organization).first()
    long_ago = now() - timedelta(days=91)
    Delivery.objects.of(organization).filter(pk=old.pk).update(created_at=long_ago, finished_at=long_ago)

    count = prune(organization=organization)

    assert count == 1
    assert Delivery.objects.of(organization).count() == Attempt.objects.of(organization).count() == 1
    assert Event.objects.of(organization).count() == 2
