"""Adds leads in bulk: copies of the demo's own leads, with the rows of `TABLES` that belong to them.

The services would take hours for a million leads, so PostgreSQL copies the rows that they wrote. A copy has another
name, e-mail and phone number. Its times are moved by whole weeks, past ones into the past and upcoming ones into the
future: the order of events, the weekday and the hour stay as they are.
"""

import random
import sys
from datetime import timedelta
from uuid import UUID

from django.core.management.base import CommandError
from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Count
from tqdm import tqdm
from uuid_utils.compat import uuid7

from appointments.models import Appointment, CallAnalysis, Note, OutcomeChange
from dev.demo.people import random_person
from leads.models import Lead, LeadStatusChange, NextStep
from optins.models import OptIn, QuestionAnswer
from organizations.models import Organization

LEADS_PER_BATCH = 5_000
ANALYZE_FROM = 10_000  # leads; autovacuum would update the planner's statistics only later
ORIGINALS = 40  # the organization's first leads, which `scenario` has made
MAX_WEEKS = 104  # for past times; upcoming times are moved by a quarter
MAX_JITTER = timedelta(minutes=45)  # shorter than the time between a meeting and its outcome

# What is copied with a lead: model, the model above that it refers to, and the foreign key's column.
TABLES: list[tuple[type[models.Model], type[models.Model], str]] = [
    (LeadStatusChange, Lead, "lead_id"),
    (NextStep, Lead, "lead_id"),
    (OptIn, Lead, "lead_id"),
    (QuestionAnswer, OptIn, "opt_in_id"),
    (Appointment, Lead, "lead_id"),
    (OutcomeChange, Appointment, "appointment_id"),
    (Note, Appointment, "appointment_id"),
    (CallAnalysis, Appointment, "appointment_id"),
]
# A temporary table for each table has the ids of the rows to copy, and what differs in the copies.
CREATE_LEAD_COPIES = """
CREATE TEMPORARY TABLE leads_lead_copies (
    original_id uuid, first_name text, last_name text, email text, phone_e164 text, phone_country text,
    weeks int, jitter interval, id uuid DEFAULT uuidv7()
)
"""
FILL_LEAD_COPIES = """
COPY leads_lead_copies (original_id, first_name, last_name, email, phone_e164, phone_country, weeks, jitter) FROM STDIN
"""
CREATE_COPIES = """
CREATE TEMPORARY TABLE {table}_copies AS
SELECT original.id AS original_id, parent.id AS {foreign_key}, parent.weeks, parent.jitter, uuidv7() AS id
FROM {table} AS original JOIN {parent}_copies AS parent ON parent.original_id = original.{foreign_key}
"""
INSERT_COPIES = """
INSERT INTO {table} ({columns})
SELECT {values} FROM {table} AS original JOIN {table}_copies AS copy ON copy.original_id = original.id
"""
MOVED = "original.{0} + CASE WHEN original.{0} < now() THEN -copy.weeks ELSE copy.weeks / 4 END * interval '7 days'"
HAPPENED = ("created_at", "updated_at", "status_since", "outcome_since", "done_at")
PLANNED = ("schedule_time", "booked_for", "first_booked_for", "next_touch_point_at", "next_step_at", "at")
CHANGED_VALUES = {
    **{column: MOVED.format(column) + " - copy.jitter" for column in HAPPENED},
    **{column: MOVED.format(column) for column in PLANNED},
    "external_reference": "original.external_reference || '.' || copy.id",
}


def grow(organization: Organization, *, leads: int | None, appointments: int | None) -> tuple[int, int]:
    """Add leads and appointments up to these totals, and return how many were added.

    If only one total is given, there are twice as many appointments as leads. Each batch has its own transaction, so
    an interrupted run can be continued. Raises CommandError if a lead would need more appointments than any has.
    """
    leads = (appointments or 0) // 2 if leads is None else leads
    appointments = leads * 2 if appointments is None else appointments
    existing = Lead.objects.of(organization).count(), Appointment.objects.of(organization).count()
    new_leads, new_appointments = max(0, leads - existing[0]), max(0, appointments - existing[1])
    counted = Lead.objects.of(organization).annotate(count=Count("appointments")).order_by("pk")
    originals: list[tuple[UUID, int]] = list(counted.values_list("pk", "count")[:ORIGINALS])
    most = max((count for _, count in originals), default=0)
    if new_appointments > new_leads * most:
        raise CommandError(f"{new_leads:,} new leads have at most {new_leads * most:,} appointments; add more leads")

    rng = random.Random(str(existing))  # sample data, not security
    missing_leads, missing_appointments = new_leads, new_appointments
    # With None, tqdm shows the bar only on a terminal.
    with tqdm(total=new_leads, unit=" leads", unit_scale=True, file=sys.stderr, disable=None) as bar:
        while missing_leads:
            batch: list[UUID] = []
            while missing_leads and len(batch) < LEADS_PER_BATCH:
                missing_leads -= 1
                fewest = missing_appointments - missing_leads * most  # the other leads can have the rest then
                fitting = [original for original in originals if fewest <= original[1] <= missing_appointments]
                original_id, count = rng.choice(fitting or originals)
                missing_appointments -= count
                batch.append(original_id)
            copy_leads(batch, rng)
            bar.update(len(batch))
    if new_leads >= ANALYZE_FROM:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    return new_leads, new_appointments


@transaction.atomic
def copy_leads(original_ids: list[UUID], rng: random.Random) -> None:
    """Copy a lead for each of these ids, which may repeat, with its rows of `TABLES`."""
    with connection.cursor() as cursor:
        cursor.execute(CREATE_LEAD_COPIES)
        with cursor.copy(FILL_LEAD_COPIES) as copy:
            for original_id in original_ids:
                person = random_person(rng, suffix=uuid7().hex[-12:])
                texts = [text or None for text in person]
                copy.write_row((original_id, *texts, rng.randrange(MAX_WEEKS), MAX_JITTER * rng.random()))
        insert_copies(cursor, Lead, ["id", "first_name", "last_name", "email", "phone_e164", "phone_country"])
        for model, parent, foreign_key in TABLES:
            tables = {"table": model._meta.db_table, "parent": parent._meta.db_table}
            cursor.execute(CREATE_COPIES.format(**tables, foreign_key=foreign_key))
            insert_copies(cursor, model, ["id", foreign_key])
        # Not ON COMMIT DROP: a caller's transaction may contain several batches.
        cursor.execute("DISCARD TEMP")


def insert_copies(cursor: CursorWrapper, model: type[models.Model], copied_columns: list[str]) -> None:
    """Insert the rows of the temporary table, which has these columns; the others have the original's values."""
    table, columns = model._meta.db_table, [str(field.column) for field in model._meta.local_concrete_fields]
    values = CHANGED_VALUES | {column: f"copy.{column}" for column in copied_columns}
    expressions = [values.get(column, f"original.{column}") for column in columns]
    cursor.execute(INSERT_COPIES.format(table=table, columns=", ".join(columns), values=", ".join(expressions)))
