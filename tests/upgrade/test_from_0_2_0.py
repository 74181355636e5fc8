"""Upgrading a database of version 0.2.0: `fill_0_2_0.py` says how `0.2.0.sql.gz` was made."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import AddConstraint, AddField, AddIndex
from django.db.migrations.operations.base import Operation
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from appointments.models import Appointment
from appointments.services import reschedule
from foundation.db.encryption import cipher
from organizations.keys import ParsedApiKey
from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import run
from tests.databases import connected_to, empty_database, rows_of_all_tables, run_program
from tests.factories import owner_actor
from webhooks.models import Endpoint

DUMP = Path(__file__).with_name("0.2.0.sql.gz")
ENCRYPTION_KEY = "dXBncmFkZS10ZXN0cy1vbmx5LW5vdC1hLXNlY3JldCE="
API_KEY = ParsedApiKey(key_id="Upgrade02000", secret="OnlyForTestsOnlyForTestsOnlyFor0")
SECRETS = ["whsec_" + character * 43 + "=" for character in "AE"]
# Migrations that lock a table while they read it, and why that is harmless.
SMALL_TABLES = {
    ("statuses", "0005_retired"): "an organization has some twenty statuses",
    ("organizations", "0019_webhooks_scope"): "an organization has at most 50 live keys",
    ("webhooks", "0011_endpoints_by_api"): "an organization has some twenty endpoints",
}
# What a process of version 0.2.0 relies on while `migrate` of a newer one has run. The first column is the table.
COLUMNS = """
SELECT
    table_name, column_name, udt_name, is_nullable = 'YES', coalesce(character_maximum_length, 1e9)::float,
    column_default
FROM information_schema.columns
WHERE table_schema = current_schema()
"""
CONSTRAINTS = """
SELECT conrelid::regclass::text, pg_get_constraintdef(oid)
FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace AND contype IN ('c', 'f', 'x')
UNION ALL
SELECT indrelid::regclass::text, pg_get_indexdef(indexrelid)
FROM pg_index
JOIN pg_class ON pg_class.oid = indexrelid
WHERE indisunique AND relnamespace = current_schema()::regnamespace
"""
# Rows that migrations treat in a special way, beside those of the dump: sources with unneeded white space, some of
# which would get a name that another one has, and a lead who has typed a name that equals the first part of the e-mail.
SPECIAL_ROWS = """
INSERT INTO leads_source (id, created_at, name, organization_id)
SELECT uuidv7(), now(), source.name, organization.id
FROM organizations_organization AS organization
JOIN (VALUES
    (1, 'Northwind Coaching', E'\\t Zeta  Ads '), (2, 'Northwind Coaching', 'zeta ads '),
    (3, 'Northwind Coaching', '  Quora'), (4, 'Northwind Coaching', 'QUORA'), (5, 'Harbor', ' quora ')
) AS source (number, organization, name) ON organization.name LIKE source.organization || '%'
ORDER BY source.number;
INSERT INTO leads_lead (
    id, created_at, updated_at, email, first_name, last_name, custom_values, organization_id, status_id,
    first_source_id, last_source_id
)
SELECT uuidv7(), created_at, updated_at, 'grace@example.com', 'grace', '', '{}', organization_id, status_id,
    first_source_id, last_source_id
FROM leads_lead
WHERE email = 'ada@example.com';
INSERT INTO appointments_eventtype (id, created_at, name, organization_id, call_category)
SELECT uuidv7(), now() + event_type.number * interval '1 s', event_type.name, organization.id, 'SALES_CALL'
FROM organizations_organization AS organization
CROSS JOIN (VALUES (1, 'straße'), (2, 'STRASSE'), (3, U&'Cafe\\0301')) AS event_type (number, name)
"""
RIGHTS = """
SELECT tablename::text, policyname::text, cmd, roles::text, qual, with_check
FROM pg_policies
UNION ALL
SELECT table_name, privilege_type, grantee, NULL, NULL, NULL
FROM information_schema.role_table_grants
WHERE table_schema = current_schema()
"""

Table = list[dict[str, Any]]
Rows = set[tuple[Any, ...]]


class Column(NamedTuple):
    """A column of a table."""

    type: str
    is_nullable: bool
    max_length: float
    default: str | None


@dataclass(frozen=True)
class Database:
    """The database's content at one version."""

    tables: dict[str, Table]
    columns: Rows
    constraints: Rows
    rights: Rows

    @classmethod
    def read(cls) -> "Database":
        """Read the database that the connection is connected to."""
        tables = {name: [json.loads(row) for row in rows] for name, rows in rows_of_all_tables().items()}
        return cls(tables, select(COLUMNS), select(CONSTRAINTS), select(RIGHTS))


@dataclass(frozen=True)
class Upgrade:
    """The database at 0.2.0, and after `migrate`."""

    old: Database
    new: Database
    last_migrations: dict[str, str]


