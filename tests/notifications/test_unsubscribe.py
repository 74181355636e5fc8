"""One-click unsubscribing without a sign-in (RFC 8058), and the limit on an organization's e-mails a day (case U11)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from notifications.models import MailPreference, Notification
from notifications.services import set_muted_kinds
from notifications.tasks import QUEUES, deliver_due
from organizations.models import Membership, Organization
from pipeline_backend.outbox import State
from tests.admin.pages import logged_in_client
from tests.client import ApiClient
from tests.factories import make_member, notifications_of, owner_of, snapshot_of


def link_in(email: Any) -> str:
    """Return the path of the unsubscribe link in the e-mail's header."""
    return urlsplit(email.extra_headers["List-Unsubscribe"].strip("<>")).path


def post_one_click(path: str) -> Any:
    """Send what a mail server sends when its user presses the button."""
    return Client(enforce_csrf_checks=True).post(
        path, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded"
    )


@pytest.fixture
def link(api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]) -> str:
    """The unsubscribe link of an e-mail about a booking to Hana."""
    api.book(host_email=host.user.email)
    deliver_due(str(organization.pk))
    return link_in(mailoutbox.pop())


def test_every_email_has_the_headers_and_the_link_in_its_body(
    api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any], settings: Any
):
    api.book(host_email=host.user.email)
    deliver_due(str(organization.pk))

    (email,) = mailoutbox
    message, html = email.message(), email.alternatives[0].content
    header = email.extra_headers["List-Unsubscribe"]
    url = header.strip("<>")
    assert header == f"<{settings.BASE_URL}{urlsplit(url).path}>"
    assert f"\nList-Unsubscribe: {header}\n" in message.as_string().replace(": \n <", ": <")
    assert "\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n" in message.as_string()
    assert url in email.body
    assert url in html


def test_one_click_takes_effect_at_once_and_without_a_sign_in(
    link: str, api: ApiClient, organization: Organization, host: Membership, mailoutbox: list[Any]
):
    response = post_one_click(link)
    api.book(host_email=host.user.email, external_reference="ref-2")
    api.cancel(external_reference="ref-2")
    deliver_due(str(organization.pk))

    assert (response.status_code, "Set-Cookie" in response.headers) == (200, False)
    assert [email.subject.split(":")[0] for email in mailoutbox] == ["Call Canceled"]


def test_opening_the_link_only_asks(link: str, organization: Organization):
    before = snapshot_of(organization)

    response = Client().get(link)

    assert (response.status_code, '<form method="post">' in response.content.decode()) == (200, True)
    assert "form-action 'self'" in response.headers["Content-Security-Policy"]
    assert snapshot_of(organization) == before


def test_emails_that_wait_are_canceled(link: str, api: ApiClient, organization: Organization, host: Membership):
    other = make_member(organization, "sam@acme.example")
    api.book(host_email=host.user.email, setter_email=other.user.email, external_reference="ref-2")

    post_one_click(link)

    waiting = Notification.objects.of(organization).filter(state=State.PENDING)
    assert [notification.recipient for notification in waiting] == [other]
    assert Notification.objects.of(organization).get(state=State.CANCELED).recipient == host


def test_repeating_it_changes_nothing_and_keeps_other_choices(link: str, organization: Organization, host: Membership):
    set_muted_kinds(member=host, kinds=["CALL_CANCELED"])

    post_one_click(link)
    post_one_click(link)

    assert MailPreference.objects.of(organization).get().muted == ["CALL_CANCELED", "CALL_BOOKED"]


def test_the_link_ends_the_emails_of_this_member_and_organization_alone(
    link: str, organization: Organization, other_organization: Organization, host: Membership
):
    before = snapshot_of(other_organization)

    post_one_click(link)

    assert [preference.member for preference in MailPreference.objects.of(organization)] == [host]
    assert snapshot_of(other_organization) == before


@pytest.mark.parametrize("change", [lambda path: path[:-1], lambda path: path + "x", lambda path: "/unsubscribe/x:y"])
def test_a_changed_link_does_nothing(link: str, organization: Organization, change: Any):
    before = snapshot_of(organization)

    got, posted = Client().get(change(link)), post_one_click(change(link))

    assert (got.status_code, posted.status_code) == (404, 404)
    assert "acme" not in got.content.decode().lower()
    assert snapshot_of(organization) == before


# --- The daily limit --------------------------------------------------------------------------------------------------


def book_for_owner(api: ApiClient, count: int) -> None:
    """Book so many appointments, each of which is told to the owner."""
    for number in range(count):
        api.book(external_reference=f"ref-{number}", lead_email=f"lead-{number}@example.com")


def test_emails_beyond_the_daily_limit_wait_for_the_next_day_and_none_is_lost(
    api: ApiClient, organization: Organization, mailoutbox: list[Any], settings: Any
):
    settings.MAILS_PER_ORGANIZATION_PER_DAY = 3
    book_for_owner(api, 5)

    for _ in range(3):
        deliver_due(str(organization.pk))
    on_first_day = len(mailoutbox)
    organization.refresh_from_db()
    paused_until = organization.mail_paused_until
    # The next day.
    yesterday = organization.mail_count_date - timedelta(days=1)
    Organization.objects.filter(pk=organization.pk).update(
        mail_count_date=yesterday, mail_paused_until=paused_until - timedelta(days=1)
    )
    deliver_due(str(organization.pk))

    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    assert (on_first_day, len(mailoutbox)) == (3, 5)
    assert paused_until == datetime(tomorrow.year, tomorrow.month, tomorrow.day, tzinfo=UTC)
    assert {email.to[0] for email in mailoutbox} == {"owner@acme.example"}
    assert len({email.extra_headers["X-Notification-Id"] for email in mailoutbox}) == 5


def test_while_emails_wait_nothing_counts_as_failed_or_overdue(
    api: ApiClient, organization: Organization, settings: Any, mailoutbox: list[Any]
):
    settings.MAILS_PER_ORGANIZATION_PER_DAY = 1
    book_for_owner(api, 3)
    deliver_due(str(organization.pk))

    rows = Notification.objects.of(organization).filter(state=State.PENDING)

    assert list(rows.values_list("attempt_count", "last_error")) == [(0, ""), (0, "")]
    assert [queue.groups_with_due_jobs() for queue in QUEUES] == [[], []]


def test_the_limit_of_one_organization_does_not_concern_another(
    api: ApiClient,
    other_api: ApiClient,
    organization: Organization,
    other_organization: Organization,
    settings: Any,
    mailoutbox: list[Any],
):
    settings.MAILS_PER_ORGANIZATION_PER_DAY = 1
    book_for_owner(api, 3)
    book_for_owner(other_api, 1)

    for each in (organization, other_organization):
        deliver_due(str(each.pk))

    assert sorted(email.to[0] for email in mailoutbox) == ["owner@acme.example", "owner@globex.example"]
    assert len(notifications_of(organization)) == 3


def test_the_owner_sees_on_the_dashboard_that_emails_wait(
    api: ApiClient, organization: Organization, other_organization: Organization, settings: Any, mailoutbox: list[Any]
):
    settings.MAILS_PER_ORGANIZATION_PER_DAY = 1
    book_for_owner(api, 3)
    deliver_due(str(organization.pk))

    ours = logged_in_client(owner_of(organization)).get("/admin/").content.decode()
    theirs = logged_in_client(owner_of(other_organization)).get("/admin/").content.decode()

    text = "2 e-mails wait until the next day begins (UTC), because the daily limit is reached"
    assert (text in ours, "daily limit" in theirs) == (True, False)
