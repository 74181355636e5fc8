"""Sending again (decision 32)."""

from datetime import timedelta

import pytest

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State, run_group
from tests.client import ApiClient
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.pruning import prune
from webhooks.queue import DELIVERIES
from webhooks.replays import EndpointDisabled, NotReplayable, count_pending_replays, replay, replay_all, replay_since
from webhooks.services import add_endpoint, change_endpoint, send_test


def set_active(endpoint: Endpoint, is_active: bool) -> None:
    change_endpoint(endpoint=endpoint, url=endpoint.url, description="", types=[], is_active=is_active)
    endpoint.refresh_from_db()


def test_what_happened_while_an_endpoint_was_disabled_can_be_sent_when_it_is_back(
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


def test_dead_deliveries_of_the_time_are_sent_too_and_successes_are_not(
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


def test_what_is_older_than_the_time_is_left_alone(
    api: ApiClient, organization: Organization, endpoint: Endpoint
) -> None:
    api.book()
    Delivery.objects.of(organization).update(state=State.DEAD)

    assert replay_since(endpoint=endpoint, actor=SYSTEM, since=now() + timedelta(seconds=1)) == 0


def test_only_types_that_the_endpoint_wants_are_replayed(
    api: ApiClient, organization: Organization, receiver: Receiver
) -> None:
    since = now()
    api.book()
    late, _ = add_endpoint(organization=organization, url=receiver.url, types=["appointment.created"])

    assert replay_since(endpoint=late, actor=SYSTEM, since=since) == 1


def test_nothing_of_a_stranger_is_replayed(
    other_api: ApiClient, endpoint: Endpoint, other_organization: Organization, organization: Organization
) -> None:
    since = now()
    other_api.book()

    assert replay_since(endpoint=endpoint, actor=SYSTEM, since=since) == 0
    assert replay_all(organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(other_organization)) == 0


def test_a_fresh_event_overtakes_replays(
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


def test_who_has_mended_the_receiver_need_not_wait_for_the_next_attempt(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500, 500, 200]
    for _ in range(2):
        send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    one, other = Delivery.objects.of(organization)

    replay(delivery=one)
    assert (
        replay_all(
            organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(organization).filter(pk=other.pk)
        )
        == 1
    )
    run_group(DELIVERIES, endpoint.pk)

    assert len(receiver.requests) == 4
    assert {delivery.state for delivery in Delivery.objects.of(organization)} == {State.DONE}


def test_a_delivery_on_its_way_cannot_be_replayed(organization: Organization, endpoint: Endpoint) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)

    with pytest.raises(NotReplayable):
        replay(delivery=Delivery.objects.of(organization).get())


def test_nothing_is_replayed_to_a_disabled_endpoint_and_the_reason_is_told(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    set_active(endpoint, False)

    with pytest.raises(EndpointDisabled):
        replay(delivery=Delivery.objects.of(organization).get())
    with pytest.raises(EndpointDisabled):
        replay_since(endpoint=endpoint, actor=SYSTEM, since=now() - timedelta(hours=1))

    assert replay_all(organization=organization, actor=SYSTEM, deliveries=Delivery.objects.of(organization)) == 0
    assert Delivery.objects.of(organization).get().state == State.DONE


def test_the_exact_request_is_kept_with_each_attempt(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    head = Attempt.objects.of(organization).get().request_head
    sent = receiver.requests[0].headers
    assert head.startswith("POST /hook HTTP/1.1\r\n")
    assert {line.split(": ")[0].lower(): line.split(": ", 1)[1] for line in head.strip().split("\r\n")[1:]} == sent


def test_deliveries_that_ended_long_ago_are_forgotten_and_events_are_kept(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    send_test(endpoint=endpoint, actor=SYSTEM)
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    old = Delivery.objects.of(organization).first()
    Delivery.objects.of(organization).filter(pk=old.pk).update(finished_at=now() - timedelta(days=91))

    assert prune(organization=organization) == 1

    assert Delivery.objects.of(organization).count() == Attempt.objects.of(organization).count() == 1
    assert Event.objects.of(organization).count() == 2