def select(sql: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return set(cursor.fetchall())


@pytest.fixture(scope="module")
def upgrade(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Upgrade]:
    """Load the database of 0.2.0, migrate it, and let the tests work on it."""
    # The roles are named after the login.
    statements = gzip.decompress(DUMP.read_bytes()).replace(
        b"pipeline_", str(connection.settings_dict["USER"]).encode() + b"_"
    )
    with (
        django_db_blocker.unblock(),
        override_settings(FIELD_ENCRYPTION_KEYS=[ENCRYPTION_KEY]),
        empty_database("upgrade") as url,
        connected_to(url),
    ):
        cipher.cache_clear()
        run_program("psql", "--quiet", "--set=ON_ERROR_STOP=1", url, input=statements)
        with connection.cursor() as cursor:
            cursor.execute(SPECIAL_ROWS)
        old = Database.read()
        last_migrations = dict(sorted(MigrationExecutor(connection).loader.applied_migrations))
        call_command("migrate", verbosity=0)
        yield Upgrade(old, Database.read(), last_migrations)
    cipher.cache_clear()


@pytest.fixture
def api(upgrade: Upgrade) -> ApiClient:
    """Return a client with the key that 0.2.0 has issued."""
    return ApiClient(API_KEY.text)


def test_no_row_is_lost_and_no_value_changes(upgrade: Upgrade) -> None:
    changed = [
        (name, row)
        for name, rows in upgrade.old.tables.items()
        for row in rows
        if not any(row.items() <= new.items() for new in upgrade.new.tables[name])
    ]

    assert Counter(name for name, _ in changed) == {"organizations_membership": 1, "leads_source": 2}
    # A member who had been invited, and has chosen no password, is invited anew (CHANGELOG.md).
    (member,) = (row for name, row in changed if name == "organizations_membership")
    (invitation,) = upgrade.new.tables["organizations_invitation"]
    assert (member["is_active"], invitation["role"]) == (True, member["role"])


def test_nothing_that_processes_of_the_old_version_use_is_gone_while_they_still_run(upgrade: Upgrade) -> None:
    old, new = upgrade.old, upgrade.new
    before, after = columns_by_name(old), columns_by_name(new)

    assert before.keys() - after.keys() == set()
    assert [name for name, column in before.items() if not accepts_the_same(column, after[name])] == []
    # What an old process inserts has no value for new columns.
    added = {name: after[name] for name in after.keys() - before.keys() if name[0] in old.tables}
    assert [name for name, column in added.items() if not column.is_nullable and column.default is None] == []
    assert old.rights - new.rights == set()
    # New constraints concern new columns only, so what an old process writes meets them; an id is unique anyway.
    definitions = [definition for table, definition in new.constraints - old.constraints if table in old.tables]
    others = [text for text in definitions if not any(column in text for _, column in added)]
    assert [text for text in others if not text.endswith("(organization_id, id)")] == []


def columns_by_name(database: Database) -> dict[tuple[str, str], Column]:
    return {(table, name): Column(*column) for table, name, *column in database.columns}


def accepts_the_same(old: Column, new: Column) -> bool:
    """Return whether every value of the old column, or none where it has a default, can be stored in the new one."""
    return (
        (old.type, old.is_nullable) == (new.type, new.is_nullable)
        and old.max_length <= new.max_length
        and (old.default is None or new.default is not None)
    )


def test_indexes_and_constraints_of_existing_tables_are_added_without_locking_them_for_long(upgrade: Upgrade) -> None:
    loader, old = MigrationExecutor(connection).loader, upgrade.old.tables
    known = {(row["app"], row["name"]) for row in old["django_migrations"]}
    locking = {
        (app, name)
        for (app, name), migration in loader.disk_migrations.items()
        for operation in migration.operations
        if (app, name) not in known and f"{app}_{getattr(operation, 'model_name', '')}" in old and is_locking(operation)
    }

    assert locking == SMALL_TABLES.keys()


def is_locking(operation: Operation) -> bool:
    """Return whether the operation reads the whole table while nobody can write to it."""
    if isinstance(operation, AddField):
        field = operation.field
        return field.is_relation or field.unique or field.db_index or not (field.null or field.has_db_default())
    return type(operation) in (AddIndex, AddConstraint)


def test_the_old_key_lists_and_books(upgrade: Upgrade, api: ApiClient) -> None:
    listed = {row["id"] for row in api.get_data("/api/external/appointments", {"limit": 50})}
    retry = api.book(external_reference="upgrade-1", schedule_time="2030-01-05T10:00:00Z")
    conflict = api.book(external_reference="upgrade-1", schedule_time="2031-01-05T10:00:00Z")
    booked = api.book(external_reference="upgrade-2")

    assert len(listed) > 10
    assert listed <= {row["id"] for row in upgrade.old.tables["appointments_appointment"]}
    assert (retry.status_code, conflict.status_code, booked.status_code) == (200, 409, 201)
    assert retry.json()["data"]["id"] in listed


def test_appointments_are_booked_for_the_time_that_they_have(upgrade: Upgrade, api: ApiClient) -> None:
    """docs/interface.md, A15"""
    reference = {"external_reference": "upgrade-1"}
    appointment = Appointment.unscoped.select_related("organization").get(**reference)
    organization, to = appointment.organization, datetime(2028, 1, 5, tzinfo=UTC)
    reschedule(organization=organization, actor=owner_actor(organization), appointment=appointment, to=to)

    retry = api.book(**reference, schedule_time="2030-01-05T10:00:00Z")
    refused = api.book(**reference, schedule_time="2030-01-06T10:00:00Z")

    assert (retry.status_code, retry.json()["data"]) == (200, {"id": str(appointment.pk), "is_duplicate": True})
    assert refused.status_code == 409


def test_sources_lose_unneeded_white_space_unless_another_one_has_the_name(upgrade: Upgrade, api: ApiClient) -> None:
    names = {row["id"]: row["name"] for row in upgrade.old.tables["leads_source"]}
    renamed = {
        names[row["id"]]: row["name"] for row in upgrade.new.tables["leads_source"] if names[row["id"]] != row["name"]
    }

    response = api.submit(email="new@example.com", traffic={"utm_source": "ZETA ADS"})

    assert renamed == {"\t Zeta  Ads ": "Zeta Ads", " quora ": "quora"}
    assert api.get_lead(response.json()["data"]["lead_id"])["first_source"]["name"] == "Zeta Ads"


def test_event_types_whose_names_have_become_one_stay_and_the_older_one_is_found(
    upgrade: Upgrade, api: ApiClient
) -> None:
    """docs/interface.md, A11"""
    names = [api.book(external_reference=name, event_type_name=name) for name in ("Strasse", "STRASSE", "CAF\u00c9")]
    booked = [api.get_appointment(response.json()["data"]["id"]) for response in names]

    assert [appointment["appointment_type"] for appointment in booked] == ["straße", "straße", "Cafe\u0301"]


def test_only_first_names_that_bookings_have_taken_from_the_email_are_replaced(
    upgrade: Upgrade, api: ApiClient
) -> None:
    """docs/interface.md, L5"""
    ids = [
        api.submit(email=f"{name}@example.com", first_name="Augusta").json()["data"]["lead_id"]
        for name in ("ada", "grace")
    ]

    assert [api.get_lead(id)["first_name"] for id in ids] == ["Augusta", "grace"]


def test_the_events_feed_goes_on_after_the_old_events(upgrade: Upgrade, api: ApiClient) -> None:
    organization = api.list_events(limit=1)[0]["organization_id"]
    old = [row for row in upgrade.old.tables["webhooks_event"] if row["organization_id"] == organization]
    ordered = [row["id"] for row in sorted(old, key=lambda row: (row["transaction"], row["id"]))]

    assert api.book(external_reference="upgrade-3").status_code == 201
    page = api.list_events(after=ordered[-3])

    assert [event["id"] for event in page][:2] == ordered[-2:]
    assert page[-1]["data"]["external_reference"] == "upgrade-3"


def test_old_secrets_are_decrypted(upgrade: Upgrade) -> None:
    secrets = [endpoint.signing_secrets() for endpoint in Endpoint.unscoped.order_by("pk")]
    slack_urls = Organization.objects.exclude(slack_url="").values_list("slack_url", flat=True)

    assert secrets == [[SECRETS[0]], [SECRETS[1], SECRETS[0]]]
    assert list(slack_urls) == ["https://hooks.slack.com/services/T0/B0/only-for-tests"]


def test_the_smoke_test_passes(upgrade: Upgrade) -> None:
    assert run("smoke_test").out.endswith("Everything works. Nothing was stored or sent.\n")


def test_migrating_back_restores_the_old_schema_and_its_rows(upgrade: Upgrade, api: ApiClient) -> None:
    """The last test of the module, because the others need the new schema."""
    traffic = {"utm_source": "s" * 8192, "utm_term": "t", "landing_page": "p" * 8192}
    assert api.submit(email="long@example.com", traffic=traffic).status_code == 201
    assert api.book(external_reference="upgrade-4", lead_email="long@example.com").status_code == 201
    counts = {name: len(rows) for name, rows in Database.read().tables.items()}
    MigrationExecutor(connection).migrate(list(upgrade.last_migrations.items()))
    old, reversed = upgrade.old, Database.read()

    assert (reversed.columns, reversed.constraints, reversed.rights) == (old.columns, old.constraints, old.rights)
    changed = {name for name, rows in old.tables.items() if any(row not in reversed.tables[name] for row in rows)}
    # Bookings and submissions of the tests have changed these, apart from sources, which keep their new names.
    used = {"appointments_appointment", "leads_lead", "organizations_apikey", "organizations_rowcount"}
    assert changed <= {*used, "leads_source"}
    assert [name for name in old.tables if len(reversed.tables[name]) < counts[name]] == ["django_migrations"]
    # What the previous version has no room for is cut.
    (opt_in,) = (row for row in reversed.tables["optins_optin"] if row["utm_term"] == "t")
    (appointment,) = (
        row for row in reversed.tables["appointments_appointment"] if row["external_reference"] == "upgrade-4"
    )
    assert (len(opt_in["utm_source"]), len(opt_in["landing_page"])) == (255, 2048)
    assert appointment["utm_source"] == opt_in["utm_source"]
