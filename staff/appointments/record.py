"""The buttons of an appointment's page. Each says who will be notified, by the functions that notify them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.html import format_html

from appointments import services
from appointments.models import Appointment
from appointments.services import changes, preview
from foundation.db.timestamps import now
from leads.models import TouchPointType
from staff.appointments.record_forms import (
    CancellationForm,
    OutcomeForm,
    RescheduleForm,
    default_outcome,
    describe,
    is_early,
    may_change,
    suggested_outcome,
)
from staff.appointments.schedule import can_be_booked_again, is_canceled
from staff.appointments.undoing import UndoForm, undo, undo_button
from staff.boards.moves import layout_url
from staff.leads.next_steps import call_by, home_url, open_steps
from staff.notes import NoteForm, added_text
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action, row_url
from staff.toolkit.lists import day_and_time
from staff.toolkit.record import RecordAdmin
from statuses.models import Status, StatusRole


def effects(appointment: Appointment, change: Callable[..., Any], *arguments: datetime | Status) -> str:
    """Return who would be notified of a change, which is one of `appointments.services.changes`."""
    return describe(preview(appointment, change, *arguments), appointment)


def move_question(appointment: Appointment) -> str:
    """Return the reschedule question. The recipients are the same for any time at which the call isn't over."""
    return effects(appointment, changes.move, max(appointment.schedule_time, now()) + timedelta(days=1))


def outcome_question(appointment: Appointment) -> str:
    text = f"How did it go? If you choose a canceled outcome: {effects(appointment, changes.cancel)}"
    booked = default_outcome(StatusRole.APPOINTMENT_BOOKED, appointment)
    if booked and can_be_booked_again(appointment):
        again = effects(appointment, changes.replace_outcome, booked)
        text += f" If you choose a booked one, or one with the role Rescheduled: {again}"
    return text


def suggestion_question(appointment: Appointment) -> str:
    outcome = suggested_outcome(appointment)
    if outcome is None:
        return ""
    analysis = appointment.call_analysis
    start = f"Suggested: {outcome} ({analysis.ai_confidence_score:.0%} sure). {analysis.ai_rationale}"
    return f"{start} {effects(appointment, changes.replace_outcome, outcome)}"


def place(appointment: Appointment) -> str:
    """Return what a move in the calendar changes: the state and the host."""
    return f"{appointment.state} {appointment.host_id}"


def suggestion_state(appointment: Appointment) -> str:
    outcome = suggested_outcome(appointment)
    return f"{appointment.state} {outcome and outcome.pk}"


def is_stored(appointment: Appointment, form: OutcomeForm) -> bool:
    """Return whether the outcome is what the form says, and so are the lead's status and next step if it has them."""
    values = getattr(form, "cleaned_data", {})
    outcome, lead_status, at = form.preset or values.get("outcome"), values.get("lead_status"), form.step_at
    return (
        outcome is not None
        and outcome.pk == appointment.outcome_id
        and (lead_status is None or lead_status.pk == appointment.lead.status_id)
        and (at is None or open_steps(appointment.lead).filter(at=at, type=TouchPointType.CALL).exists())
    )


def is_noted(appointment: Appointment, form: ConfirmationForm, field: str) -> bool:
    text = getattr(form, "cleaned_data", {}).get(field)
    return not text or appointment.notes.filter(note=text).exists()


def next_url(request: HttpRequest, appointment: Appointment) -> str:
    """Return the address of the page from which the form was opened: home, a board, the calendar, or the record."""
    query = request.GET
    urls = (layout_url(Appointment, name, query[name]) for name in ("board", "calendar") if name in query)
    return home_url(request) or next(urls, "") or row_url(appointment)


def store_outcome(page: RecordAdmin, request: HttpRequest, appointment: Appointment, form: OutcomeForm) -> str:
    """Set the outcome, and what is chosen for the lead, which else moves with the outcome.

    Raises PermissionDenied if something is chosen and the user may not change the lead.
    """
    outcome, lead_status = form.cleaned_data["outcome"], form.cleaned_data.get("lead_status")
    next_step_at = form.step_at
    if (lead_status or next_step_at) and not may_change(request, appointment.lead):
        raise PermissionDenied
    organization, actor = appointment.organization, actor_of(request)
    notified = effects(appointment, changes.replace_outcome, outcome)
    step = call_by(request, appointment.lead, next_step_at) if next_step_at else None
    stored = services.edit_appointment(
        organization=organization,
        actor=actor,
        appointment=appointment,
        status_id=outcome.pk,
        lead_status_id=lead_status.pk if lead_status else None,
        lead_status_was=appointment.lead.status_id if lead_status else None,
        next_step=step,
    )
    sentences = [f"Marked as {outcome}."]
    if stored.lead.status_id != appointment.lead.status_id:
        sentences.append(f"Lead moved to {stored.lead.status}.")
    if next_step_at:
        sentences.append(f"Next step: call, {day_and_time(next_step_at)}.")
    button = undo_button(request, appointment, stored, undo_outcome.button.url(appointment), step)
    text = " ".join([*sentences, notified])
    return format_html("{} {}", text, button) if button else text


