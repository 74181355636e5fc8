"""A mail server that is down or ill changes no booking, and gets the mails when it is well."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from notifications.models import Notification
from notifications.tasks import deliver_due
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State
from tests.client import ApiClient
from tests.factories import make_member
from tests.faults.mail_server import MailServer
from tests.faults.stack import Stack, wait_for

OWNER, HOST, SETTER = "owner@acme.example", "host@acme.example", "setter@acme.example"


@pytest.fixture
def mail_server(settings: Any) -> Iterator[MailServer]:
    with MailServer() as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", server.port, 0.5
        yield server


def send(organization: Organization) -> list[tuple[str, str]]:
    """Send what there is, due or not; the states and errors then."""
    Notification.unscoped.filter(state=State.PENDING).update(next_attempt_at=now())
    deliver_due(str(organization.pk))
    return sorted(Notification.unscoped.values_list("state", "last_error"))


ILLS = {
    "it is down": ({}, {"mail_server"}),
    "it says 421": ({"greeting": "421 too busy"}, {"mail_server"}),
    "it says 421 to the recipient": ({"refused": {OWNER: "421 too busy"}}, {"recipient_refused"}),
    "it says 451 to the recipient": ({"refused": {OWNER: "451 greylisted"}}, {"recipient_refused"}),
    "it is too slow": ({"pause": 1.0}, {"timeout", "mail_server"}),
}


@pytest.mark.parametrize(("ill", "errors"), ILLS.values(), ids=ILLS)
def test_a_mail_is_tried_again_when(
    api: ApiClient, organization: Organization, mail_server: MailServer, ill: dict[str, Any], errors: set[str]
) -> None:
    well = {name: getattr(mail_server, name) for name in ill}
    vars(mail_server).update(ill)
    if not ill:
        mail_server.stop()

    assert api.book().status_code == 201
    started = time.monotonic()
    [(state, noted)] = send(organization)
    assert time.monotonic() - started < 5
    assert (state, mail_server.mails) == (State.PENDING, [])
    assert noted in errors

    vars(mail_server).update(well)
    if not ill:
        mail_server.start()
    assert send(organization) == [(State.DONE, "")]
    assert mail_server.recipients() == [OWNER]


def test_a_refused_recipient_holds_up_nobody_else(
    api: ApiClient, organization: Organization, mail_server: MailServer
) -> None:
    for email in (HOST, SETTER):
        make_member(organization, email)
    mail_server.refused = {HOST: "550 nobody here"}
    api.book(host_email=HOST, setter_email=SETTER)
    api.book(external_reference="ref-2")

    assert send(organization) == [(State.DONE, ""), (State.DONE, ""), (State.PENDING, "recipient_refused")]
    assert sorted(mail_server.recipients()) == [OWNER, SETTER]


def test_one_connection_carries_an_organizations_mails(
    api: ApiClient, organization: Organization, mail_server: MailServer
) -> None:
    for number in range(3):
        api.book(external_reference=f"ref-{number}")

    send(organization)

    assert (len(mail_server.mails), mail_server.connections) == (3, 1)


def test_a_mail_server_slower_than_a_lease_gets_each_mail_once_when_it_is_quick_again(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, mail_server: MailServer
) -> None:
    mail_server.pause = 0.6  # seven words to a mail, and a lease of three seconds
    short_lease_stack.settings["EMAIL_URL"] = f"smtp://127.0.0.1:{mail_server.port}"
    short_lease_stack.start("worker", "worker-2")
    api.book()

    wait_for(lambda: Notification.unscoped.exclude(last_error="").exists(), seconds=30)
    mail_server.pause = 0
    wait_for(lambda: Notification.unscoped.filter(state=State.DONE, attempt_count=2).exists(), seconds=30)

    assert mail_server.recipients() == [OWNER]


def test_a_conversation_that_begins_too_slowly_ends_within_the_lease(
    api: ApiClient, organization: Organization, mail_server: MailServer, settings: Any
) -> None:
    settings.DELIVERY_LEASE_SECONDS, settings.EMAIL_TIMEOUT, mail_server.pause = 4, 3, 2.4
    api.book()

    started = time.monotonic()
    send(organization)

    assert time.monotonic() - started < settings.DELIVERY_LEASE_SECONDS


def test_bookings_go_on_while_the_mail_server_is_down_and_are_told_when_it_is_back(
    stack: Stack, organization: Organization, api: ApiClient, mail_server: MailServer
) -> None:
    mail_server.stop()
    stack.settings["EMAIL_URL"] = f"smtp://127.0.0.1:{mail_server.port}"
    stack.start("web", "worker")

    assert {stack.book(str(api.key), external_reference=f"ref-{number}")[0] for number in range(5)} == {201}
    wait_for(lambda: Notification.unscoped.filter(last_error="mail_server").count() == 5, seconds=30)
    mail_server.start()

    wait_for(lambda: len(mail_server.mails) == 5, seconds=30)
