"""Steps that the services share, on an appointment that is locked."""

from datetime import datetime
from typing import Any

from appointments.models import Appointment, Note, OutcomeChange
from leads.models import Lead
from leads.services import set_next_touch_point, set_status_automatically
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all
from statuses.models import Board, Role, Status

BOOKED_LEAD = (Board.LEAD, Role.APPOINTMENT_BOOKED)
BOOKED_APPOINTMENT = (Board.APPOINTMENT, Role.APPOINTMENT_BOOKED)
NEXT_SCHEDULE_TIME: CompiledQuery[tuple[datetime]] = CompiledQuery(
    lambda: (
        Appointment.objects.of(Param("organization"))
        .filter(lead=Param("lead"))
        .upcoming(Param("now"))
        .order_by("schedule_time")
        .values_list("schedule_time")[:1]
    )
)


def get_for_update(organization: Organization, appointment: Appointment) -> Appointment:
    """The organization's appointment as it is now, for a change."""
    stored: Appointment = Appointment.objects.of(organization).for_update().get(pk=appointment.pk)
    stored.organization = organization
    return stored


def set_outcome(appointment: Appointment, status: Status | None, actor: Actor) -> None:
    """Write the outcome, what follows from it, and the other changes made so far on a locked appointment."""
    before = appointment.outcome
    appointment.outcome = status
    appointment.no_show = status is not None and status.role == Role.NO_SHOW
    appointment.updated_at = now()
    appointment.save(
        update_fields=["outcome", "no_show", "meeting_url", "schedule_time", "invitation_sequence", "updated_at"]
    )
    if status is not None and status != before:
        insert_all(build_outcome_change(appointment, before, status, actor))


def build_outcome_change(appointment: Appointment, before: Status | None, to: Status, actor: Actor) -> OutcomeChange:
    """A line of the history, not stored yet."""
    return OutcomeChange(
        organization=appointment.organization,
        appointment=appointment,
        from_status=before,
        to_status=to,
        **actor_columns(actor),
    )


def add_note(appointment: Appointment, text: str, *, actor: Actor, mentions: list[Membership] | None = None) -> None:
    """Store a note, unless the appointment has the same one already: a retry adds nothing."""
    notes = Note.objects.of(appointment.organization).filter(appointment=appointment, note=text)
    if not text or notes.exists():
        return
    note = build_note(appointment, text, actor)
    insert_all(note)
    note.mention_users.set(mentions or [])


def build_note(appointment: Appointment, text: str, actor: Actor) -> Note:
    """A note, not stored yet."""
    return Note(organization=appointment.organization, appointment=appointment, note=text, **actor_columns(actor))


def update_lead_after_change(lead: Lead, status: Status | None, actor: Actor) -> None:
    """Point a locked lead at its next call and move it, all in one write; to a canceled status only without a next call (decision 20)."""
    upcoming = next_schedule_time(lead)
    set_next_touch_point(lead, upcoming)
    is_kept = upcoming is not None and status is not None and status.role == Role.CANCELED
    set_status_automatically(lead, None if is_kept else status, actor=actor)


def next_schedule_time(lead: Lead) -> datetime | None:
    """When the lead's next call is. The lead is locked, so that two changes see each other's calls."""
    found = NEXT_SCHEDULE_TIME.first(organization=lead.organization_id, lead=lead.pk, now=now())
    return found[0] if found else None


def status_summary(status: Status | None) -> dict[str, Any] | None:
    """A status in `previous`."""
    return {"id": status.pk, "name": status.name, "role": status.role} if status else None
