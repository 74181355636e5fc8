"""The boards of leads by status and of appointments by outcome."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from appointments.models import LONG_COLUMNS, Appointment
from appointments.services import edit_appointment, preview
from appointments.services.changes import replace_outcome
from leads.models import Lead
from leads.services import change_status
from organizations.actors import Actor
from staff.appointments import undoing
from staff.appointments.record_forms import describe, is_early
from staff.appointments.schedule import is_booked_again, is_canceled, other_appointments
from staff.boards.boards import BoardLayout
from staff.boards.cards import short_time
from staff.boards.moves import layout_url
from staff.leads.facts import status_values
from staff.leads.lists import phone_link
from staff.toolkit import bulk
from statuses.models import Board, Status, StatusRole

LIST_ACTION = "set_status_selected"  # whose Undo also takes a move back


class LeadBoard(BoardLayout):
    board, status_field, since_field = Board.LEAD, "status", "status_since"

    def card_lines(self, row: Lead) -> list[str]:
        at, kind = row.next_touch_point_at, row.get_next_touch_point_type_display() or "Next"
        return [
            f"{kind}: {short_time(at)}" if at else "",
            phone_link(row) or row.email,
            " · ".join(str(fact) for fact in (row.setter, row.last_source) if fact),
        ]

    def change_status(self, actor: Actor, row: Lead, status: Status) -> Lead | None:
        return change_status(organization=row.organization, actor=actor, lead_id=row.pk, status_id=status.pk)

    def undo_button(self, request: HttpRequest, before: Lead, after: Lead) -> SafeString:
        url = layout_url(Lead, self.name, request.POST.get("query", ""))
        return bulk.undo_button(request, LIST_ACTION, {after: [status_values(before), status_values(after)]}, url)


class AppointmentBoard(BoardLayout):
    board, status_field, since_field = Board.APPOINTMENT, "outcome", "outcome_since"
    card_related = ("last_source",)
    not_on_cards = LONG_COLUMNS

    def card_title(self, row: Appointment) -> str:
        return str(row.lead)

    def card_lines(self, row: Appointment) -> list[str]:
        return [
            short_time(row.schedule_time),
            " · ".join(str(fact) for fact in (row.event_type, row.host) if fact),
            f"From {row.last_source}",
        ]

    def change_status(self, actor: Actor, row: Appointment, status: Status) -> Appointment:
        return edit_appointment(organization=row.organization, actor=actor, appointment=row, status_id=status.pk)

    def undo_button(self, request: HttpRequest, before: Appointment, after: Appointment) -> SafeString | str:
        url = reverse("admin:appointments_appointment_undo_outcome", args=[after.pk])
        return undoing.undo_button(request, before, after, url, None, board=request.POST.get("query", ""))

    def confirmation(self, row: Appointment, status: Status) -> tuple[str, str]:
        if status.role == StatusRole.CANCELED and status.is_appointment_default and not is_canceled(row):
            # This page also takes a reason.
            return reverse("admin:appointments_appointment_cancel", args=[row.pk]), ""
        if status.role == StatusRole.FOLLOW_UP and status.is_appointment_default:
            # This page asks when.
            return reverse("admin:appointments_appointment_set_follow_up", args=[row.pk]), ""
        audience = preview(row, replace_outcome, status)
        effects = describe(audience, row) if audience.members or audience.slack or audience.lead_message else ""
        is_taken = is_booked_again(row, status) and any(overlaps for _, overlaps in other_appointments(row))
        overlap = "It overlaps with another appointment of the host or the lead." if is_taken else ""
        return "", " ".join(filter(None, [overlap, is_early(row, status), effects]))