def outcome_button(role: StatusRole, label: str, icon: str, *, asks_next_step: bool = False) -> Any:
    """Return the button that sets the outcome of a role. Its form also asks for the lead's status."""
    preset = partial(default_outcome, role)

    def question(appointment: Appointment) -> str:
        outcome = preset(appointment)
        if outcome is None:
            return ""
        return f"{is_early(appointment, outcome)} {effects(appointment, changes.replace_outcome, outcome)}".lstrip()

    def is_possible(appointment: Appointment) -> bool:
        outcome = preset(appointment)
        return outcome is not None and outcome.pk != appointment.outcome_id

    return object_action(
        label,
        name=f"set_{role.lower()}",
        icon=icon,
        question=question,
        form=partial(OutcomeForm, preset=preset, asks_next_step=asks_next_step),
        is_possible=is_possible,
        state=attrgetter("state"),
        is_done=is_stored,
        next_url=next_url,
    )(store_outcome)


set_won = outcome_button(StatusRole.WON, "Won", "check")
set_lost = outcome_button(StatusRole.LOST, "Lost", "close")
set_no_show = outcome_button(StatusRole.NO_SHOW, "No-show", "block")
set_follow_up = outcome_button(StatusRole.FOLLOW_UP, "Follow-up", "call", asks_next_step=True)


set_outcome = object_action(
    "Set the outcome",
    name="set_outcome",
    icon="label",
    question=outcome_question,
    form=OutcomeForm,
    state=attrgetter("state"),
    is_done=is_stored,
    next_url=next_url,
)(store_outcome)
accept_suggestion = object_action(
    "Accept the suggested outcome",
    name="accept_suggestion",
    icon="insights",
    question=suggestion_question,
    form=partial(OutcomeForm, preset=suggested_outcome),
    is_possible=suggested_outcome,
    state=suggestion_state,
    is_done=is_stored,
)(store_outcome)


undo_outcome = object_action(
    "Undo the outcome", name="undo_outcome", icon="undo", question="Undo it?", form=UndoForm, next_url=next_url
)(undo)


@object_action(
    "Reschedule",
    icon="schedule",
    question=move_question,
    form=RescheduleForm,
    state=place,
    is_done=lambda appointment, form: form.is_at(appointment) and is_noted(appointment, form, "reason"),
    next_url=next_url,
)
def reschedule(page: RecordAdmin, request: HttpRequest, appointment: Appointment, form: RescheduleForm) -> str:
    to, host = form.cleaned_data["schedule_time"], form.host
    notified = effects(appointment, form.change, to)
    services.reschedule(
        organization=appointment.organization,
        actor=actor_of(request),
        appointment=appointment,
        to=to,
        host=host,
        reason=form.cleaned_data["reason"],
    )
    return f"Moved to {day_and_time(to)}{f', with {host}' if host else ''}. {notified}"


@object_action(
    "Note",
    icon="edit_note",
    question="Everyone who can see the appointment sees the note.",
    form=NoteForm,
    permission="note",
    is_possible=lambda appointment: not appointment.lead.is_erased,
)
def add_note(page: RecordAdmin, request: HttpRequest, appointment: Appointment, form: NoteForm) -> str:
    about: dict[str, Any] = {"organization": appointment.organization, "appointment": appointment}
    services.create_note(**about, actor=actor_of(request), **form.values)
    return added_text(form, actor_of(request))


@object_action(
    "Cancel the appointment",
    icon="event_busy",
    question=lambda row: f"Cancel this appointment? {effects(row, changes.cancel)}",
    form=CancellationForm,
    danger=True,
    is_possible=lambda appointment: not is_canceled(appointment),
    state=attrgetter("state"),
    is_done=lambda appointment, form: is_canceled(appointment) and is_noted(appointment, form, "notes"),
    next_url=next_url,
)
def cancel(page: RecordAdmin, request: HttpRequest, appointment: Appointment, form: CancellationForm) -> str:
    notified = effects(appointment, changes.cancel)
    services.cancel_appointment(
        organization=appointment.organization,
        actor=actor_of(request),
        appointment=appointment,
        notes=form.cleaned_data["notes"],
    )
    return f"The appointment is canceled. {notified}"
