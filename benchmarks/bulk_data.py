"""Creates an organization with up to millions of appointments.

The demo makes the first rows, and PostgreSQL copies them. A copy has another id and happened a little earlier than its
original. Ids increase with time and rows are stored in that order, as if they had been created one by one: otherwise
index scans would cost more here than in production.
"""

from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from appointments.first_bookings import store_first_bookings
from appointments.models import Appointment
from dev.demo.growth import grow
from dev.demo.loading import load
from leads.models import Lead
from optins.models import OptIn
from organizations.migrations._row_counts import BACKFILL, SHARDS
from organizations.models import MemberRole, Organization, User
from organizations.services import add_member
from statuses.models import Status

RARE_EMAIL = "rare@northwind.example"
RARE_SHARE = 200  # one in 200 rows has the rare host, setter, triager, outcome and category
ORIGINAL_APPOINTMENTS = 10_000

RARE_VALUES = """
UPDATE appointments_appointment
SET {column} = %(value)s
WHERE organization_id = %(organization)s AND abs(hashtext(id::text || '{salt}')) %% {rare_share} = 0
"""
CLEAR_RARE_VALUE = """
UPDATE appointments_appointment
SET {column} = %(other)s
WHERE organization_id = %(organization)s AND {column} = %(value)s
"""

# A UUIDv7 begins with 48 bits of milliseconds. `id_at` replaces them and keeps the random rest of the original, so a
# reference to a copied row can be computed from the original row.
CREATE_FUNCTIONS = """
CREATE FUNCTION earlier(at timestamptz, copy_number int) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
    SELECT at - copy_number * interval '13 minutes'
$$;
CREATE FUNCTION id_at(id uuid, at timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
    SELECT (
        lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || substr(replace(id::text, '-', ''), 13)
    )::uuid
$$;
"""
COPY_ROWS = """
INSERT INTO {table} ({columns})
SELECT {values}
FROM {table} AS original
{join}
CROSS JOIN generate_series(1, {copies}) AS copy (number)
WHERE original.organization_id = '{organization_id}'
ORDER BY {created_at}
"""
# Without triggers and foreign key checks, which would take hours.
BULK_SETTINGS = """
SET statement_timeout = 0;
SET session_replication_role = replica;
SET work_mem = '256MB';
SET maintenance_work_mem = '512MB';
"""
LIST_COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
LIST_NON_UNIQUE_INDEXES = """
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND indexdef NOT LIKE '%% UNIQUE %%'
"""

JOIN_LEAD = "JOIN leads_lead AS lead ON lead.id = original.lead_id"
JOIN_APPOINTMENT = "JOIN appointments_appointment AS appointment ON appointment.id = original.appointment_id"
COPIED_LEAD_ID = "id_at(lead.id, earlier(lead.created_at, copy.number))"
COPIED_APPOINTMENT_ID = "id_at(appointment.id, earlier(appointment.created_at, copy.number))"


class CopiedTable(NamedTuple):
    """A table to copy, and the expressions of the columns that differ from the original, except id and created_at."""

    name: str
    expressions: dict[str, str]
    join: str = ""


TABLES = [
    CopiedTable(
        "leads_lead",
        {
            "email": "copy.number || '.' || original.email",
            "updated_at": "earlier(original.updated_at, copy.number)",
        },
    ),
    CopiedTable(
        "optins_optin",
        {
            "lead_id": COPIED_LEAD_ID,
            "external_reference": "original.external_reference || '.' || copy.number",
            "booked_at": "earlier(original.booked_at, copy.number)",
        },
        JOIN_LEAD,
    ),
    CopiedTable(
        "appointments_appointment",
        {
            "lead_id": COPIED_LEAD_ID,
            "external_reference": "coalesce(original.external_reference, original.id::text) || '.' || copy.number",
            "updated_at": "earlier(original.updated_at, copy.number)",
            "schedule_time": "earlier(original.schedule_time, copy.number)",
        },
        JOIN_LEAD,
    ),
    CopiedTable("appointments_note", {"appointment_id": COPIED_APPOINTMENT_ID}, JOIN_APPOINTMENT),
    CopiedTable("appointments_callanalysis", {"appointment_id": COPIED_APPOINTMENT_ID}, JOIN_APPOINTMENT),
]


def create_data(appointments: int) -> Organization:
    """Create the demo's organization with this many appointments, half as many leads, and their related rows."""
    organization = load().organization
    originals = min(appointments, ORIGINAL_APPOINTMENTS)
    grow(organization, leads=None, appointments=originals)
    set_rare_values(organization)
    while store_first_bookings(organization=organization):
        pass
    if appointments > originals:
        copy_tables(organization, appointments // originals - 1)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("RESET statement_timeout")
    return organization


def set_rare_values(organization: Organization) -> None:
    """Give each filter of the appointments list a value that half a percent of the rows have."""
    member = add_member(organization=organization, user=User.objects.create_user(RARE_EMAIL), role=MemberRole.CLOSER)
    roles = ("NEW_LEAD", "APPOINTMENT_BOOKED")
    status, booked = (Status.objects.of(organization).get(role=role) for role in roles)
    with connection.cursor() as cursor:
        # Each column has a salt of its own, so that different rows get its rare value. Those of the demo that have it
        # already get another one.
        for column, salt, value, other in [
            ("host_id", "host", member.pk, None),
            ("setter_id", "setter", member.pk, None),
            ("triager_id", "triager", member.pk, None),
            ("outcome_id", "outcome", status.pk, booked.pk),
            ("call_category", "category", "TRIAGE_CALL", "SALES_CALL"),
        ]:
            values = {"organization": organization.pk, "value": value, "other": other}
            cursor.execute(CLEAR_RARE_VALUE.format(column=column), values)
            cursor.execute(RARE_VALUES.format(column=column, salt=salt, rare_share=RARE_SHARE), values)


def copy_tables(organization: Organization, copies: int) -> None:
    """Add this many copies of each of the organization's rows."""
    with connection.cursor() as cursor:
        cursor.execute(BULK_SETTINGS)
        cursor.execute(CREATE_FUNCTIONS)
        for table in TABLES:
            copy_table(cursor, table, organization, copies)
        # The row counts have to be corrected, because the triggers that keep them were off.
        for model in (Lead, OptIn, Appointment):
            cursor.execute(BACKFILL.format(table=model._meta.db_table, shard=SHARDS))
        cursor.execute("RESET ALL")


def copy_table(cursor: CursorWrapper, table: CopiedTable, organization: Organization, copies: int) -> None:
    """Copy one table's rows. Indexes are dropped before and created again afterwards, which is much faster."""
    cursor.execute(LIST_NON_UNIQUE_INDEXES, [table.name])
    indexes = cursor.fetchall()
    cursor.execute(LIST_COLUMNS, [table.name])
    columns = [column for (column,) in cursor.fetchall()]

    created_at = "earlier(original.created_at, copy.number)"
    expressions = {"id": f"id_at(original.id, {created_at})", "created_at": created_at, **table.expressions}
    statement = COPY_ROWS.format(
        table=table.name,
        columns=", ".join(columns),
        values=", ".join(expressions.get(column, f"original.{column}") for column in columns),
        join=table.join,
        copies=copies,
        organization_id=organization.pk,
        created_at=created_at,
    )
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    cursor.execute(statement)
    for _, definition in indexes:
        cursor.execute(definition)
