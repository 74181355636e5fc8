"""manage.py doctor."""

import os
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from foundation.db.encryption import cipher
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from notifications.models import Kind, Notification
from notifications.services import build_notifications
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.commands.runner import run
from tests.databases import connected_to, superuser_url, url_of
from tests.factories import owner_of, set_columns
from tests.faults.mail_server import MailServer
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import add_endpoint, send_test

SMTP = "django.core.mail.backends.smtp.EmailBackend"
OVERDUE = "have been due for more than 300 seconds, and no worker is processing them"


@pytest.fixture(autouse=True)
def local_run(settings: Settings) -> None:
    """Set LOCAL_RUN, because the tests' settings are fine except for e-mail, which a local run writes to files."""
    settings.LOCAL_RUN = True


@pytest.fixture
def endpoint(organization: Organization) -> Endpoint:
    return add_endpoint(organization=organization, url="https://hooks.example.com/")[0]


@pytest.fixture
def reset_cipher() -> Iterator[None]:
    """Forget the keys that a test has set."""
    yield
    cipher.cache_clear()


def problems(**options: Any) -> list[str]:
    """Run the command, assert that it fails, and return one line for each problem."""
    out = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("doctor", stdout=out, **options)
    lines = out.getvalue().splitlines()
    assert raised.value.returncode == 1
    assert str(raised.value) == ("1 problem found" if len(lines) == 1 else f"{len(lines)} problems found")
    return lines


def assert_all_is_well() -> None:
    assert run("doctor").out == "No problems found in database, Redis, encryption keys, addresses, e-mail and queues.\n"


def make_overdue_delivery(endpoint: Endpoint, minutes: int) -> Delivery:
    """Return a delivery that has been due for `minutes`; a negative number is in the future."""
    send_test(endpoint=endpoint, actor=SYSTEM)
    delivery: Delivery = Delivery.objects.of(endpoint.organization).get()
    set_columns(Delivery, endpoint.organization, str(delivery.pk), next_attempt_at=now() - timedelta(minutes=minutes))
    delivery.refresh_from_db()
    return delivery


def test_a_healthy_installation_is_reported_as_such(endpoint: Endpoint) -> None:
    assert_all_is_well()


def test_a_session_of_a_pooler_that_lacks_a_timeout_is_reported(endpoint: Endpoint, settings: Settings) -> None:
    settings.DATABASE_POOLER = "transaction"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '1min'")  # tests have more
        assert_all_is_well()

        cursor.execute("SET LOCAL lock_timeout = 0")

    assert problems() == ["- lock_timeout is 0 instead of 10s; set it in PgBouncer's connect_query"]


def test_migrations_are_refused_behind_a_pooler_in_transaction_mode(db: None, settings: Settings) -> None:
    settings.DATABASE_POOLER = "transaction"
    before = MigrationRecorder(connection).applied_migrations().keys()

    call_command("migrate", verbosity=0)  # nothing to do
    with pytest.raises(CommandError, match="Migrations need a session"):
        call_command("migrate", "sessions", "zero", verbosity=0)

    assert MigrationRecorder(connection).applied_migrations().keys() == before


