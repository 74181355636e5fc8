"""Owners are told, in one mail, which endpoints need them (decision 32)."""

from datetime import timedelta
from typing import Any

import pytest

from notifications.tasks import deliver_due
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.tasks import send_endpoint_digest
from webhooks.models import Endpoint
from webhooks.services import DISABLED_BY_STAFF, add_endpoint


@pytest.fixture
def endpoints(organization: Organization) -> list[Endpoint]:
    return [
        add_endpoint(organization=organization, url=f"https://hooks{number}.example.com/")[0] for number in range(3)
    ]


def fail(endpoint: Endpoint, **state: Any) -> None:
    Endpoint.objects.of(endpoint.organization).filter(pk=endpoint.pk).update(**state)


def tell(organization: Organization) -> None:
    send_endpoint_digest()
    deliver_due(str(organization.pk))


def test_all_that_fail_stand_in_one_mail_to_each_owner(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    fail(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)
    fail(endpoints[1], is_active=False, disabled_reason="The receiver answered 410 Gone", disabled_at=now())

    tell(organization)

    [mail] = mailoutbox
    assert mail.to == ["owner@acme.example"]
    assert "hooks0.example.com" in mail.body
    assert "Disabled: The receiver answered 410 Gone" in mail.body
    assert "hooks2.example.com" not in mail.body


def test_nobody_is_told_the_same_twice(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    fail(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)

    tell(organization)
    tell(organization)

    assert len(mailoutbox) == 1


def test_an_endpoint_that_failed_and_is_then_given_up_is_told_again(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    fail(endpoints[0], failing_since=now() - timedelta(hours=25), failures=6)
    tell(organization)
    fail(
        endpoints[0],
        is_active=False,
        disabled_reason="No delivery succeeded for 5 days",
        disabled_at=now() + timedelta(seconds=1),
    )

    tell(organization)

    assert len(mailoutbox) == 2


def test_what_staff_disabled_or_what_failed_just_now_is_no_news(
    organization: Organization, endpoints: list[Endpoint], mailoutbox: list[Any]
) -> None:
    fail(endpoints[0], is_active=False, disabled_reason=DISABLED_BY_STAFF, disabled_at=now())
    fail(endpoints[1], failing_since=now() - timedelta(hours=1), failures=3)

    tell(organization)

    assert mailoutbox == []
