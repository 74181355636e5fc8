"""Rows by the million: a small organization from the demo, then copies of its rows, made by the database.

Each copy of a row has another id and happened a little earlier; ids are in the order of time, and rows are stored in
that order, as they would be if they had come one by one.
"""

from typing import NamedTuple

from django.db import connection

from appointments.models import Appointment
from leads.models import Lead
from optins.models import OptIn
from organizations.migrations._row_counts import BACKFILL, SHARDS
from organizations.models import Organization, Role, User
from organizations.services import add_member
from pipeline_backend.demo.growth import plan_growth
from pipeline_backend.demo.loading import load
from statuses.models import Status

RARE = "rare@northwind.example"
ONE_IN = 200  # so many rows have the rare host, setter, triager, outcome and category
TEMPLATE = 10_000

MOVED = """
CREATE FUNCTION moved(id uuid, at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || substr(replace(id::text, '-', ''), 13))::uuid
$$;
CREATE FUNCTION earlier(at timestamptz, copy int) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$ SELECT at - copy * interval '13 minutes' $$;
"""
UNUSUAL = """
UPDATE appointments_appointment SET host_id = %(rare)s WHERE {ours} AND abs(hashtext(id::text || 'host')) %% {one_in} = 0;
UPDATE appointments_appointment SET setter_id = %(rare)s WHERE {ours} AND abs(hashtext(id::text || 'setter')) %% {one_in} = 0;
UPDATE appointments_appointment SET triager_id = %(rare)s WHERE {ours} AND abs(hashtext(id::text || 'triager')) %% {one_in} = 0;
UPDATE appointments_appointment SET outcome_id = %(status)s WHERE {ours} AND abs(hashtext(id::text || 'outcome')) %% {one_in} = 0;
UPDATE appointments_appointment SET call_category = 'SALES_CALL' WHERE {ours} AND call_category = 'TRIAGE_CALL';
UPDATE appointments_appointment SET call_category = 'TRIAGE_CALL' WHERE {ours} AND abs(hashtext(id::text || 'category')) %% {one_in} = 0;
"""
COPIES = "INSERT INTO {table} ({names}) SELECT {values} FROM {table} AS own {joins} CROSS JOIN generate_series(1, {copies}) AS copy {which} ORDER BY {order}"
LEAD = "JOIN leads_lead AS lead ON lead.id = own.lead_id"
CALL = "JOIN appointments_appointment AS call ON call.id = own.appointment_id"


class Copied(NamedTuple):
    """A table, and what is different in a copy."""

    table: str
    changes: dict[str, str]
    joins: str = ""


TABLES = [
    Copied("leads_lead", {"email": "copy || '.' || own.email", "updated_at": "earlier(own.updated_at, copy)"}),
    Copied(
        "optins_optin",
        {
            "lead_id": "moved(lead.id, earlier(lead.created_at, copy))",
            "external_reference": "own.external_reference || '.' || copy",
        },
        LEAD,
    ),
    Copied(
        "appointments_appointment",
        {
            "lead_id": "moved(lead.id, earlier(lead.created_at, copy))",
            "external_reference": "coalesce(own.external_reference, own.id::text) || '.' || copy",
            "updated_at": "earlier(own.updated_at, copy)",
            "schedule_time": "earlier(own.schedule_time, copy)",
        },
        LEAD,
    ),
    Copied("appointments_note", {"appointment_id": "moved(call.id, earlier(call.created_at, copy))"}, CALL),
    Copied("appointments_callanalysis", {"appointment_id": "moved(call.id, earlier(call.created_at, copy))"}, CALL),
]


def fill(appointments: int) -> Organization:
    """The demo's organization with so many appointments, half as many leads, and what belongs to them."""
    organization = load().organization
    template = min(appointments, TEMPLATE)
    plan_growth(organization, None, template).carry_out()
    add_unusual(organization)
    if appointments > template:
        multiply(organization, appointments // template - 1)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return organization


def add_unusual(organization: Organization) -> None:
    """A few rows with people, outcomes and a category that hardly any have."""
    member = add_member(organization=organization, user=User.objects.create_user(RARE), role=Role.CLOSER)
    status = Status.objects.of(organization).get(role="NEW_LEAD")
    ours = "organization_id = %(organization)s"
    with connection.cursor() as cursor:
        for statement in UNUSUAL.format(one_in=ONE_IN, ours=ours).strip().split(";\n"):
            cursor.execute(
                statement.rstrip(";"), {"rare": member.pk, "status": status.pk, "organization": organization.pk}
            )


def multiply(organization: Organization, copies: int) -> None:
    """So many copies of each row, without the triggers, and with the indexes that are no constraints made afterwards."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SET statement_timeout = 0; SET session_replication_role = replica; SET work_mem = '256MB'; SET maintenance_work_mem = '512MB'"
        )
        cursor.execute(MOVED)
        for one in TABLES:
            copy(cursor, one, copies, organization)
        for model in (Lead, OptIn, Appointment):
            cursor.execute(BACKFILL.format(table=model._meta.db_table, shard=SHARDS))
        cursor.execute("RESET ALL")


def copy(cursor, one: Copied, copies: int, organization: Organization) -> None:  # type: ignore[no-untyped-def]
    """One table."""
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexdef NOT LIKE '%% UNIQUE %%'",
        [one.table],
    )
    indexes = cursor.fetchall()
    cursor.execute("SELECT column_name FROM information_schema.columns WHERE table_name = %s", [one.table])
    names = [name for (name,) in cursor.fetchall()]
    changes = {
        "id": "moved(own.id, earlier(own.created_at, copy))",
        "created_at": "earlier(own.created_at, copy)",
        **one.changes,
    }
    values = ", ".join(changes.get(name, f"own.{name}") for name in names)
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    which = f"WHERE own.organization_id = '{organization.pk}'"
    order = changes["created_at"]
    cursor.execute(
        COPIES.format(
            table=one.table,
            names=", ".join(names),
            values=values,
            joins=one.joins,
            copies=copies,
            which=which,
            order=order,
        )
    )
    for _, definition in indexes:
        cursor.execute(definition)
