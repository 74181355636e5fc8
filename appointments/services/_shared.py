"""Steps that several services share. Each expects the caller to hold the lock on the appointment or the lead."""

from datetime import datetime

from appointments.models import Appointment, Note, OutcomeChange
from leads.models import Lead
from leads.services import set_next_touch_point, set_status_automatically
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all
from statuses.models import Board, Status, StatusRole

BOOKED_LEAD = (Board.LEAD, StatusRole.APPOINTMENT_BOOKED)
BOOKED_APPOINTMENT = (Board.APPOINTMENT, StatusRole.APPOINTMENT_BOOKED)


def get_for_update(organization: Organization, appointment: Appointment) -> Appointment:
    """Return the appointment as it is stored now, and lock its row. Raises DoesNotExist for another organization's."""
    stored: Appointment = Appointment.objects.of(organization).for_update().get(pk=appointment.pk)
    stored.organization = organization
    return stored


def set_outcome(appointment: Appointment, outcome: Status | None, actor: Actor) -> None:
    """Store the outcome with its history row, and the time, meeting URL and sequence that the caller has changed."""
    previous = appointment.outcome
    appointment.outcome = outcome
    appointment.no_show = outcome is not None and outcome.role == StatusRole.NO_SHOW
    appointment.updated_at = now()
    appointment.save(
        update_fields=["outcome", "no_show", "meeting_url", "schedule_time", "invitation_sequence", "updated_at"]
    )
    if outcome is not None and outcome != previous:
        insert_all(build_outcome_change(appointment, previous, outcome, actor))


def build_outcome_change(
    appointment: Appointment, from_status: Status | None, to_status: Status, actor: Actor
) -> OutcomeChange:
    """Return a row of the outcome history, unsaved."""
    return OutcomeChange(
        organization=appointment.organization,
        appointment=appointment,
        from_status=from_status,
        to_status=to_status,
        **actor_columns(actor),
    )


def add_note(appointment: Appointment, text: str, *, actor: Actor, mentions: list[Membership] | None = None) -> None:
    """Store a note, unless it is empty or the appointment has the same one."""
    notes = Note.objects.of(appointment.organization).filter(appointment=appointment, note=text)
    # The comparison makes canceling safe to repeat: the repeated request brings the same text.
    if not text or notes.exists():
        return
    note = build_note(appointment, text, actor)
    insert_all(note)
    note.mention_users.set(mentions or [])


def build_note(appointment: Appointment, text: str, actor: Actor) -> Note:
    """Return a note that is not stored yet."""
    return Note(organization=appointment.organization, appointment=appointment, note=text, **actor_columns(actor))


def update_lead_after_change(lead: Lead, status: Status | None, actor: Actor) -> None:
    """Update the lead's touch point and status after one of its appointments changed, and store it.

    With None the status stays. It also stays when an appointment was canceled but another one is upcoming
    (docs/interface.md, S9).
    """
    upcoming = next_schedule_time(lead)
    set_next_touch_point(lead, upcoming)
    stays_booked = upcoming is not None and status is not None and status.role == StatusRole.CANCELED
    set_status_automatically(lead, None if stays_booked else status, actor=actor)


def next_schedule_time(lead: Lead) -> datetime | None:
    """Return the time of the lead's next appointment that is not canceled, or None.

    The lead must be locked; otherwise two simultaneous changes could each miss the other's appointment.
    """
    upcoming = Appointment.objects.of(lead.organization_id).filter(lead=lead).upcoming().order_by("schedule_time")
    schedule_time: datetime | None = upcoming.values_list("schedule_time", flat=True).first()
    return schedule_time


def status_summary(status: Status | None) -> dict[str, object] | None:
    """Return a status as the `previous` object of an event shows it."""
    return {"id": status.pk, "name": status.name, "role": status.role} if status else None
