"""The board of appointments by outcome."""

from django.urls import reverse

from appointments.models import Appointment
from appointments.services import change_outcome, preview
from appointments.services.changes import replace_outcome
from organizations.actors import Actor
from staff.appointments.record import is_cancelable
from staff.appointments.record_forms import describe
from staff.boards.boards import BoardLayout
from staff.boards.cards import short_time
from statuses.models import Board, Status, StatusRole


class AppointmentBoard(BoardLayout):
    board, status_field, history = Board.APPOINTMENT, "outcome", "outcome_changes"
    card_related = ("last_source",)

    def card_title(self, row: Appointment) -> str:
        return str(row.lead)

    def card_lines(self, row: Appointment) -> list[str]:
        return [
            short_time(row.schedule_time),
            " · ".join(str(fact) for fact in (row.event_type, row.host) if fact),
            f"From {row.last_source}",
        ]

    def change_status(self, actor: Actor, row: Appointment, status: Status) -> None:
        change_outcome(organization=row.organization, actor=actor, appointment=row, status_id=status.pk)

    def confirmation_page(self, row: Appointment, status: Status) -> str:
        """Return the page that cancels the appointment, which also takes a reason."""
        is_canceling = status.role == StatusRole.CANCELED and status.is_appointment_default and is_cancelable(row)
        return reverse("admin:appointments_appointment_cancel", args=[row.pk]) if is_canceling else ""

    def confirmation_question(self, row: Appointment, status: Status) -> str:
        audience = preview(row, replace_outcome, status)
        return describe(audience, row) if audience.members or audience.slack else ""
