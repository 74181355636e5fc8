"""A mail server that is down or fails does not affect bookings, and gets the mails when it works again."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from foundation.db.timestamps import now
from foundation.outbox import State
from notifications.models import Notification
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_member
from tests.faults.mail_server import MailServer
from tests.faults.stack import Stack, wait_for
from tests.jobs import send_notifications

OWNER, HOST, SETTER = "owner@acme.example", "host@acme.example", "setter@acme.example"


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 30
        yield server


def send_pending(organization: Organization) -> list[tuple[str, str]]:
    """Try to send every pending notification now. Return the states and errors afterwards."""
    Notification.unscoped.filter(state=State.PENDING).update(next_attempt_at=now())
    send_notifications(str(organization.pk))
    return sorted(Notification.unscoped.values_list("state", "last_error"))


# The attributes of the server that make it fail (none: it is stopped), and the errors that may result.
FAILURES = {
    "it is down": ({}, {"mail_server"}),
    "it greets with 421": ({"greeting": "421 too busy"}, {"mail_server"}),
    "it refuses the recipient with 421": ({"refused": {OWNER: "421 too busy"}}, {"recipient_refused"}),
    "it refuses the recipient with 451": ({"refused": {OWNER: "451 greylisted"}}, {"recipient_refused"}),
    "it is too slow": ({"pause": 4.0}, {"timeout", "mail_server"}),
}


@pytest.mark.parametrize(("failure", "errors"), FAILURES.values(), ids=FAILURES)
def test_a_mail_is_retried_when(
    api: ApiClient,
    organization: Organization,
    mail_server: MailServer,
    failure: dict[str, Any],
    errors: set[str],
    settings: Any,
) -> None:
    working = {name: getattr(mail_server, name) for name in failure}
    vars(mail_server).update(failure)
    if not failure:
        mail_server.stop()
    if "pause" in failure:
        settings.EMAIL_TIMEOUT = 0.5

    assert api.book().status_code == 201
    [(state, error)] = send_pending(organization)
    assert (state, mail_server.mails) == (State.PENDING, [])
    assert error in errors

    settings.EMAIL_TIMEOUT = 30
    vars(mail_server).update(working)
    if not failure:
        mail_server.start()
    assert send_pending(organization) == [(State.DONE, "")]
    assert mail_server.recipients() == [OWNER]


def test_a_refused_recipient_does_not_delay_others(
    api: ApiClient, organization: Organization, mail_server: MailServer
) -> None:
    for email in (HOST, SETTER):
        make_member(organization, email)
    mail_server.refused = {HOST: "550 no such user"}
    api.book(host_email=HOST, setter_email=SETTER)
    api.book(external_reference="ref-2")

    states = send_pending(organization)

    assert states == [(State.DONE, ""), (State.DONE, ""), (State.PENDING, "recipient_refused")]
    assert sorted(mail_server.recipients()) == [OWNER, SETTER]


def test_the_mails_of_an_organization_are_sent_over_one_connection(
    api: ApiClient, organization: Organization, mail_server: MailServer
) -> None:
    for number in range(3):
        api.book(external_reference=f"ref-{number}")

    send_pending(organization)

    assert (len(mail_server.mails), mail_server.connections) == (3, 1)


def test_a_mail_server_slower_than_a_lease_gets_each_mail_once_when_it_is_fast_again(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, mail_server: MailServer
) -> None:
    stack = short_lease_stack
    mail_server.pause = 1.0  # seven replies per mail take longer than half a lease of five seconds
    stack.settings["EMAIL_URL"] = f"smtp://127.0.0.1:{mail_server.port}"
    stack.start("worker", "worker-2")
    api.book()

    wait_for(lambda: Notification.unscoped.exclude(last_error="").exists())
    mail_server.pause = 0
    wait_for(lambda: Notification.unscoped.filter(state=State.DONE, attempt_count=2).exists())

    assert mail_server.recipients() == [OWNER]


def test_a_session_that_starts_too_slowly_is_aborted_within_the_lease(
    api: ApiClient, organization: Organization, mail_server: MailServer, settings: Any
) -> None:
    settings.DELIVERY_LEASE_SECONDS, settings.EMAIL_TIMEOUT, mail_server.pause = 4, 3, 2.4
    api.book()

    started = time.monotonic()
    send_pending(organization)

    # Half a lease, but no reply takes longer than the timeout: the whole session would take seven of them.
    assert time.monotonic() - started < 5 * mail_server.pause
    assert mail_server.mails == []


def test_bookings_continue_while_the_mail_server_is_down_and_their_mails_follow_later(
    stack: Stack, organization: Organization, api: ApiClient, mail_server: MailServer
) -> None:
    mail_server.stop()
    stack.settings["EMAIL_URL"] = f"smtp://127.0.0.1:{mail_server.port}"
    stack.start("web", "worker")

    assert {stack.book(str(api.key), external_reference=f"ref-{number}")[0] for number in range(5)} == {201}
    wait_for(lambda: Notification.unscoped.filter(last_error="mail_server").count() == 5)
    mail_server.start()

    wait_for(lambda: len(mail_server.mails) == 5)
