"""manage.py doctor: find the problems of this installation."""

import smtplib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import redis
from django.apps import apps
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.smtp import EmailBackend as SmtpBackend
from django.core.mail.message import sanitize_address
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http.request import split_domain_port, validate_host

from foundation.db.encryption import EncryptedField, KeyState, encrypted_fields, key_state, stored_values
from organizations.isolation import TenantModel
from pipeline_backend.management.commands._command import first_text_line, manage_py
from pipeline_backend.web.health import backlog_error
from webhooks.transaction_ids import has_future_ids

TIMEOUT_SECONDS = 5
BACKUPS = "/var/backups/pipeline"  # of deploy/backup.sh
MAX_BACKUP_AGE = timedelta(hours=36)  # one night, and half a day to notice and repair it
SMTP = "django.core.mail.backends.smtp.EmailBackend"
# The tables that one of the two roles can't read, or reads without a policy.
UNPROTECTED = """
SELECT DISTINCT name
FROM unnest(%s::text[]) AS name
CROSS JOIN (VALUES (session_user || '_tenant'), (session_user || '_staff')) AS roles (role)
WHERE has_table_privilege(to_regrole(quote_ident(role))::oid, name::regclass, 'SELECT') IS NOT TRUE
    OR NOT (SELECT relrowsecurity FROM pg_class WHERE oid = name::regclass)
    OR NOT EXISTS (
        SELECT
        FROM pg_policies
        WHERE schemaname = current_schema() AND tablename = name AND cmd = 'SELECT' AND role::name = ANY (roles)
    )
"""