def test_a_missing_migration_is_reported(db: None) -> None:
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()

    assert problems() == ["- The database lacks 1 migration; run .venv/bin/python manage.py migrate"]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE leads_lead DISABLE ROW LEVEL SECURITY",
        "DROP POLICY staff_select ON leads_lead",
        "REVOKE SELECT ON leads_lead FROM {user}_tenant",
    ],
)
def test_a_table_without_row_level_security_is_reported(db: None, change: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(change.format(user=connection.settings_dict["USER"]))

    assert problems() == [
        "- Row-level security is incomplete on leads_lead; create the two database roles and restore the dump "
        "again (docs/operate.md)"
    ]


@pytest.mark.django_db(transaction=True)
def test_a_login_with_the_rights_of_a_superuser_is_reported() -> None:
    with connected_to(superuser_url(url_of(connection.settings_dict))):
        (login, _) = problems()

    assert login == (
        "- The database user postgres is a superuser; make it an ordinary role (docs/operate.md, The database's owner)"
    )


def test_events_of_another_cluster_are_reported_until_migrate_has_renumbered_them(endpoint: Endpoint) -> None:
    for _ in range(3):
        send_test(endpoint=endpoint, actor=SYSTEM)
    events = Event.objects.of(endpoint.organization)
    ids = list(events.order_by("-id").values_list("id", flat=True))
    for distance, id in enumerate(ids):  # committed in another order than recorded
        events.filter(pk=id).update(transaction=2**40 + distance)

    (problem,) = problems()
    call_command("migrate", verbosity=0)

    assert problem.startswith("- Events are numbered by another PostgreSQL cluster;")
    assert list(events.visible().values_list("id", flat=True)) == ids
    assert_all_is_well()


def test_an_unreachable_redis_is_reported_without_its_password(db: None, settings: Settings) -> None:
    settings.REDIS_URL = "redis://:secret-word@127.0.0.1:1/0"

    (problem,) = problems()

    assert problem.startswith("- Redis does not answer; check REDIS_URL (")
    assert "secret-word" not in problem


def test_a_lost_encryption_key_is_reported(endpoint: Endpoint, settings: Settings, reset_cipher: None) -> None:
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    cipher.cache_clear()
    add_endpoint(organization=endpoint.organization, url="https://other.example.com/")

    assert problems() == [
        "- 1 of 2 values of webhooks_endpoint.secret can't be decrypted; "
        "FIELD_ENCRYPTION_KEYS lacks the key that encrypted them"
    ]


def test_values_under_an_older_key_are_mentioned(endpoint: Endpoint, settings: Settings, reset_cipher: None) -> None:
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.FIELD_ENCRYPTION_KEYS]
    cipher.cache_clear()

    before, _, after = run("doctor").out, run("reencrypt"), run("doctor").out

    assert before.splitlines()[1:] == [
        "Values under an older encryption key: 1. .venv/bin/python manage.py reencrypt moves them to the first one."
    ]
    assert after.splitlines() == before.splitlines()[:1]


def test_a_base_url_that_is_not_allowed_is_reported(db: None, settings: Settings) -> None:
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://pipeline.example.com:8443", ["localhost", ".example.org"]

    assert problems() == [
        "- Requests to BASE_URL (https://pipeline.example.com:8443) are refused, "
        "because ALLOWED_HOSTS (localhost, .example.org) lacks pipeline.example.com"
    ]


def test_emails_that_are_not_sent_are_reported_except_in_a_local_run(db: None, settings: Settings) -> None:
    settings.LOCAL_RUN = False

    (problem,) = problems()

    assert problem.startswith("- E-mails don't leave this computer, because EMAIL_URL selects the locmem backend;")


def test_an_unreachable_mail_server_and_a_local_sender_address_are_both_reported(db: None, settings: Settings) -> None:
    settings.LOCAL_RUN, settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = False, SMTP, "127.0.0.1", 1
    settings.DEFAULT_FROM_EMAIL = "Pipeline Backend <pipeline@localhost>"

    sender, server = problems()

    assert sender.startswith("- E-mails are sent from Pipeline Backend <pipeline@localhost>, which receivers refuse;")
    assert server.startswith("- The mail server 127.0.0.1:1 can't be used; check EMAIL_URL (")


@pytest.fixture
def mail_server(settings: Settings) -> Iterator[MailServer]:
    """A mail server on this computer, which the settings name."""
    with MailServer(accepted="250 2.0.0 Ok: queued as 4XyZ") as server:
        settings.LOCAL_RUN, settings.EMAIL_BACKEND = False, SMTP
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.DEFAULT_FROM_EMAIL = "Pipeline Backend <pipeline@acme.example>"
        yield server


