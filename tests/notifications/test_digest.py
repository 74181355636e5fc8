"""Owners get one e-mail about all webhook endpoints that need attention (docs/interface.md, N8)."""

from datetime import timedelta
from typing import Any

import pytest

from foundation.db.timestamps import now
from organizations.models import Organization
from pipeline_backend.tasks import send_endpoint_digest
from tests.jobs import send_notifications
from webhooks.models import Endpoint
from webhooks.services import DISABLED_BY_STAFF, add_endpoint


@pytest.fixture
def endpoints(organization: Organization) -> list[Endpoint]:
    """Three working endpoints of Acme."""
    return [
        add_endpoint(organization=organization, url=f"https://hooks{number}.example.com/")[0] for number in range(3)
    ]


def set_health(endpoint: Endpoint, **columns: Any) -> None:
    Endpoint.objects.of(endpoint.organization).filter(pk=endpoint.pk).update(**columns)


def send_digest(organization: Organization) -> None:
    send_endpoint_digest()
    send_notifications(str(organization.pk))


def test_each_owner_gets_one_email_about_all_failing_and_disabled_endpoints(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    set_health(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)
    set_health(endpoints[1], is_active=False, disabled_reason="The receiver answered 410 Gone", disabled_at=now())

    send_digest(organization)

    [email] = mailoutbox
    assert email.to == ["owner@acme.example"]
    assert "hooks0.example.com" in email.body
    assert "Disabled: The receiver answered 410 Gone" in email.body
    assert "hooks2.example.com" not in email.body


def test_a_failing_endpoint_is_reported_once(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    set_health(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)

    send_digest(organization)
    send_digest(organization)

    assert len(mailoutbox) == 1


def test_a_failing_endpoint_is_reported_again_when_it_is_disabled(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    set_health(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)
    send_digest(organization)
    set_health(
        endpoints[0],
        is_active=False,
        disabled_reason="No delivery succeeded for 5 days",
        disabled_at=now() + timedelta(seconds=1),
    )

    send_digest(organization)

    assert len(mailoutbox) == 2


def test_endpoints_disabled_by_staff_or_failing_for_less_than_a_day_are_not_reported(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    set_health(endpoints[0], is_active=False, disabled_reason=DISABLED_BY_STAFF, disabled_at=now())
    set_health(endpoints[1], failing_since=now() - timedelta(hours=1), failures=3)

    send_digest(organization)

    assert mailoutbox == []
