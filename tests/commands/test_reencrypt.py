"""manage.py reencrypt: all encrypted values get the first key, whatever happens meanwhile (docs/operate.md)."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from io import StringIO
from os import environ

import pytest
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction
from django.db.models import TextField, Value
from django.db.models.functions import Cast
from pytest_django import Settings

from foundation.db.encryption import cipher, encrypted_fields
from organizations.models import Membership, Organization, TotpDevice
from tests.commands.runner import database_url, run
from tests.factories import make_organization
from webhooks.models import Endpoint
from webhooks.services import add_endpoint, rotate_secret

NEW = Fernet.generate_key().decode()
SLACK = "https://hooks.slack.example/services/T0/B0/secret"
TOTP_KEY = "JBSWY3DPEHPK3PXP"


@pytest.fixture
def old(settings: Settings) -> Iterator[str]:
    """Return the key with which the tests' rows are encrypted. Afterwards the cipher is built anew."""
    yield settings.FIELD_ENCRYPTION_KEYS[0]
    cipher.cache_clear()


def set_keys(settings: Settings, *keys: str) -> None:
    settings.FIELD_ENCRYPTION_KEYS = list(keys)
    cipher.cache_clear()


def add_endpoints(organization: Organization, count: int) -> dict[str, str]:
    """Create endpoints; return their secrets by URL."""
    urls = [f"https://hooks.example.com/{number}" for number in range(count)]
    return {url: add_endpoint(organization=organization, url=url)[1] for url in urls}


def stored_secrets() -> dict[str, str]:
    """Return the encrypted secrets by URL."""
    return dict(Endpoint.unscoped.order_by("pk").values_list("url", Cast("secret", TextField())))


def decrypt(stored: dict[str, str], key: str) -> dict[str, str]:
    """Decrypt with this key alone; raises InvalidToken if another one has encrypted."""
    return {url: Fernet(key).decrypt(secret.encode()).decode() for url, secret in stored.items()}


def has_new_key(stored: str) -> bool:
    try:
        return bool(Fernet(NEW).decrypt(stored.encode()))
    except InvalidToken:
        return False


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def blocked_updates() -> list[int]:
    """Return the process ids of the sessions of this database that wait for a row that another one has locked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
            "AND query LIKE 'UPDATE %'"
        )
        return [pid for (pid,) in cursor.fetchall()]


def end_sessions(pids: list[int]) -> None:
    """End these sessions. A session that waits for a lock doesn't notice that its client is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid, 30000) FROM unnest(%s::int[]) AS pid", [pids])


def test_every_encrypted_column_gets_the_first_key(
    organization: Organization, other_organization: Organization, host: Membership, settings: Settings, old: str
) -> None:
    secrets = add_endpoints(organization, 2)
    endpoint = Endpoint.objects.of(organization).first()
    assert endpoint is not None
    new_secret, old_secret = rotate_secret(endpoint=endpoint), secrets[endpoint.url]
    Organization.objects.filter(pk=other_organization.pk).update(slack_url=SLACK)
    TotpDevice.objects.create(user=host.user, key=TOTP_KEY)
    set_keys(settings, NEW, old)

    output = run("reencrypt")

    assert output.out == (
        "All 5 values are encrypted with the first key; the others may be removed from FIELD_ENCRYPTION_KEYS.\n"
    )
    assert "webhooks_endpoint.secret: 2 values checked, 2 re-encrypted\n" in output.err
    set_keys(settings, NEW)
    endpoint.refresh_from_db()
    assert (endpoint.secret, endpoint.previous_secret) == (new_secret, old_secret)
    assert {row.url: row.secret for row in Endpoint.objects.of(organization)} == secrets | {endpoint.url: new_secret}
    assert Organization.objects.get(pk=other_organization.pk).slack_url == SLACK
    assert Organization.objects.get(pk=organization.pk).slack_url == ""
    assert TotpDevice.objects.get().key == TOTP_KEY
    assert {field.name for field in encrypted_fields()} == {"slack_url", "key", "secret", "previous_secret"}


