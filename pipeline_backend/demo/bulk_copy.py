"""Rows by the thousand on their way into the database: PostgreSQL's COPY, a table at a time."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, models
from psycopg import sql

from appointments.models import Appointment, CallAnalysis, Note, OutcomeChange
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn, QuestionAnswer

# The names below are the columns'. COPY knows no defaults of models, so every column that must not be null is here.


class LeadRow(NamedTuple):
    """A new lead."""

    id: str
    organization_id: str
    created_at: datetime
    email: str
    first_name: str
    last_name: str
    phone_e164: str | None
    phone_country: str | None
    status_id: str
    setter_id: str | None
    first_source_id: str
    last_source_id: str
    next_touch_point_at: datetime | None
    next_touch_point_type: str | None
    custom_values: str
    updated_at: datetime


class LeadStatusChangeRow(NamedTuple):
    """A move of a lead."""

    id: str
    organization_id: str
    created_at: datetime
    actor_kind: str
    actor_id: str
    actor_name: str
    from_status_id: str | None
    to_status_id: str
    lead_id: str


class OptInRow(NamedTuple):
    """A submission."""

    id: str
    organization_id: str
    created_at: datetime
    lead_id: str
    source: str
    provider_form_id: str | None
    provider_form_name: str | None
    external_reference: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    utm_content: str
    utm_term: str | None
    referrer: str | None
    landing_page: str


class AnswerRow(NamedTuple):
    """An answer."""

    id: str
    organization_id: str
    created_at: datetime
    opt_in_id: str
    question: str
    answer: str | None
    position: int


class AppointmentRow(NamedTuple):
    """A call."""

    id: str
    organization_id: str
    created_at: datetime
    lead_id: str
    event_type_id: str
    schedule_time: datetime
    call_category: str
    host_id: str | None
    setter_id: str | None
    triager_id: str | None
    meeting_url: str | None
    recording_url: str | None
    outcome_id: str
    no_show: bool
    source: str
    external_reference: str
    first_source_id: str
    last_source_id: str
    custom_values: str
    invitation_sequence: int
    updated_at: datetime
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    utm_content: str | None
    utm_term: str | None


class OutcomeChangeRow(NamedTuple):
    """A move of a call."""

    id: str
    organization_id: str
    created_at: datetime
    actor_kind: str
    actor_id: str
    actor_name: str
    from_status_id: str | None
    to_status_id: str
    appointment_id: str


class NoteRow(NamedTuple):
    """A note."""

    id: str
    organization_id: str
    created_at: datetime
    actor_kind: str
    actor_id: str
    actor_name: str
    appointment_id: str
    note: str


class AnalysisRow(NamedTuple):
    """A call analysis."""

    id: str
    organization_id: str
    created_at: datetime
    appointment_id: str
    call_analysis_call_id: str
    ai_generated_title: str
    ai_rationale: str
    ai_suggested_outcome: str
    ai_confidence_score: float


class LeadUpdateRow(NamedTuple):
    """What changes of a lead that was there already."""

    id: str
    status_id: str
    last_source_id: str
    next_touch_point_at: datetime | None
    next_touch_point_type: str | None
    updated_at: datetime


TABLES: dict[type[Any], type[models.Model]] = {
    LeadRow: Lead,
    LeadStatusChangeRow: LeadStatusChange,
    OptInRow: OptIn,
    AnswerRow: QuestionAnswer,
    AppointmentRow: Appointment,
    OutcomeChangeRow: OutcomeChange,
    NoteRow: Note,
    AnalysisRow: CallAnalysis,
}
CREATE_TEMPORARY_TABLE = sql.SQL("CREATE TEMPORARY TABLE grown AS SELECT {columns} FROM {leads} WITH NO DATA")
UPDATE_LEADS = sql.SQL("UPDATE {leads} AS lead SET {changes} FROM grown WHERE lead.id = grown.id")


class Batch:
    """Rows that are written together."""

    def __init__(self) -> None:
        self.rows: dict[type[Any], list[Any]] = {kind: [] for kind in [*TABLES, LeadUpdateRow]}

    def add(self, row: Any) -> None:
        """One more."""
        self.rows[type(row)].append(row)

    def write(self) -> None:
        """All of them, in the caller's transaction."""
        for kind, model in TABLES.items():
            copy_rows(model._meta.db_table, kind, self.rows[kind])
        if self.rows[LeadUpdateRow]:
            self.change_leads(self.rows[LeadUpdateRow])

    def change_leads(self, rows: list[LeadUpdateRow]) -> None:
        """Leads that were there already."""
        leads = sql.Identifier(Lead._meta.db_table)
        changes = sql.SQL(", ").join(
            sql.SQL("{0} = grown.{0}").format(sql.Identifier(name)) for name in LeadUpdateRow._fields[1:]
        )
        with connection.cursor() as cursor:
            cursor.execute(CREATE_TEMPORARY_TABLE.format(columns=column_list(LeadUpdateRow), leads=leads))
            copy_rows("grown", LeadUpdateRow, rows)
            cursor.execute(UPDATE_LEADS.format(leads=leads, changes=changes))
            cursor.execute("DROP TABLE grown")


def column_list(kind: Any) -> sql.Composed:
    """The names, comma-separated."""
    return sql.SQL(", ").join(map(sql.Identifier, kind._fields))


def copy_rows(table: str, kind: type[Any], rows: Iterable[Any]) -> None:
    """Append the rows to the table."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), column_list(kind))
    with connection.cursor() as cursor, cursor.copy(statement) as line:
        for row in rows:
            line.write_row(row)


def analyze_tables() -> None:
    """Let the planner know what has come in."""
    with connection.cursor() as cursor:
        for model in TABLES.values():
            cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(model._meta.db_table)))
