"""Writes simulated rows into the database with PostgreSQL's COPY, one table at a time."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.db import connection, models
from psycopg import sql

from appointments.models import Appointment, CallAnalysis, Note, OutcomeChange
from leads.models import Lead, LeadStatusChange
from optins.models import OptIn, QuestionAnswer

# The fields below are the tables' columns. COPY does not apply the defaults of Django's models, so every column that
# must not be null is listed.


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
    """A row of a lead's status history."""

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
    """An opt-in."""

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
    """A question of an opt-in with its answer."""

    id: str
    organization_id: str
    created_at: datetime
    opt_in_id: str
    question: str
    answer: str | None
    position: int


class AppointmentRow(NamedTuple):
    """An appointment."""

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
    """A row of an appointment's outcome history."""

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
    """A note about an appointment."""

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
    """The columns that change in a lead that existed before."""

    id: str
    status_id: str
    last_source_id: str
    next_touch_point_at: datetime | None
    next_touch_point_type: str | None
    updated_at: datetime


Row = (
    LeadRow
    | LeadStatusChangeRow
    | OptInRow
    | AnswerRow
    | AppointmentRow
    | OutcomeChangeRow
    | NoteRow
    | AnalysisRow
    | LeadUpdateRow
)

TABLES: dict[type[Row], type[models.Model]] = {
    LeadRow: Lead,
    LeadStatusChangeRow: LeadStatusChange,
    OptInRow: OptIn,
    AnswerRow: QuestionAnswer,
    AppointmentRow: Appointment,
    OutcomeChangeRow: OutcomeChange,
    NoteRow: Note,
    AnalysisRow: CallAnalysis,
}
CREATE_LEAD_UPDATES = sql.SQL("create temporary table lead_updates as select {columns} from {leads} with no data")
UPDATE_LEADS = sql.SQL("update {leads} as lead set {changes} from lead_updates where lead.id = lead_updates.id")


class Batch:
    """Rows to write in one transaction."""

    def __init__(self) -> None:
        self.rows: dict[type[Row], list[Row]] = {row_type: [] for row_type in [*TABLES, LeadUpdateRow]}

    def add(self, row: Row) -> None:
        """Add a row of any of the types above."""
        self.rows[type(row)].append(row)

    def write(self) -> None:
        """Write all rows in the caller's transaction."""
        # TABLES lists a table after those that it refers to, as foreign keys require.
        for row_type, model in TABLES.items():
            copy_rows(model._meta.db_table, row_type, self.rows[row_type])
        if self.rows[LeadUpdateRow]:
            self.update_leads(self.rows[LeadUpdateRow])

    def update_leads(self, rows: list[Row]) -> None:
        """Change existing leads: copy the new values into a temporary table, and update the leads from it."""
        leads = sql.Identifier(Lead._meta.db_table)
        changes = sql.SQL(", ").join(
            sql.SQL("{0} = lead_updates.{0}").format(sql.Identifier(name)) for name in LeadUpdateRow._fields[1:]
        )
        with connection.cursor() as cursor:
            cursor.execute(CREATE_LEAD_UPDATES.format(columns=column_list(LeadUpdateRow), leads=leads))
            copy_rows("lead_updates", LeadUpdateRow, rows)
            cursor.execute(UPDATE_LEADS.format(leads=leads, changes=changes))
            cursor.execute("drop table lead_updates")


def column_list(row_type: type[Row]) -> sql.Composed:
    """Return the names of the columns, comma-separated."""
    return sql.SQL(", ").join(map(sql.Identifier, row_type._fields))


def copy_rows(table: str, row_type: type[Row], rows: Iterable[Row]) -> None:
    """Append the rows to the table."""
    statement = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table), column_list(row_type))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def analyze_tables() -> None:
    """Update the planner's statistics, which autovacuum would do only later."""
    with connection.cursor() as cursor:
        for model in TABLES.values():
            cursor.execute(sql.SQL("analyze {}").format(sql.Identifier(model._meta.db_table)))
