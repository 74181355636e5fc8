"""Fills a database with a million appointments, an event for each of them, and deliveries that are mostly finished.

The histories of statuses and the answers of opt-ins are there as well, one lead has a long story, and many leads are
possible duplicates. With more than a million appointments, the newest million have events, deliveries and notifications
alone, and there are no copies of histories and answers: all of these are read by an index, by a row or by a time, and
ten million of them would not fit on the disk of a usual machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.backends.utils import CursorWrapper

from appointments.day_counts import store_days
from appointments.models import Appointment
from benchmarks.bulk_data import (
    BULK_SETTINGS,
    COPIED_APPOINTMENT_ID,
    COPIED_LEAD_ID,
    JOIN_APPOINTMENT,
    JOIN_LEAD,
    LIST_NON_UNIQUE_INDEXES,
    ORIGINAL_APPOINTMENTS,
    CopiedTable,
    copy_table,
    create_data,
)
from leads.duplicates import search_batch
from organizations.models import Organization
from webhooks.services import add_endpoint

MOST_EVENTS = 1_000_000
ENDPOINTS = 10
BACKLOG = 200_000  # due deliveries of one endpoint, as if its receiver had been down for a day
DUE = 100  # due deliveries of each other endpoint

STORY = 1_000  # opt-ins and appointments of one lead, in 500 days
DUPLICATE_BATCHES = 3

HISTORIES = [
    CopiedTable("leads_leadstatuschange", {"lead_id": COPIED_LEAD_ID}, JOIN_LEAD),
    CopiedTable("appointments_outcomechange", {"appointment_id": COPIED_APPOINTMENT_ID}, JOIN_APPOINTMENT),
    CopiedTable(
        "optins_questionanswer",
        {"opt_in_id": "id_at(opt_in.id, earlier(opt_in.created_at, copy.number))"},
        "JOIN optins_optin AS opt_in ON opt_in.id = original.opt_in_id",
    ),
]
# Copies of a row of each table, for the lead of an appointment, half a day apart.
CREATE_STORY = """
INSERT INTO {table}
SELECT changed.*
FROM (
    SELECT template, template.created_at FROM {table} AS template
    WHERE organization_id = %(organization)s ORDER BY id DESC LIMIT 1
) AS original
CROSS JOIN generate_series(1, %(size)s) AS number
CROSS JOIN LATERAL jsonb_populate_record(original.template, jsonb_build_object(
    'id', uuidv7(original.created_at - number * interval '12 hours' - now()),
    'created_at', original.created_at - number * interval '12 hours',
    'lead_id', %(lead)s::uuid,
    'external_reference', 'story.' || number
)) AS changed
"""
STORY_TABLES = ["optins_optin", "appointments_appointment", "leads_leadstatuschange"]
CREATE_STORY_OF_APPOINTMENTS = """
INSERT INTO {table}
SELECT changed.*
FROM (
    SELECT template, template.created_at FROM {table} AS template
    WHERE organization_id = %(organization)s ORDER BY id DESC LIMIT 1
) AS original
CROSS JOIN appointments_appointment AS appointment
CROSS JOIN LATERAL jsonb_populate_record(original.template, jsonb_build_object(
    'id', uuidv7(appointment.created_at - now()),
    'created_at', appointment.created_at,
    'appointment_id', appointment.id
)) AS changed
WHERE appointment.lead_id = %(lead)s AND appointment.external_reference LIKE 'story.%%'
"""
STORY_TABLES_OF_APPOINTMENTS = ["appointments_outcomechange", "appointments_note"]

# One event for each appointment. The bodies are those of the demo's events.
CREATE_EVENTS = """
INSERT INTO webhooks_event (
    id, organization_id, created_at, actor_kind, actor_id, actor_name,
    type, subject_id, body, request_id, transaction
)
SELECT
    uuidv7(appointment.created_at - now()), organization_id, appointment.created_at, 'SYSTEM', '', 'System',
    'appointment.created', appointment.id, bodies.texts[1 + abs(hashtext(appointment.id::text)) %% bodies.size], '',
    -- Transactions that ended before all others, in the order of the events.
    number - 1000000000
FROM (
    -- Sorted and numbered before the bodies are joined, which each row of a sort would contain.
    SELECT *, row_number() OVER (ORDER BY created_at) AS number
    FROM (
        SELECT id, organization_id, created_at FROM appointments_appointment
        WHERE organization_id = %(organization)s
        ORDER BY created_at DESC
        LIMIT %(most)s
    ) AS newest
) AS appointment
CROSS JOIN (
    SELECT array_agg(body) AS texts, count(*)::int AS size FROM webhooks_event WHERE type = 'appointment.created'
) AS bodies
"""
# A delivery of each event to each endpoint. The newest of them are due, the others were delivered after a second.
CREATE_DELIVERIES = """
INSERT INTO webhooks_delivery (
    id, organization_id, created_at, event_id, endpoint_id,
    state, attempts, claims, next_attempt_at, last_error, finished_at, is_replay
)
SELECT
    uuidv7(event.created_at - now()), event.organization_id, event.created_at, event.id, endpoint.id,
    CASE WHEN is_due THEN 'PENDING' ELSE 'DONE' END, CASE WHEN is_due THEN 0 ELSE 1 END, 0,
    CASE WHEN is_due THEN event.created_at END, '',
    CASE WHEN is_due THEN NULL ELSE event.created_at + interval '1 second' END, false