def test_a_second_run_changes_nothing(organization: Organization, settings: Settings, old: str) -> None:
    add_endpoints(organization, 2)
    set_keys(settings, NEW, old)
    run("reencrypt")
    stored = stored_secrets()

    output = run("reencrypt")

    assert "webhooks_endpoint.secret: 2 values checked, 0 re-encrypted\n" in output.err
    assert stored_secrets() == stored


def test_values_that_no_key_decrypts_are_named_and_kept(
    organization: Organization, settings: Settings, old: str
) -> None:
    secrets = add_endpoints(organization, 3)
    lost = Endpoint.objects.of(organization).order_by("pk")[1]
    unreadable = Fernet(Fernet.generate_key()).encrypt(b"whsec_lost").decode()
    Endpoint.objects.of(organization).filter(pk=lost.pk).update(secret=Value(unreadable, TextField()))
    set_keys(settings, NEW, old)

    errors = StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("reencrypt", stdout=StringIO(), stderr=errors)

    assert raised.value.returncode == 1
    assert f"Can't be decrypted: webhooks_endpoint.secret of {lost.pk}\n" in errors.getvalue()
    assert "whsec" not in errors.getvalue() + str(raised.value)
    assert str(raised.value) == (
        "1 of 3 values can't be decrypted: FIELD_ENCRYPTION_KEYS lacks their key. "
        "All others are encrypted with the first key."
    )
    stored = stored_secrets()
    assert stored.pop(lost.url) == unreadable
    assert decrypt(stored, NEW) == {url: secret for url, secret in secrets.items() if url != lost.url}


@pytest.mark.django_db(transaction=True)
def test_a_concurrent_change_is_kept_and_gets_the_first_key_as_well(settings: Settings, old: str) -> None:
    organization = make_organization("Acme")
    secrets = add_endpoints(organization, 3)
    changed = Endpoint.objects.of(organization).order_by("pk")[1]
    set_keys(settings, NEW, old)
    command = threading.Thread(target=run_without_lock_timeout)

    with transaction.atomic():
        # As a process does it that has not been restarted with the new key yet.
        value = Value(Fernet(old).encrypt(b"whsec_changed").decode(), TextField())
        Endpoint.objects.of(organization).filter(pk=changed.pk).update(secret=value)
        command.start()
        wait_until(blocked_updates)
    command.join()

    assert decrypt(stored_secrets(), NEW) == secrets | {changed.url: "whsec_changed"}


def run_without_lock_timeout() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")
        run("reencrypt")
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_a_killed_run_is_completed_by_the_next_one(settings: Settings, old: str) -> None:
    organization = make_organization("Acme")
    secrets = add_endpoints(organization, 4)
    first, second, locked, last = Endpoint.objects.of(organization).order_by("pk")
    variables = {"DATABASE_URL": database_url(), "FIELD_ENCRYPTION_KEYS": f"{NEW},{old}"}
    with transaction.atomic():
        Endpoint.objects.of(organization).select_for_update().get(pk=locked.pk)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "reencrypt"],
            cwd=django_settings.ROOT,
            env={**environ, **variables},
            stderr=subprocess.DEVNULL,
        )
        wait_until(blocked_updates)
        process.kill()
        process.wait()
        end_sessions(blocked_updates())
    half_done = stored_secrets()
    set_keys(settings, NEW, old)

    output = run("reencrypt")

    assert [has_new_key(half_done[endpoint.url]) for endpoint in (first, second, locked, last)] == [
        True,
        True,
        False,
        False,
    ]
    assert "webhooks_endpoint.secret: 4 values checked, 2 re-encrypted\n" in output.err
    stored = stored_secrets()
    assert decrypt(stored, NEW) == secrets
    assert stored[first.url] == half_done[first.url]
