"""Members choose the kinds of e-mails they get (docs/interface.md, N3)."""

from typing import Any

from notifications.models import Kind
from notifications.services import set_muted_kinds
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.jobs import send_notifications


def test_a_member_can_switch_off_one_kind_of_email(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    set_muted_kinds(member=host, kinds=[Kind.CALL_BOOKED])
    api.book(host_email=host.user.email)
    api.cancel()

    send_notifications(str(organization.pk))

    assert [email.subject.split(":")[0] for email in mailoutbox] == ["Call Canceled"]


def test_a_member_can_switch_a_kind_on_again(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
) -> None:
    set_muted_kinds(member=host, kinds=[Kind.CALL_BOOKED])
    set_muted_kinds(member=host, kinds=[])
    api.book(host_email=host.user.email)

    send_notifications(str(organization.pk))

    assert len(mailoutbox) == 1