FROM (
    SELECT *, row_number() OVER (ORDER BY transaction DESC) AS age FROM webhooks_event WHERE transaction < 0
) AS event
CROSS JOIN (
    SELECT id, row_number() OVER (ORDER BY id) AS number FROM webhooks_endpoint
    WHERE organization_id = %(organization)s
) AS endpoint
CROSS JOIN LATERAL (
    SELECT age <= CASE number WHEN 1 THEN %(backlog)s ELSE %(due)s END AS is_due
) AS state
ORDER BY event.transaction
"""
# The attempts of a fifth of the deliveries.
CREATE_ATTEMPTS = """
INSERT INTO webhooks_attempt (
    id, organization_id, created_at, delivery_id, duration_ms, status_code, error, request_head, response, is_stale
)
SELECT
    uuidv7(finished_at - now()), organization_id, finished_at, id, 80, 204, '', repeat('header: value ', 30), '', false
FROM webhooks_delivery
WHERE state = 'DONE' AND endpoint_id IN (SELECT id FROM webhooks_endpoint ORDER BY id LIMIT 2)
ORDER BY id
"""
# An e-mail for each appointment, and one of a thousand that could not be sent.
CREATE_NOTIFICATIONS = """
INSERT INTO notifications_notification (
    id, organization_id, created_at, state, attempts, claims, next_attempt_at, last_error, finished_at, is_replay,
    kind, medium, facts
)
SELECT
    uuidv7(created_at - now()), organization_id, created_at,
    CASE WHEN hashtext(id::text) %% 1000 = 0 THEN 'DEAD' ELSE 'DONE' END, 1, 0, NULL, '', created_at, false,
    'CALL_BOOKED', 'EMAIL', jsonb_build_object('appointment_id', id, 'lead_name', 'Ada Lovelace', 'note', '')
FROM (
    SELECT id, organization_id, created_at FROM appointments_appointment
    WHERE organization_id = %(organization)s
    ORDER BY created_at DESC
    LIMIT %(most)s
) AS appointment
ORDER BY created_at
"""


def fill(appointments: int) -> Organization:
    """Create the data in an empty database and return the organization that owns it."""
    organization = create_data(appointments)
    with connection.cursor() as cursor:
        cursor.execute(BULK_SETTINGS)
        for table in HISTORIES if ORIGINAL_APPOINTMENTS < appointments <= MOST_EVENTS else ():
            copy_table(cursor, table, organization, appointments // ORIGINAL_APPOINTMENTS - 1)
        create_story(cursor, organization)
        cursor.execute("RESET ALL")
    for number in range(ENDPOINTS):
        add_endpoint(organization=organization, url=f"https://receiver{number}.example/events")
    values = {"organization": organization.pk, "backlog": BACKLOG, "due": DUE, "most": MOST_EVENTS}
    with connection.cursor() as cursor:
        cursor.execute(BULK_SETTINGS)
        for name, statement in {
            "webhooks_event": CREATE_EVENTS,
            "webhooks_delivery": CREATE_DELIVERIES,
            "webhooks_attempt": CREATE_ATTEMPTS,
            "notifications_notification": CREATE_NOTIFICATIONS,
        }.items():
            with without_indexes(cursor, name):
                cursor.execute(statement, values)
        cursor.execute("VACUUM ANALYZE")  # takes longer than a statement usually may
        for _ in range(DUPLICATE_BATCHES):
            search_batch(organization=organization)
        cursor.execute("RESET ALL")
    while store_days(organization=organization):
        pass  # as the periodic task has done
    return organization


def create_story(cursor: CursorWrapper, organization: Organization) -> None:
    """Give one lead thousands of opt-ins and appointments, with their histories and notes."""
    lead = Appointment.objects.of(organization).earliest("created_at").lead_id
    values = {"organization": organization.pk, "lead": lead, "size": STORY}
    for table in STORY_TABLES:
        cursor.execute(CREATE_STORY.format(table=table), values)
    for table in STORY_TABLES_OF_APPOINTMENTS:
        cursor.execute(CREATE_STORY_OF_APPOINTMENTS.format(table=table), values)


@contextmanager
def without_indexes(cursor: CursorWrapper, table: str) -> Iterator[None]:
    """Drop the indexes that aren't unique, and create them again at the end of the block, which is faster."""
    cursor.execute(LIST_NON_UNIQUE_INDEXES, [table])
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    try:
        yield
    finally:
        for _, definition in indexes:
            cursor.execute(definition)