def test_a_message_can_be_sent_and_the_answer_of_the_mail_server_is_printed(db: None, mail_server: MailServer) -> None:
    out = run("doctor", "--send-to", "me@acme.example").out

    address = f"127.0.0.1:{mail_server.port}"
    assert out.splitlines()[0] == (
        f"The mail server {address} accepted an e-mail to me@acme.example: 250 2.0.0 Ok: queued as 4XyZ. "
        "Look for it in the mailbox, and in its spam folder."
    )
    assert mail_server.recipients() == ["me@acme.example"]
    assert "From: Pipeline Backend <pipeline@acme.example>" in mail_server.mails[0][1]


def test_a_message_that_the_mail_server_refuses_is_a_problem(db: None, mail_server: MailServer) -> None:
    mail_server.refused["me@acme.example"] = "550 5.7.1 relaying denied"

    assert problems(send_to="me@acme.example") == [
        f"- No e-mail was sent to me@acme.example: The mail server 127.0.0.1:{mail_server.port} refused it: "
        "550 5.7.1 relaying denied"
    ]
    assert mail_server.mails == []


def test_without_a_mail_server_no_message_can_be_sent(db: None) -> None:
    assert problems(send_to="me@acme.example") == [
        "- No e-mail was sent to me@acme.example: EMAIL_URL selects no mail server"
    ]


def test_a_mail_server_on_this_computer_is_mentioned_because_it_may_pass_nothing_on(
    db: None, mail_server: MailServer
) -> None:
    out = run("doctor").out

    assert out.splitlines()[1] == (
        f"The mail server 127.0.0.1:{mail_server.port} is on this computer, and may accept e-mail without "
        "delivering it. manage.py doctor --send-to you@example.com sends one that you can look for."
    )
    assert mail_server.mails == []


def test_the_age_of_the_newest_dump_is_checked(db: None, tmp_path: Path) -> None:
    for name, hours in {"old.dump": 90, "new.dump": 37, "newer.dump.tmp": 0}.items():
        (tmp_path / name).touch()
        time = (now() - timedelta(hours=hours)).timestamp()
        os.utime(tmp_path / name, (time, time))

    (problem,) = problems(backups=str(tmp_path))
    (tmp_path / "newer.dump.tmp").rename(tmp_path / "newer.dump")
    after = run("doctor", "--backups", tmp_path).out

    expected = f"{now() - timedelta(hours=37):%Y-%m-%d %H}"
    assert problem.startswith(f"- The newest dump in {tmp_path} is from {expected}:")
    assert after.startswith("No problems found")


def test_a_directory_without_a_dump_is_reported(db: None, tmp_path: Path) -> None:
    assert problems(backups=str(tmp_path)) == [f"- There is no dump in {tmp_path}; run deploy/backup.sh as root"]


def test_overdue_deliveries_are_reported(endpoint: Endpoint) -> None:
    make_overdue_delivery(endpoint, minutes=6)

    assert problems() == [f"- Webhook deliveries {OVERDUE}"]


@pytest.mark.parametrize("minutes", [4, -60])
def test_a_delivery_that_has_just_become_due_or_waits_for_a_retry_is_no_problem(
    endpoint: Endpoint, minutes: int
) -> None:
    make_overdue_delivery(endpoint, minutes)

    assert_all_is_well()


def test_deliveries_to_a_disabled_endpoint_are_no_problem(endpoint: Endpoint) -> None:
    make_overdue_delivery(endpoint, minutes=60)
    set_columns(Endpoint, endpoint.organization, str(endpoint.pk), is_active=False)

    assert_all_is_well()


def test_overdue_notifications_are_reported(organization: Organization) -> None:
    owners = [owner_of(organization)]
    insert_all(*build_notifications(organization=organization, kind=Kind.CALL_BOOKED, recipients=owners, context={}))
    Notification.objects.of(organization).update(next_attempt_at=now() - timedelta(hours=1))

    assert problems() == [f"- Notifications {OVERDUE}"]
