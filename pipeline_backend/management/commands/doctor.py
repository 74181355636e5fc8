"""manage.py doctor: what is wrong with this installation."""

import smtplib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import redis
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.core.mail import get_connection
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Min, Q, TextField
from django.db.models.functions import Cast, Now
from django.http.request import split_domain_port, validate_host

from notifications.models import Notification
from pipeline_backend.db.encryption import cipher
from pipeline_backend.db.timestamps import isoformat_z
from pipeline_backend.management.commands._command import first_text_line
from pipeline_backend.outbox import State
from webhooks.models import Delivery, Endpoint

PATIENCE_SECONDS = 5
LATE = timedelta(minutes=5)
SMTP = "django.core.mail.backends.smtp.EmailBackend"


class Command(BaseCommand):
    """Looks at everything the service needs."""

    help = (
        "Say in plain sentences what is wrong: database and migrations, Redis, encryption keys, BASE_URL and ALLOWED_HOSTS, mail, "
        "and work that nobody takes up. Changes nothing. Exit code 0 if all is well, 1 if anything is wrong."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """One line for each thing that is wrong."""
        wrong = [*database(), *broker(), *address(), *mail()]
        for line in wrong:
            self.stdout.write(f"- {line}")
        if wrong:
            raise CommandError("1 thing is wrong" if len(wrong) == 1 else f"{len(wrong)} things are wrong")
        self.stdout.write("All is well: database, Redis, encryption keys, addresses, mail and queues.")


def database() -> Iterator[str]:
    """Whether it answers and is up to date; only then, what is in it."""
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if missing:
            yield f"The database lacks {missing} migration{'s' * (missing > 1)}; run manage.py migrate"
            return
        yield from secrets()
        yield from backlog()
    except (DatabaseError, InterfaceError) as error:
        yield f"The database does not answer; look at DATABASE_URL ({first_text_line(error)})"


def secrets() -> Iterator[str]:
    """Whether the webhooks' secrets can be read with the keys that are set."""
    columns = [Cast(name, TextField()) for name in ("secret", "previous_secret")]
    rows = list(Endpoint.unscoped.values_list(*columns))
    unreadable = sum(not all(map(is_readable, row)) for row in rows)
    if unreadable:
        yield f"The secrets of {unreadable} of {len(rows)} webhook endpoints can't be decrypted; FIELD_ENCRYPTION_KEYS lacks the key they were stored with"


def is_readable(stored: str | None) -> bool:
    """Whether one of the keys decrypts it."""
    try:
        cipher().decrypt((stored or "").encode())
    except InvalidToken:
        return stored is None
    return True


def backlog() -> Iterator[str]:
    """Work that is due for minutes, of receivers that are served at all."""
    served_jobs: dict[Any, Q] = {Delivery: Q(endpoint__is_active=True), Notification: Q()}
    for model, served in served_jobs.items():
        late = model.unscoped.filter(
            served, organization__is_active=True, state=State.PENDING, next_attempt_at__lt=Now() - LATE
        )
        count, oldest = late.count(), late.aggregate(oldest=Min("next_attempt_at"))["oldest"]
        if count:
            what = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
            yield f"{count} {what} should have been sent more than 5 minutes ago, the oldest at {isoformat_z(oldest)}; are the Celery worker and beat running?"


def broker() -> Iterator[str]:
    """Whether Redis answers."""
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS
        ) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        yield f"Redis does not answer; look at REDIS_URL ({first_text_line(error)})"


def address() -> Iterator[str]:
    """Whether requests to our own address would be let in."""
    host, _ = split_domain_port(urlsplit(settings.BASE_URL).netloc)
    if not validate_host(host, settings.ALLOWED_HOSTS):
        yield f"Requests to BASE_URL ({settings.BASE_URL}) are refused, because ALLOWED_HOSTS ({', '.join(settings.ALLOWED_HOSTS)}) lacks {host}"


def mail() -> Iterator[str]:
    """Whether mails leave the house; a local run keeps them on purpose."""
    if settings.LOCAL_RUN:
        return
    if settings.EMAIL_BACKEND != SMTP:
        kind = settings.EMAIL_BACKEND.split(".")[-2]
        yield f"Mails don't leave this computer, because EMAIL_URL chooses the {kind} backend; name a mail server (smtp+tls://user:password@host:587)"
        return
    if settings.DEFAULT_FROM_EMAIL.rstrip("> ").endswith("@localhost"):
        yield f"Mails come from {settings.DEFAULT_FROM_EMAIL}, which receivers refuse; set DEFAULT_FROM_EMAIL to an address of yours"
    try:
        with get_connection(timeout=PATIENCE_SECONDS):
            pass
    except (smtplib.SMTPException, OSError) as error:
        yield f"The mail server {settings.EMAIL_HOST}:{settings.EMAIL_PORT} does not let us in; look at EMAIL_URL ({first_text_line(error)})"
