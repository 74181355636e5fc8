"""What reaches a receiver (decisions 30 to 32)."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from standardwebhooks.webhooks import WebhookVerificationError

from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State, run_group
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


def test_a_booking_reaches_the_receiver_signed_and_in_the_form_of_standard_webhooks(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    id = api.book().json()["data"]["id"]

    run_group(DELIVERIES, endpoint.pk)

    lead, booked = [request.verify(endpoint.secret) for request in receiver.requests]
    assert lead["type"] == "lead.created"
    assert set(booked) == {"type", "timestamp", "organization_id", "data"}
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


def test_a_cancellation_tells_the_old_outcome(api: ApiClient, endpoint: Endpoint, receiver: Receiver) -> None:
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


def test_one_connection_serves_a_whole_batch(api: ApiClient, endpoint: Endpoint, receiver: Receiver) -> None:
    for number in range(5):
        api.book(external_reference=f"ref-{number}")

    run_group(DELIVERIES, endpoint.pk)

    assert len(receiver.requests) == 6
    assert receiver.connections == 1


def test_an_endpoint_gets_only_the_types_it_asked_for(
    api: ApiClient, organization: Organization, receiver: Receiver
) -> None:
    endpoint, _ = add_endpoint(organization=organization, url=receiver.url, types=["appointment.canceled"])
    api.book()
    api.cancel()

    run_group(DELIVERIES, endpoint.pk)

    assert receiver.event_types() == ["appointment.canceled"]


def test_nothing_of_one_organization_reaches_anothers_endpoint(
    other_api: ApiClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    other_api.book()

    run_group(DELIVERIES, endpoint.pk)

    assert receiver.requests == []


def test_a_failure_is_tried_again_with_identical_bytes_and_a_fresh_signature(
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
    assert [(one.state, one.attempt_count) for one in deliveries(organization)] == [(State.DONE, 2)]


def test_every_attempt_is_kept(organization: Organization, endpoint: Endpoint, receiver: Receiver) -> None:
    receiver.status_codes = [500, 302, 204]
    send_test(endpoint=endpoint, actor=SYSTEM)

    for _ in range(3):
        run_group(DELIVERIES, endpoint.pk)
        make_due(organization)

    tries = Attempt.objects.of(organization).values_list("status_code", "error", "is_stale")
    assert list(tries) == [(500, "http_500", False), (302, "redirect", False), (204, "", False)]


SCHEDULE = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]


def test_the_attempts_follow_the_schedule_and_end_dead(
    organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [500]
    send_test(endpoint=endpoint, actor=SYSTEM)

    gaps = []
    for _ in SCHEDULE:
        run_group(DELIVERIES, endpoint.pk)
        gaps.append((deliveries(organization)[0].next_attempt_at - now()).total_seconds())  # type: ignore[operator]
        make_due(organization)
    run_group(DELIVERIES, endpoint.pk)

    assert all(0.8 * planned - 5 <= gap <= 1.2 * planned + 1 for gap, planned in zip(gaps, SCHEDULE, strict=True)), gaps
    assert [(one.state, one.attempt_count, one.last_error) for one in deliveries(organization)] == [
        (State.DEAD, 10, "http_500")
    ]


@pytest.mark.parametrize(
    ("wish", "least", "most"), [("8", 7, 10.1), ("3600", 9, 10.1), ("-5", 3, 6.1), ("soon", 3, 6.1)]
)
def test_retry_after_is_honoured_up_to_twice_the_plan(
    organization: Organization, endpoint: Endpoint, receiver: Receiver, wish: str, least: float, most: float
) -> None:
    receiver.status_codes, receiver.response_headers = [429], {"Retry-After": wish}
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    gap = (deliveries(organization)[0].next_attempt_at - now()).total_seconds()  # type: ignore[operator]
    assert least <= gap <= most


def test_410_disables_the_endpoint_and_ends_its_deliveries(
    api: ApiClient, organization: Organization, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status_codes = [410]
    api.book()

    run_group(DELIVERIES, endpoint.pk)

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.disabled_reason) == (False, "The receiver answered 410 Gone")
    assert {one.state for one in deliveries(organization)} == {State.DEAD}
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


def test_one_success_forgets_the_failures(endpoint: Endpoint, receiver: Receiver) -> None:
    endpoint.failing_since, endpoint.failures = now() - timedelta(days=5, minutes=1), 9
    endpoint.save()
    send_test(endpoint=endpoint, actor=SYSTEM)

    run_group(DELIVERIES, endpoint.pk)

    endpoint.refresh_from_db()
    assert (endpoint.is_active, endpoint.failing_since, endpoint.failures) == (True, None, 0)


def test_a_dead_delivery_can_be_replayed_under_its_id(
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


def test_after_a_rotation_both_secrets_verify_for_24_hours_then_the_new_one_alone(
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
    same = {"endpoint": endpoint, "url": endpoint.url, "description": "", "types": []}
    send_test(endpoint=endpoint, actor=SYSTEM)
    change_endpoint(**same, is_active=False)
    api.book()
    run_group(DELIVERIES, endpoint.pk)
    assert receiver.requests == []

    change_endpoint(**same, is_active=True)
    run_group(DELIVERIES, endpoint.pk)

    assert receiver.event_types() == ["webhook.test"]


def test_the_secret_is_not_readable_in_the_database(endpoint: Endpoint) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT secret FROM webhooks_endpoint")
        stored = cursor.fetchone()[0]

    assert endpoint.secret.startswith("whsec_")
    assert endpoint.secret.removeprefix("whsec_") not in stored
