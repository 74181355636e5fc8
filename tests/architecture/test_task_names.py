"""Workers accept messages that the previous release has published: a renamed task keeps its old name, too."""

from datetime import timedelta
from typing import Any

import pytest

from foundation.db.timestamps import now
from foundation.outbox import State
from notifications.models import Notification
from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.client import ApiClient
from tests.receiver import Receiver
from webhooks.models import Delivery
from webhooks.services import add_endpoint, send_test

DELIVERIES = [("webhooks.drain",), ("outbox.deliver_due", "webhooks.delivery")]
NOTIFICATIONS = [("notifications.drain",), ("outbox.deliver_due", "notifications.notification")]
DIGESTS = ["digest.send", "webhooks.send_endpoint_digest"]


def receive_message(name: str, *arguments: str) -> None:
    """Run the task as a worker does when a message with this name arrives."""
    app.loader.import_default_modules()
    app.tasks[name].apply(args=arguments, throw=True)


def test_every_periodic_task_is_one_that_workers_know() -> None:
    app.loader.import_default_modules()

    assert {entry["task"] for entry in app.conf.beat_schedule.values()} - app.tasks.keys() == set()


@pytest.mark.parametrize("name", ["webhooks.sweep", "notifications.sweep"])
def test_a_message_of_the_previous_releases_beat_is_accepted(name: str) -> None:
    receive_message(name)

    assert name not in {entry["task"] for entry in app.conf.beat_schedule.values()}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("message", DELIVERIES, ids=str)
def test_a_message_for_an_endpoint_delivers_its_events(
    organization: Organization, settings: Any, message: tuple[str, ...]
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver() as receiver:
        endpoint, _ = add_endpoint(organization=organization, url=receiver.url)
        send_test(endpoint=endpoint, actor=SYSTEM)

        receive_message(*message, str(endpoint.pk))

    assert receiver.event_types() == ["webhook.test"]
    assert Delivery.objects.of(organization).get().state == State.DONE


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("message", NOTIFICATIONS, ids=str)
def test_a_message_for_an_organization_sends_its_notifications(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], message: tuple[str, ...]
) -> None:
    api.book()

    receive_message(*message, str(organization.pk))

    assert len(mailoutbox) == 1
    assert Notification.objects.of(organization).get().state == State.DONE


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", DIGESTS)
def test_a_message_for_the_digest_notifies_owners_of_failing_endpoints(organization: Organization, name: str) -> None:
    endpoint, _ = add_endpoint(organization=organization, url="https://example.com/hook")
    endpoint.failing_since, endpoint.failures = now() - timedelta(days=2), 9
    endpoint.save()

    receive_message(name)

    assert Notification.objects.of(organization).get().kind == "ENDPOINTS_FAILING"
