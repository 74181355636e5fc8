"""Deliveries: what a receiver gets, retries, disabling, replays and signatures (docs/interface.md, W2 to W23)."""

import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from standardwebhooks.webhooks import WebhookVerificationError

from foundation.db.timestamps import now
from foundation.outbox import State, run_group
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.client import ApiClient
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.queue import DELIVERIES
from webhooks.replays import replay
from webhooks.services import add_endpoint, change_endpoint, rotate_secret, send_test


def deliveries(organization: Organization) -> list[Delivery]:
    return list(Delivery.objects.of(organization).order_by("created_at", "id"))


def make_due(organization: Organization) -> None:
    Delivery.objects.of(organization).filter(state=State.PENDING).update(next_attempt_at=now() - timedelta(seconds=1))


def test_a_booking_reaches_the_receiver_signed_as_standard_webhooks_defines(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    id = api.book().json()["data"]["id"]

    run_group(DELIVERIES, endpoint.pk)

    lead, booked = [request.verify(endpoint.secret) for request in receiver.requests]
    assert lead["type"] == "lead.created"
    assert set(booked) == {
        "id",
        "type",
        "timestamp",
        "organization_id",
        "is_test",
        "request_id",
        "data",
        "attribution",
        "actor",
    }
    assert booked["type"] == "appointment.created"
    assert booked["organization_id"] == str(organization.pk)
    assert booked["data"] == api.get_appointment(id)


def test_the_webhook_id_is_the_events_id(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    api.book()

    run_group(DELIVERIES, endpoint.pk)

    ids = [str(event.pk) for event in Event.objects.of(organization).order_by("id")]
    assert [request.headers["webhook-id"] for request in receiver.requests] == ids
    assert [json.loads(request.body)["id"] for request in receiver.requests] == ids


def test_a_cancellation_contains_the_previous_outcome(api: ApiClient, endpoint: Endpoint, receiver: Receiver) -> None:
    api.book(meeting_url="https://meet.example/1")
    api.cancel()

    run_group(DELIVERIES, endpoint.pk)

    moved, canceled = [request.verify(endpoint.secret) for request in receiver.requests][-2:]
    assert moved["type"] == "lead.status_changed"
    assert moved["previous"]["status"]["role"] == "APPOINTMENT_BOOKED"
    assert canceled["type"] == "appointment.canceled"
    assert canceled["previous"]["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert canceled["previous"]["meeting_url"] == "https://meet.example/1"
    assert canceled["data"]["meeting_url"] is None


def test_connections_are_reused(endpoint: Endpoint, receiver: Receiver, settings: Any) -> None:
    settings.WEBHOOK_REQUESTS_PER_ENDPOINT = 2
    for _ in range(6):
        send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    assert len(receiver.requests) == 6
    assert receiver.connections <= 2


def test_an_endpoint_gets_only_the_topics_it_is_subscribed_to(
    api: ApiClient, organization: Organization, receiver: Receiver
) -> None:
    endpoint, _ = add_endpoint(organization=organization, url=receiver.url, event_types=["appointment.canceled"])
    api.book()
    api.cancel()

    run_group(DELIVERIES, endpoint.pk)

    assert receiver.event_types() == ["appointment.canceled"]


def test_an_endpoint_gets_no_events_of_another_organization(
    other_api: ApiClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    other_api.book()

    run_group(DELIVERIES, endpoint.pk)

    assert receiver.requests == []


def test_a_retry_sends_identical_bytes_with_a_new_signature(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500, 204]
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    make_due(organization)

    with time_machine.travel(now() + timedelta(seconds=90), tick=True):
        run_group(DELIVERIES, endpoint.pk)
        first, second = receiver.requests
        second.verify(endpoint.secret)

    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.headers["webhook-timestamp"] != second.headers["webhook-timestamp"]
    assert [(delivery.state, delivery.attempt_count) for delivery in deliveries(organization)] == [(State.DONE, 2)]


def test_every_attempt_is_stored(organization: Organization, endpoint: Endpoint, receiver: Receiver) -> None:
    receiver.status_codes = [500, 302, 204]
    send_test(endpoint=endpoint, actor=SYSTEM)

    for _ in range(3):
        run_group(DELIVERIES, endpoint.pk)
        make_due(organization)

    attempts = Attempt.objects.of(organization).values_list("status_code", "error", "is_stale")
    assert list(attempts) == [(500, "http_500", False), (302, "redirect", False), (204, "", False)]


SCHEDULE = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]


def test_attempts_follow_the_schedule_until_the_delivery_is_dead(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500]
    send_test(endpoint=endpoint, actor=SYSTEM)

    delays = []
    for _ in SCHEDULE:
        run_group(DELIVERIES, endpoint.pk)
        delays.append((deliveries(organization)[0].next_attempt_at - now()).total_seconds())  # type: ignore[operator]
        make_due(organization)
    run_group(DELIVERIES, endpoint.pk)

    pairs = zip(delays, SCHEDULE, strict=True)
    assert all(0.8 * planned - 5 <= delay <= 1.2 * planned + 1 for delay, planned in pairs), delays
    assert [(delivery.state, delivery.attempt_count, delivery.last_error) for delivery in deliveries(organization)] == [
        (State.DEAD, 10, "http_500")
    ]


@pytest.mark.parametrize(
    ("header", "minimum", "maximum"), [("8", 7, 10.1), ("3600", 9, 10.1), ("-5", 3, 6.1), ("soon", 3, 6.1)]
)
def test_retry_after_is_respected_up_to_twice_the_planned_delay(
    organization: Organization, endpoint: Endpoint, receiver: Receiver, header: str, minimum: float, maximum: float
) -> None:
    receiver.status_codes, receiver.response_headers = [429], {"Retry-After": header}
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    delay = (deliveries(organization)[0].next_attempt_at - now()).total_seconds()  # type: ignore[operator]
    assert minimum <= delay <= maximum


def test_a_410_disables_the_endpoint_and_ends_its_deliveries(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [410]
    api.book()

    run_group(DELIVERIES, endpoint.pk)

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.disabled_reason) == (False, "The receiver answered 410 Gone")
    assert {delivery.state for delivery in deliveries(organization)} == {State.DEAD}
    assert len(receiver.requests) == 1


def test_five_days_of_failures_disable_the_endpoint(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500]
    endpoint.failing_since, endpoint.failures = now() - timedelta(days=5, minutes=1), 9
    endpoint.save()
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.disabled_reason) == (False, "No delivery succeeded for 5 days")


def test_a_success_resets_the_failures(endpoint: Endpoint, receiver: Receiver) -> None:
    endpoint.failing_since, endpoint.failures = now() - timedelta(days=5, minutes=1), 9
    endpoint.save()
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.failing_since, endpoint.failures) == (True, None, 0)


def test_a_replay_of_a_dead_delivery_has_the_same_webhook_id(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500]
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    Delivery.objects.of(organization).update(state=State.DEAD, next_attempt_at=None)
    receiver.status_codes = [204]

    replay(delivery=deliveries(organization)[0])
    run_group(DELIVERIES, endpoint.pk)

    first, second = receiver.requests
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert deliveries(organization)[0].state == State.DONE


def test_after_a_rotation_both_secrets_verify_for_24_hours_then_only_the_new_one(
    endpoint: Endpoint, receiver: Receiver
) -> None:
    old = endpoint.secret
    new = rotate_secret(endpoint=endpoint)
    send_test(endpoint=endpoint, actor=SYSTEM)
    run_group(DELIVERIES, endpoint.pk)
    receiver.requests[0].verify(old)
    receiver.requests[0].verify(new)

    with time_machine.travel(now() + timedelta(hours=24, seconds=1), tick=True):
        send_test(endpoint=endpoint, actor=SYSTEM)
        Delivery.unscoped.filter(state=State.PENDING).update(next_attempt_at=now() - timedelta(days=2))
        run_group(DELIVERIES, endpoint.pk)
        receiver.requests[1].verify(new)
        with pytest.raises(WebhookVerificationError):
            receiver.requests[1].verify(old)


def test_a_disabled_endpoint_gets_nothing_until_it_is_enabled(
    api: ApiClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    unchanged = {"endpoint": endpoint, "url": endpoint.url, "description": "", "event_types": []}
    send_test(endpoint=endpoint, actor=SYSTEM)
    change_endpoint(**unchanged, is_active=False)
    api.book()
    run_group(DELIVERIES, endpoint.pk)
    assert receiver.requests == []

    change_endpoint(**unchanged, is_active=True)
    run_group(DELIVERIES, endpoint.pk)

    assert receiver.event_types() == ["webhook.test"]


def test_the_secret_is_not_readable_in_the_database(endpoint: Endpoint) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM webhooks_endpoint")
        stored = cursor.fetchone()[0]

    assert endpoint.secret.startswith("whsec_")
    assert endpoint.secret.removeprefix("whsec_") not in stored
