"""manage.py doctor."""

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder

from notifications.models import Kind, Notification
from notifications.services import enqueue
from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.db.encryption import cipher
from pipeline_backend.db.timestamps import isoformat_z, now
from tests.commands.runner import run
from tests.factories import owner_of, set_columns
from webhooks.models import Delivery, Endpoint
from webhooks.services import add_endpoint, send_test

SMTP = "django.core.mail.backends.smtp.EmailBackend"


@pytest.fixture(autouse=True)
def keeps_mails(settings: Any) -> None:
    """A local run keeps its mails on purpose; nothing else is wrong with the tests' settings."""
    settings.LOCAL_RUN = True


@pytest.fixture
def endpoint(organization: Organization) -> Endpoint:
    return add_endpoint(organization=organization, url="https://hooks.example.com/")[0]


@pytest.fixture
def fresh_cipher() -> Iterator[None]:
    yield
    cipher.cache_clear()


def wrong() -> list[str]:
    """What the doctor says is wrong, a line for each thing."""
    out = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("doctor", stdout=out)
    lines = out.getvalue().splitlines()
    assert raised.value.returncode == 1
    assert str(raised.value) == ("1 thing is wrong" if len(lines) == 1 else f"{len(lines)} things are wrong")
    return lines


def assert_all_is_well() -> None:
    """It says so, and nothing else."""
    assert run("doctor").out == "All is well: database, Redis, encryption keys, addresses, mail and queues.\n"


def late_delivery(endpoint: Endpoint, minutes: int) -> Delivery:
    """A delivery that is due for so many minutes."""
    send_test(endpoint=endpoint, actor=SYSTEM)
    delivery: Delivery = Delivery.objects.of(endpoint.organization).get()
    set_columns(Delivery, endpoint.organization, str(delivery.pk), next_attempt_at=now() - timedelta(minutes=minutes))
    delivery.refresh_from_db()
    return delivery


def test_where_all_is_well_it_says_so(endpoint: Endpoint) -> None:
    assert_all_is_well()


def test_a_missing_migration_is_wrong(db: None) -> None:
    MigrationRecorder.Migration.objects.filter(app="sessions").delete()

    assert wrong() == ["- The database lacks 1 migration; run manage.py migrate"]


def test_redis_that_is_away_is_wrong(db: None, settings: Any) -> None:
    settings.REDIS_URL = "redis://:secret-word@127.0.0.1:1/0"

    (line,) = wrong()

    assert line.startswith("- Redis does not answer; look at REDIS_URL (")
    assert "secret-word" not in line


def test_a_lost_encryption_key_is_wrong(endpoint: Endpoint, settings: Any, fresh_cipher: None) -> None:
    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    cipher.cache_clear()
    add_endpoint(organization=endpoint.organization, url="https://other.example.com/")

    assert wrong() == [
        "- The secrets of 1 of 2 webhook endpoints can't be decrypted; FIELD_ENCRYPTION_KEYS lacks the key they were stored with"
    ]


def test_a_base_url_that_is_not_allowed_is_wrong(db: None, settings: Any) -> None:
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://pipeline.example.com:8443", ["localhost", ".example.org"]

    assert wrong() == [
        "- Requests to BASE_URL (https://pipeline.example.com:8443) are refused, because ALLOWED_HOSTS (localhost, .example.org) lacks pipeline.example.com"
    ]


def test_mails_that_stay_here_are_wrong_outside_of_a_local_run(db: None, settings: Any) -> None:
    settings.LOCAL_RUN = False

    (line,) = wrong()

    assert line.startswith("- Mails don't leave this computer, because EMAIL_URL chooses the locmem backend;")


def test_a_mail_server_that_is_away_and_an_address_nobody_takes_are_both_wrong(db: None, settings: Any) -> None:
    settings.LOCAL_RUN, settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = False, SMTP, "127.0.0.1", 1
    settings.DEFAULT_FROM_EMAIL = "Pipeline Backend <pipeline@localhost>"

    sender, server = wrong()

    assert sender.startswith("- Mails come from Pipeline Backend <pipeline@localhost>, which receivers refuse;")
    assert server.startswith("- The mail server 127.0.0.1:1 does not let us in; look at EMAIL_URL (")


def test_deliveries_that_nobody_takes_up_are_wrong(endpoint: Endpoint) -> None:
    late = late_delivery(endpoint, minutes=6)

    assert late.next_attempt_at
    assert wrong() == [
        f"- 1 delivery should have been sent more than 5 minutes ago, the oldest at {isoformat_z(late.next_attempt_at)}; are the Celery worker and beat running?"
    ]


@pytest.mark.parametrize("minutes", [4, -60])
def test_a_delivery_that_is_just_due_or_waits_for_its_retry_is_fine(endpoint: Endpoint, minutes: int) -> None:
    late_delivery(endpoint, minutes)

    assert_all_is_well()


def test_a_disabled_endpoint_holds_nothing_up(endpoint: Endpoint) -> None:
    late_delivery(endpoint, minutes=60)
    set_columns(Endpoint, endpoint.organization, str(endpoint.pk), is_active=False)

    assert_all_is_well()


def test_notifications_that_nobody_takes_up_are_wrong(organization: Organization) -> None:
    enqueue(organization=organization, kind=Kind.CALL_BOOKED, recipients=[owner_of(organization)], context={})
    Notification.objects.of(organization).update(next_attempt_at=now() - timedelta(hours=1))

    (line,) = wrong()

    assert line.startswith("- 1 notification should have been sent more than 5 minutes ago, the oldest at ")
