"""Backup and restore as docs/operate.md describes them: pg_dump, another PostgreSQL cluster, and the service there."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import F
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker, Settings

from foundation.outbox import State
from notifications.models import Notification
from organizations.models import ApiKey, Organization, SecurityEvent, Session
from tests.client import ApiClient
from tests.commands.runner import command_error, run
from tests.databases import Rows, connected_to, empty_cluster, rows_of_all_tables, run_program, superuser_url, url_of
from tests.factories import make_api, make_member, make_organization
from tests.jobs import send_deliveries
from tests.receiver import Receiver
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import add_endpoint

# What an administrator of the new cluster does first (docs/operate.md).
CREATE_ROLES = (
    "CREATE ROLE {user}_tenant NOLOGIN; CREATE ROLE {user}_staff NOLOGIN; GRANT {user}_tenant, {user}_staff TO {user}"
)
FUTURE = "- Events are numbered by another PostgreSQL cluster;"


@dataclass
class Backup:
    """What was there when the database was dumped, and what the copy had after the restore."""

    api: ApiClient
    other_api: ApiClient
    browser: Client
    events: list[str]
    rows: Rows
    restored_rows: Rows
    doctor: str
    receiver: Receiver
    endpoint: Endpoint
    secret: str


@pytest.fixture(scope="module")
def backup(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Backup]:
    """Fill the database, dump it, restore it into an empty cluster, and let the tests work on the copy."""
    folder = tmp_path_factory.mktemp("backup")
    dump, user = folder / "pipeline.dump", connection.settings_dict["USER"]
    with django_db_blocker.unblock(), Receiver() as receiver, empty_cluster(folder / "postgres") as server_url:
        try:
            backup = fill(receiver)
            backup.rows = rows_of_all_tables()
            run_program("pg_dump", "--format=custom", f"--file={dump}", url_of(connection.settings_dict))
        finally:
            call_command("flush", interactive=False, verbosity=0)
        with psycopg.connect(superuser_url(server_url), autocommit=True) as server:
            server.execute(f"DROP ROLE {user}_tenant, {user}_staff")  # which the tests' own clusters have
            server.execute(CREATE_ROLES.format(user=user))
        run_program("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={server_url}", dump)
        with connected_to(server_url):
            backup.restored_rows = rows_of_all_tables()
            backup.doctor = doctor_report()
            call_command("migrate", verbosity=0)
            yield backup


def fill(receiver: Receiver) -> Backup:
    """Let two organizations work, so that rows of every kind exist, some of them jobs that are still to be done."""
    acme, globex = make_organization("Acme"), make_organization("Globex")
    make_member(acme, "hana@acme.example")
    api, other_api, browser = make_api(acme), make_api(globex), Client()
    with override_settings(WEBHOOKS_ALLOW_PRIVATE=True):
        endpoint, secret = add_endpoint(organization=acme, url=receiver.url, event_types=["appointment.created"])
    for client in (api, other_api):
        assert (
            client.submit(questions_answers=[{"question": "Why?", "answer": "Growth", "position": 1}]).status_code
            == 201
        )
        assert client.book(host_email="hana@acme.example" if client is api else ...).status_code == 201
    login = {"username": "hana@acme.example", "password": "secret-of-tests"}
    assert browser.post("/admin/login/", login).status_code == 302
    events = [event["id"] for event in api.list_events()]
    # As in a cluster that has worked for longer than it takes to restore a dump.
    Event.unscoped.update(transaction=F("transaction") + 1_000_000)
    return Backup(api, other_api, browser, events, {}, {}, "", receiver, endpoint, secret)


def doctor_report() -> str:
    """Return what doctor prints, whether it finds problems or not."""
    out = StringIO()
    with override_settings(LOCAL_RUN=True), suppress(CommandError):
        call_command("doctor", stdout=out)
    return out.getvalue()


def test_the_copy_has_every_row_of_every_table(backup: Backup) -> None:
    filled = [Organization, ApiKey, Session, SecurityEvent, Endpoint, Event, Delivery, Notification]

    assert backup.restored_rows == backup.rows
    assert [model for model in filled if not backup.rows[model._meta.db_table]] == []


def test_doctor_asks_for_migrate_and_is_content_after_it(backup: Backup) -> None:
    assert backup.doctor.startswith(FUTURE)
    assert doctor_report().startswith("No problems found")


def test_the_smoke_test_passes_and_changes_nothing(backup: Backup) -> None:
    before = rows_of_all_tables()

    assert run("smoke_test").out.endswith("Everything works. Nothing was stored or sent.\n")
    assert rows_of_all_tables() == before


def test_without_the_roles_rights_the_smoke_test_and_doctor_fail(backup: Backup) -> None:
    with revoked("appointments_appointment"):
        report, error = doctor_report(), command_error("smoke_test")

    assert report.startswith("- Row-level security is incomplete on appointments_appointment; ")
    assert error.startswith("book an appointment: expected 201, got 5")


@contextmanager
def revoked(table: str) -> Iterator[None]:
    """Take all rights on a table from the role of API requests, as `pg_restore --no-acl` does."""
    role = f"{connection.settings_dict['USER']}_tenant"
    with connection.cursor() as cursor:
        cursor.execute(f"REVOKE ALL ON {table} FROM {role}")
        try:
            yield
        finally:
            cursor.execute("RESET ROLE")
            cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role}")


def test_organizations_still_see_only_their_own_rows(backup: Backup) -> None:
    (own,) = backup.api.get_data("/api/external/appointments")
    (other,) = backup.other_api.get_data("/api/external/appointments")

    assert own["id"] != other["id"]
    assert backup.other_api.get(f"/api/external/appointments/{own['id']}").status_code == 404
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {connection.settings_dict['USER']}_tenant")
        assert Event.unscoped.count() == 0


def test_people_are_still_signed_in(backup: Backup) -> None:
    assert backup.browser.get("/admin/appointments/appointment/").status_code == 200


def test_a_reader_of_the_feed_goes_on_where_it_was(backup: Backup) -> None:
    """docs/interface.md, W7"""
    assert [event["id"] for event in backup.api.list_events()][: len(backup.events)] == backup.events

    retry = backup.api.book(host_email="hana@acme.example")
    booked = backup.api.book(external_reference="after-restore")
    unread = backup.api.list_events(after=backup.events[1])

    assert (retry.status_code, booked.status_code) == (200, 201)
    assert [event["id"] for event in unread][: len(backup.events) - 2] == backup.events[2:]
    new = unread[len(backup.events) - 2 :]
    assert new[-1]["type"] == "appointment.created"
    assert new[-1]["data"]["external_reference"] == "after-restore"
    assert len({event["id"] for event in unread}) == len(unread)


def test_what_was_pending_is_sent_and_signed_with_the_secret_from_before(backup: Backup, settings: Settings) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    (pending,) = Delivery.unscoped.filter(event_id__in=backup.events)

    send_deliveries(backup.endpoint.pk)

    sent = {request.headers["webhook-id"]: request for request in backup.receiver.requests}
    assert sent[str(pending.event_id)].verify(backup.secret)["type"] == "appointment.created"
    pending.refresh_from_db()
    assert pending.state == State.DONE
