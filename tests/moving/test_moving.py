"""An organization is exported, imported into another installation, and deleted (docs/operate.md)."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections, transaction
from django.db.models import Model
from django.test import Client

from accounts.invitations import accept, invitation_link, invite
from appointments.models import Note
from foundation.db.encryption import cipher
from foundation.db.timestamps import now
from foundation.outbox import State
from leads.models import Lead
from organizations.models import ApiKey, MemberRole, Membership, Move, Organization, SecurityEventKind, TotpDevice, User
from organizations.security_log import record_security_event
from organizations.services import add_member
from pipeline_backend.moving.deleting import delete_organization
from statuses.models import Status
from tests.client import ApiClient
from tests.commands.runner import command_error, file_mode, run
from tests.databases import connected_to, rows_of_all_tables
from tests.factories import make_api, make_member, make_organization, owner_of, snapshot_of
from tests.jobs import send_deliveries
from tests.moving.rows import ids_in, rows_of, tables_with
from tests.receiver import Receiver
from tests.staff.sample_data import create_replays, create_sample_data
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.services import add_endpoint

pytestmark = pytest.mark.django_db(transaction=True)
# Rows that stay where they were written.
LEFT_BEHIND = {
    *("organizations_rowcount", "organizations_securitynotice", "appointments_daycount", "appointments_changedday"),
    "appointments_changedlead",
}

WAITING_FOR_LOCK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


class File:
    """The file of an export, and its key."""

    def __init__(self, folder: Path) -> None:
        self.path, self.key = folder / "acme.export", folder / "acme.key"
        self.arguments = [self.path, "--key-file", self.key]

    def export(self, organization: Organization, *options: str) -> None:
        run("export_organization", organization.name, *self.arguments, *options)

    def load(self, *options: str) -> str:
        return run("import_organization", *self.arguments, *options).out

    def error(self, *options: str) -> str:
        return command_error("import_organization", *self.arguments, *options)


@pytest.fixture
def file(tmp_path: Path) -> File:
    return File(tmp_path)


@pytest.fixture
def filled(organization: Organization) -> Organization:
    """Acme, with a row in each of its tables."""
    fill(organization, "ours")
    return organization


def fill(organization: Organization, word: str) -> None:
    create_sample_data(organization, word)
    create_replays(organization)
    member = owner_of(organization)
    TotpDevice.objects.create(user=member.user, key="JBSWY3DPEHPK3PXP")
    Note.objects.of(organization).first().mention_users.set([member])
    Organization.objects.filter(pk=organization.pk).update(slack_url="https://hooks.slack.example/T0/B0/secret")
    kind = SecurityEventKind.INVITATIONS_ALLOWED
    record_security_event(kind, user=member.user, organization=organization, is_mailed=True)
    for row in [organization, Lead.objects.of(organization).first()]:
        LogEntry.objects.create(
            user=member.user,
            content_type=ContentType.objects.get_for_model(type(row)),
            object_id=str(row.pk),
            object_repr=word,
            action_flag=CHANGE,
        )


def test_all_rows_arrive_in_another_installation_with_secrets_in_its_own_key(
    filled: Organization, cell: str, file: File, settings: Any
) -> None:
    file.export(filled, "--pause")
    rows = rows_of(filled.pk)
    user = owner_of(filled).user

    settings.FIELD_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    cipher.cache_clear()
    try:
        with connected_to(cell):
            first = transaction_id()
            output = file.load()
            transactions = transaction_id() - first
            arrived, owner = rows_of(filled.pk), User.objects.get(pk=user.pk)
            device = TotpDevice.objects.get(user=owner)
            imported = Organization.objects.get(pk=filled.pk)
    finally:
        cipher.cache_clear()

    assert [table for table, found in rows.items() if not found] == []
    [entry] = [row for row in arrived["organizations_securityevent"] if row["details"] == "imported from a file"]
    arrived["organizations_securityevent"].remove(entry)
    compared = rows.keys() - LEFT_BEHIND
    assert {table: arrived[table] for table in compared} == {table: rows[table] for table in compared}
    assert counts(arrived["organizations_rowcount"]) == counts(rows["organizations_rowcount"])
    assert (owner.email, owner.password, device.key) == (user.email, user.password, "JBSWY3DPEHPK3PXP")
    assert output == "Acme was imported, and is active.\n"
    # The events of other organizations can be read meanwhile: none of the transactions lasts.
    assert transactions > len(compared)
    assert (imported.is_active, imported.move) == (True, "")
    assert Organization.objects.filter(pk=filled.pk, is_active=False, move=Move.OUT).exists()


def transaction_id() -> int:
    """Use up the database's next transaction id, and return it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text::bigint")
        return int(cursor.fetchone()[0])


def counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the numbers of rows that triggers have stored, by table."""
    return {row["counted"]: sum(each["rows"] for each in rows if each["counted"] == row["counted"]) for row in rows}


def test_a_deleted_organization_leaves_nothing_in_any_table(filled: Organization) -> None:
    other = make_organization("Globex")
    fill(other, "theirs")
    shared = make_member(filled, "both@example.com")
    add_member(organization=other, user=shared.user)
    operator = User.objects.create_superuser("operator@example.com")
    add_member(organization=filled, user=operator)
    rows, others, everything = rows_of(filled.pk), snapshot_of(other), rows_of_all_tables()
    users = set(Membership.objects.of(filled).values_list("user_id", flat=True)) - {shared.user_id, operator.pk}
    texts = ids_in(rows) | users

    preview = command_error("delete_organization", "Acme")
    unchanged = rows_of_all_tables()
    output = run("delete_organization", "Acme", "--confirm")

    assert [table for table, found in rows.items() if not found] == []
    assert preview == f"Nothing was deleted. To delete Acme ({filled.pk}), add --confirm"
    assert unchanged == everything
    assert output.out == "Acme was deleted. No table has its id any more.\n"
    assert tables_with(texts) == {}
    assert [table for table, found in rows_of(filled.pk).items() if found] == []
    assert snapshot_of(other) == others
    assert set(User.objects.values_list("pk", flat=True)) >= {shared.user_id, operator.pk, owner_of(other).user_id}


@pytest.mark.parametrize("model", [Status, User])
def test_an_interrupted_deletion_is_continued(model: type[Model], filled: Organization) -> None:
    users = set(Membership.objects.of(filled).values_list("user_id", flat=True))
    texts = ids_in(rows_of(filled.pk)) | users
    with connection.cursor() as cursor:
        cursor.execute("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'no'; END$$")
        cursor.execute(f"CREATE TRIGGER refuse BEFORE DELETE ON {model._meta.db_table} EXECUTE FUNCTION refuse()")
    try:
        with pytest.raises(Exception, match="no"):
            run("delete_organization", "Acme", "--confirm")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse CASCADE")
    half = Organization.objects.get(pk=filled.pk)

    run("delete_organization", "Acme", "--confirm")

    assert half.is_active is False
    assert tables_with(texts) == {}


def test_a_person_who_joins_another_organization_meanwhile_keeps_the_account(organization: Organization) -> None:
    other = make_organization("Globex")
    user = make_member(organization, "both@example.com", email_verified_at=now()).user
    link = invitation_link(invite(organization=other, email=user.email, role=MemberRole.CLOSER, invited_by=None))
    is_accepted = threading.Event()

    def join() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            accept(token=link.rstrip("/").rpartition("/")[2], signed_in_user=user)
            is_accepted.set()
            while not cursor.execute(WAITING_FOR_LOCK).fetchone()[0]:
                pass
        connections.close_all()

    thread = threading.Thread(target=join)

    def begin_to_join(line: str) -> None:
        if not thread.ident:
            thread.start()
            assert is_accepted.wait(60)

    delete_organization(organization=organization, progress=begin_to_join)
    thread.join(60)

    assert not Organization.objects.filter(pk=organization.pk).exists()
    assert list(user.memberships.values_list("organization", flat=True)) == [other.pk]
    assert set(User.objects.values_list("pk", flat=True)) == {user.pk, owner_of(other).user_id}


def test_integrators_continue_with_the_same_keys_and_what_was_pending_is_sent_once(
    organization: Organization, cell: str, file: File, settings: Any
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    api = make_api(organization)
    with Receiver() as receiver:
        endpoint, secret = add_endpoint(
            organization=organization, url=receiver.url, event_types=["appointment.created"]
        )
        api.book()
        api.submit()
        known = api.list_events()
        file.export(organization, "--pause")
        refused = ApiClient(api.key).book(external_reference="during the move")
        send_deliveries(endpoint.pk)
        before = len(receiver.requests)
        with connected_to(cell):
            make_api(make_organization("Globex")).book()
            file.load()
            retry, booked = api.book(), api.book(external_reference="after the move")
            unread = api.list_events(after=known[1]["id"])
            all_events = api.list_events()
            send_deliveries(Endpoint.objects.of(organization).get().pk)

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert refused.json()["message"] == "The organization is being moved to another server; send the request again"
    assert before == 0
    assert (retry.status_code, booked.status_code) == (200, 201)
    assert all_events[: len(known)] == known
    assert unread == all_events[2:]
    assert all_events[-1]["data"]["external_reference"] == "after the move"
    sent = sorted(request.verify(secret)["id"] for request in receiver.requests)
    assert sent == [event["id"] for event in all_events if event["type"] == "appointment.created"]


def test_the_file_is_private_and_can_be_read_with_its_key_only_and_as_it_was_written(
    filled: Organization, cell: str, file: File
) -> None:
    file.export(filled)
    content, key = file.path.read_bytes(), file.key.read_bytes()

    with connected_to(cell):
        everything = rows_of_all_tables()
        changes = {
            "cut": content[:-20],
            "without its last frame": content[: content.rindex(content[-40:])],
            "one bit": content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
            "longer": content + b"x",
            "another file": b"something else",
        }
        messages = {}
        for name, changed in changes.items():
            file.path.write_bytes(changed)
            messages[name] = file.error()
        file.path.write_bytes(content)
        file.key.write_bytes(Fernet.generate_key())
        messages["another key"] = file.error()
        file.key.write_bytes(key)
        unchanged = rows_of_all_tables()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'leads' AND name LIKE '0026%%'")
        other_version, exists = file.error(), Organization.objects.exists()

    unreadable = f"{file.path} can't be read: it has another key, is incomplete, or was changed"
    assert messages == dict.fromkeys(messages, unreadable) | {
        "longer": f"{file.path} is damaged: it continues after its end",
        "another file": f"{file.path} is not a file of export_organization of this version",
    }
    assert unchanged == everything
    assert "whose tables differ (leads.0026_external_reference)" in other_version
    assert not exists
    assert (file_mode(file.path), file_mode(file.key)) == (0o600, 0o600)
    assert b"ours" not in content
    assert key.strip() not in content


def test_an_import_that_ended_early_is_not_active_and_begins_anew(filled: Organization, cell: str, file: File) -> None:
    api = make_api(filled)
    file.export(filled, "--pause")
    rows = rows_of(filled.pk)
    taken = Attempt.objects.of(filled).first()
    with connected_to(cell):
        other = make_organization("Globex")
        fill(other, "theirs")
        others = snapshot_of(other)
        Attempt.objects.of(other).filter(pk=Attempt.objects.of(other).first().pk).update(id=taken.pk)
        message = file.error()
        half = Organization.objects.get(pk=filled.pk)
        response = api.get("/api/external/leads")
        Attempt.objects.of(other).filter(pk=taken.pk).delete()
        others = snapshot_of(other)

        file.load()
        arrived = rows_of(filled.pk)
        unchanged = snapshot_of(other) == others

    assert message.startswith("A row was refused; run this again: ")
    assert (half.is_active, half.move) == (False, Move.IN)
    assert response.status_code == 503
    assert arrived["webhooks_attempt"] == rows["webhooks_attempt"]
    assert unchanged


def test_without_a_pause_the_file_is_a_copy_that_sends_nothing_and_is_not_active(
    filled: Organization, cell: str, file: File
) -> None:
    pending = Delivery.objects.of(filled).filter(state=State.PENDING).count()
    file.export(filled)
    everything = rows_of_all_tables()
    message = file.error()
    unchanged = rows_of_all_tables()
    with connected_to(cell):
        output = file.load()
        states = set(Delivery.objects.of(filled).values_list("state", flat=True))

    assert message == "Acme exists here; nothing was imported"
    assert unchanged == everything
    assert pending > 0
    assert Organization.objects.get(pk=filled.pk).is_active
    assert output == "Acme was imported, and is not active.\n"
    assert states == {State.CANCELED}


def test_people_keep_their_id_unless_the_operator_says_otherwise_and_nobody_becomes_an_operator(
    organization: Organization, cell: str, file: File
) -> None:
    known, taken = make_member(organization, "known@example.com"), make_member(organization, "taken@example.com")
    operator = User.objects.create_superuser("operator@example.com", "secret-of-tests")
    add_member(organization=organization, user=operator)
    ApiKey.objects.of(organization).update(created_by=operator)
    file.export(organization, "--pause")
    with connected_to(cell):
        User.objects.create_user("known@example.com", "another", id=known.user_id, first_name="Known")
        account = User.objects.create_user("Taken@example.com")
        message = file.error()
        nothing = Organization.objects.exists()

        file.load("--match-accounts-by-email")
        members = dict(Membership.objects.of(organization).values_list("user__email", "user_id"))
        same = User.objects.get(pk=known.user_id)
        events = Event.objects.of(organization).filter(type="member.updated").values_list("body", flat=True)
        changes = {body["data"]["id"]: body["previous"] for body in map(json.loads, events)}
        person = User.objects.get(email="operator@example.com")

    assert message.startswith("taken@example.com: another account has this e-mail address here.")
    assert not nothing
    assert members["known@example.com"] == known.user_id
    assert same.first_name == "Known"
    assert changes == {
        known.user_id: {"first_name": ""},
        account.pk: {"email": "taken@example.com"},
    }
    assert members["Taken@example.com"] == account.pk != taken.user_id
    assert (person.pk, person.is_superuser, person.is_staff) == (operator.pk, False, False)


def test_a_pause_can_be_ended(organization: Organization, api: ApiClient) -> None:
    paused = run("pause_organization", "Acme").out
    during = api.get("/api/external/leads").status_code
    operator = User.objects.create_superuser("operator@example.com", "secret-of-tests")
    browser = Client()
    browser.force_login(operator)
    page = browser.get(f"/admin/organizations/organization/{organization.pk}/change/")
    ended = run("pause_organization", "Acme", "--end").out

    assert (paused, ended) == ("Acme is paused.\n", "Acme is active again.\n")
    assert "is_active" not in page.context["adminform"].form.fields  # which would let both installations work
    assert (during, api.get("/api/external/leads").status_code) == (503, 200)
    assert command_error("pause_organization", "Acme", "--end") == "Acme is not paused"
