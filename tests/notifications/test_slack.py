"""Slack notifications (docs/interface.md, N6)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from foundation.outbox import State
from notifications.models import ChannelKind, Notification
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.jobs import send_notifications
from tests.receiver import Receiver


@pytest.fixture
def slack(settings: Any, organization: Organization) -> Iterator[Receiver]:
    """A receiver that stands in for Acme's Slack incoming webhook."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Receiver(status_codes=[200]) as receiver:
        organization.slack_url = receiver.url
        organization.save()
        yield receiver


def test_a_booking_is_posted_to_slack_once(
    api: ApiClient, organization: Organization, host: Membership, slack: Receiver
) -> None:
    api.book(host_email=host.user.email, lead_first_name="Ada", lead_last_name="Lovelace")

    send_notifications(str(organization.pk))

    [message] = [json.loads(request.body) for request in slack.requests]
    assert message["text"] == "Call Booked: Ada Lovelace, Tuesday, 05 January 2027, 10:00 (UTC)"
    assert "Host: Hana Host" in message["blocks"][0]["text"]["text"]


def test_a_leads_name_cannot_mention_the_channel(api: ApiClient, organization: Organization, slack: Receiver) -> None:
    api.book(lead_first_name="<!channel>", lead_last_name="&")

    send_notifications(str(organization.pk))

    assert b"<!channel>" not in slack.requests[0].body
    assert b"&lt;!channel&gt; &amp;" in slack.requests[0].body


def test_a_failing_slack_webhook_does_not_delay_emails(
    api: ApiClient, organization: Organization, slack: Receiver, mailoutbox: list[Any]
) -> None:
    slack.status_codes = [500]
    api.book()

    send_notifications(str(organization.pk))

    row = Notification.objects.of(organization).get(medium=ChannelKind.SLACK)
    assert (row.state, row.last_error, row.attempt_count) == (State.PENDING, "http_500", 1)
    assert len(mailoutbox) == 1


def test_without_a_slack_webhook_no_slack_notification_is_queued(api: ApiClient, organization: Organization) -> None:
    api.book()

    assert not Notification.objects.of(organization).filter(medium=ChannelKind.SLACK).exists()