class Command(BaseCommand):
    help = (
        "Check the database and its migrations, Redis, the encryption keys, BASE_URL and ALLOWED_HOSTS, e-mail, "
        "the backlog of deliveries and notifications, and the age of the dumps, and report each problem in one "
        "sentence. Changes nothing. Exit code 0 if there are no problems, 1 if there are any."
    )
    # The system checks would fail with a traceback where this command should print a sentence.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--send-to", metavar="ADDRESS", help="send one e-mail, and print the mail server's answer")
        parser.add_argument(
            "--backups", metavar="DIRECTORY", default=BACKUPS, help=f"where the nightly dumps are ({BACKUPS})"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        problems = [*database_problems(), *redis_problems(), *host_problems(), *mail_problems()]
        problems += backup_problems(Path(options["backups"]))
        if address := options["send_to"]:
            try:
                self.stdout.write(f"{send_message(address)}. Look for it in the mailbox, and in its spam folder.")
            except (smtplib.SMTPException, OSError, ValueError) as error:
                problems.append(f"No e-mail was sent to {address}: {first_text_line(error)}")
        for problem in problems:
            self.stdout.write(f"- {problem}")
        if problems:
            raise CommandError("1 problem found" if len(problems) == 1 else f"{len(problems)} problems found")
        self.stdout.write("No problems found in database, Redis, encryption keys, addresses, e-mail and queues.")
        if settings.EMAIL_BACKEND == SMTP and settings.EMAIL_HOST in {"127.0.0.1", "::1", "localhost"}:
            self.stdout.write(
                f"{server_name()} is on this computer, and may accept e-mail without delivering it. "
                f"{manage_py('doctor --send-to you@example.com')} sends one that you can look for."
            )
        if old := sum(count_key_states(field)[KeyState.OLD] for field in encrypted_fields()):
            self.stdout.write(
                f"Values under an older encryption key: {old}. {manage_py('reencrypt')} moves them to the first one."
            )


def database_problems() -> Iterator[str]:
    """Check that the database answers and is migrated; only then, check its content."""
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
        if missing:
            # The other checks would fail on missing tables or columns.
            yield f"The database lacks {missing} migration{'s' * (missing > 1)}; run {manage_py('migrate')}"
            return
        yield from session_problems()
        yield from login_problems()
        yield from isolation_problems()
        yield from encryption_problems()
        if has_future_ids():
            problem = "Events are numbered by another PostgreSQL cluster"
            yield f"{problem}; stop web and workers and run {manage_py('migrate')}"
        if error := backlog_error():
            yield error
    except (DatabaseError, InterfaceError) as error:
        yield f"The database does not answer; check DATABASE_URL ({first_text_line(error)})"


def session_problems() -> Iterator[str]:
    """Check that a pooler has set what a process otherwise sets when it connects."""
    if settings.DATABASE_POOLER != "transaction":
        return
    for name, expected in settings.SESSION_SETTINGS.items():
        [(actual,)] = fetch("SELECT current_setting(%s)", name)
        if actual != expected:
            yield f"{name} is {actual} instead of {expected}; set it in PgBouncer's connect_query"


def login_problems() -> Iterator[str]:
    """Check that the service's login is an ordinary role: a superuser can run programs on the database's server."""
    sql = "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = session_user AND (rolsuper OR rolbypassrls)"
    for name, is_superuser in fetch(sql):
        right = "is a superuser" if is_superuser else "may bypass row-level security"
        yield f"The database user {name} {right}; make it an ordinary role (docs/operate.md, The database's owner)"


def isolation_problems() -> Iterator[str]:
    """Check that the roles of requests exist, and have rights and policies on each table with tenants' rows."""
    tables = [model._meta.db_table for model in apps.get_models() if issubclass(model, TenantModel)]
    if names := sorted(name for (name,) in fetch(UNPROTECTED, tables)):
        yield (
            f"Row-level security is incomplete on {', '.join(names)}; "
            "create the two database roles and restore the dump again (docs/operate.md)"
        )


def fetch(sql: str, *params: str | list[str]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def encryption_problems() -> Iterator[str]:
    for field in encrypted_fields():
        states = count_key_states(field)
        if unreadable := states[KeyState.UNKNOWN]:
            yield (
                f"{unreadable} of {states.total()} values of {field.model._meta.db_table}.{field.column} can't be "
                "decrypted; FIELD_ENCRYPTION_KEYS lacks the key that encrypted them"
            )


def count_key_states(field: EncryptedField) -> Counter[KeyState]:
    return Counter(key_state(stored) for batch in stored_values(field) for _, stored in batch)


def redis_problems() -> Iterator[str]:
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        ) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        yield f"Redis does not answer; check REDIS_URL ({first_text_line(error)})"
    if "ssl_cert_reqs=none" in settings.REDIS_URL:
        yield (
            "The certificate of Redis is not checked, because REDIS_URL says ssl_cert_reqs=none; remove that, and name "
            "your own certificate authority with ssl_ca_certs=/path/to/ca.pem"
        )


def host_problems() -> Iterator[str]:
    host, _ = split_domain_port(urlsplit(settings.BASE_URL).netloc)
    if not validate_host(host, settings.ALLOWED_HOSTS):
        yield (
            f"Requests to BASE_URL ({settings.BASE_URL}) are refused, "
            f"because ALLOWED_HOSTS ({', '.join(settings.ALLOWED_HOSTS)}) lacks {host}"
        )


def mail_problems() -> Iterator[str]:
    # `make run` writes e-mails to files on purpose.
    if settings.LOCAL_RUN:
        return
    if settings.EMAIL_BACKEND != SMTP:
        backend = settings.EMAIL_BACKEND.split(".")[-2]
        yield (
            f"E-mails don't leave this computer, because EMAIL_URL selects the {backend} backend; "
            "set it to a mail server (smtp+tls://user:password@host:587)"
        )
        return
    if settings.DEFAULT_FROM_EMAIL.rstrip("> ").endswith("@localhost"):
        yield (
            f"E-mails are sent from {settings.DEFAULT_FROM_EMAIL}, which receivers refuse; "
            "set DEFAULT_FROM_EMAIL to an address of yours"
        )
    try:
        with get_connection(timeout=TIMEOUT_SECONDS):
            pass
    except (smtplib.SMTPException, OSError) as error:
        yield f"{server_name()} can't be used; check EMAIL_URL ({first_text_line(error)})"


def send_message(address: str) -> str:
    """Send one e-mail, and return the mail server's answer. Raises SMTPException or OSError; ValueError without one."""
    if settings.EMAIL_BACKEND != SMTP:
        raise ValueError("EMAIL_URL selects no mail server")
    text = "Your installation of Pipeline Backend can send e-mail.\n"
    message = EmailMessage("Test of Pipeline Backend", text, to=[address]).message().as_string()
    sender, recipient = (sanitize_address(text, "utf-8") for text in (settings.DEFAULT_FROM_EMAIL, address))
    with SmtpBackend(timeout=TIMEOUT_SECONDS) as backend:
        smtp = cast("smtplib.SMTP", backend.connection)
        smtp.ehlo_or_helo_if_needed()
        # Not smtp.sendmail(), which doesn't return the server's answer.
        for send, argument in ((smtp.mail, sender), (smtp.rcpt, recipient), (smtp.data, message)):
            code, reply = send(argument)
            answer = f"{code} {' '.join(reply.decode(errors='replace').split())}"
            if code >= 300:
                raise smtplib.SMTPException(f"{server_name()} refused it: {answer}")
    return f"{server_name()} accepted an e-mail to {address}: {answer}"


def server_name() -> str:
    return f"The mail server {settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


def backup_problems(directory: Path) -> Iterator[str]:
    """Check the age of the newest dump, if the directory of deploy/backup.sh is on this computer."""
    if not directory.exists():
        return
    try:
        times = [path.stat().st_mtime for path in directory.glob("*.dump")]
    except OSError as error:
        yield f"The dumps in {directory} can't be listed ({error.strerror})"
        return
    if not times:
        yield f"There is no dump in {directory}; run deploy/backup.sh as root"
        return
    newest = datetime.fromtimestamp(max(times), UTC)
    if datetime.now(UTC) - newest > MAX_BACKUP_AGE:
        yield f"The newest dump in {directory} is from {newest:%Y-%m-%d %H:%M} UTC; run deploy/backup.sh as root"
