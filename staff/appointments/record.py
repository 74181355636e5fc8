"""The buttons of an appointment's page. Each says who will be told, by the functions that notify them."""

from datetime import timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.urls import reverse

from appointments.models import Appointment
from appointments.services import (
    cancel_appointment,
    change_outcome,
    create_note,
    preview_cancellation,
    preview_move,
    preview_outcome,
    reschedule,
    set_next_step,
)
from foundation.db.timestamps import now, truncate_to_ms
from leads.models import TouchPointType
from organizations.actors import staff_actor
from organizations.permissions import current_user
from staff.appointments.record_forms import (
    CancellationForm,
    FollowUpForm,
    NoteForm,
    OutcomeForm,
    RescheduleForm,
    SuggestedOutcomeForm,
    default_outcome,
    describe,
    may_change,
    suggested_outcome,
)
from staff.boards.moves import board_url
from staff.toolkit.actions import object_action, row_url
from staff.toolkit.columns import when
from statuses.models import StatusRole


def is_cancelable(appointment: Appointment) -> bool:
    """Return whether the appointment is not canceled yet."""
    return appointment.outcome is None or appointment.outcome.role != StatusRole.CANCELED


def move_question(appointment: Appointment) -> str:
    """Return the reschedule question. The recipients are the same for any time at which the call isn't over."""
    another_time = max(appointment.schedule_time, now()) + timedelta(days=1)
    return describe(preview_move(appointment, another_time), appointment)


def cancel_question(appointment: Appointment) -> str:
    """Return what the form for canceling says."""
    return f"Cancel this appointment? {describe(preview_cancellation(appointment), appointment)}"


def outcome_question(appointment: Appointment) -> str:
    """Return what the form for any outcome says."""
    return (
        f"How did it go? If you choose a canceled outcome: {describe(preview_cancellation(appointment), appointment)}"
    )


def suggestion_question(appointment: Appointment) -> str:
    """Return what the call's analysis suggests, why, and who will be told if it is accepted."""
    analysis, outcome = suggested_outcome(appointment)
    if analysis is None or outcome is None:
        return ""
    told = describe(preview_outcome(appointment, outcome), appointment)
    return f"Suggested: {outcome} ({analysis.ai_confidence_score:.0%} sure). {analysis.ai_rationale} {told}"


def state(appointment: Appointment) -> str:
    """Return what a form that was opened earlier depends on."""
    return f"{appointment.outcome_id} {appointment.schedule_time.timestamp()}"


def suggestion_state(appointment: Appointment) -> str:
    """Return what a form depends on that accepts the suggested outcome."""
    outcome = suggested_outcome(appointment)[1]
    return f"{state(appointment)} {outcome and outcome.pk}"


def has_outcome(appointment: Appointment, form: OutcomeForm) -> bool:
    """Return whether the appointment has the outcome already that the form sets."""
    outcome = form.chosen_outcome() or getattr(form, "cleaned_data", {}).get("outcome")
    return outcome is not None and outcome.pk == appointment.outcome_id


def next_url(request: HttpRequest, appointment: Appointment) -> str:
    """Return the address of the page from which the form was opened: home, a board, or the appointment's page."""
    if "home" in request.POST:
        return f"{reverse('admin:index')}?{request.POST['home']}"
    return board_url(Appointment, request.GET["board"]) if "board" in request.GET else row_url(appointment)


def set_outcome(
    page: Any,  # a ModelAdmin
    request: HttpRequest,
    appointment: Appointment,
    form: OutcomeForm,
) -> str:
    """Set the outcome, and of the lead the status and the next step that are chosen.

    Raises PermissionDenied if the user may not change the lead.
    """
    outcome, lead_status = form.cleaned_data["outcome"], form.cleaned_data.get("lead_status")
    next_step_at = form.cleaned_data.get("next_step_at")
    if (lead_status or next_step_at) and not may_change(request, appointment.lead):
        raise PermissionDenied
    organization, actor = appointment.organization, staff_actor(current_user(request))
    told = describe(preview_outcome(appointment, outcome), appointment)
    change_outcome(
        organization=organization,
        actor=actor,
        appointment=appointment,
        status_id=outcome.pk,
        lead_status_id=lead_status.pk if lead_status else None,
    )
    if next_step_at:
        set_next_step(
            organization=organization,
            actor=actor,
            lead_id=appointment.lead_id,
            at=truncate_to_ms(next_step_at),
            type=TouchPointType.CALL,
        )
    sentences = [f"The outcome is {outcome}."]
    if lead_status:
        sentences.append(f"The lead's status is {lead_status}.")
    if next_step_at:
        sentences.append(f"Call back on {when(next_step_at)}.")
    return " ".join([*sentences, told])


def outcome_button(role: StatusRole, label: str, icon: str, form: type[OutcomeForm] | None = None) -> Any:  # a method
    """Return the button that sets the outcome of a role, by default with the form for it and the lead's status."""

    def question(appointment: Appointment) -> str:
        outcome = default_outcome(appointment, role)
        return describe(preview_outcome(appointment, outcome), appointment) if outcome else ""

    def is_offered(appointment: Appointment) -> bool:
        outcome = default_outcome(appointment, role)
        return outcome is not None and outcome.pk != appointment.outcome_id

    def handler(page: Any, request: HttpRequest, appointment: Appointment, form: OutcomeForm) -> str:
        return set_outcome(page, request, appointment, form)

    handler.__name__ = f"set_{role.lower()}"
    button = object_action(
        label,
        icon=icon,
        question=question,
        form=form or type(f"{role.title()}Form", (OutcomeForm,), {"role": role}),
        when=is_offered,
        once=state,
        is_same=has_outcome,
        next_url=next_url,
    )
    return button(handler)


class AppointmentButtons:
    """The buttons of an appointment's page, for `actions_detail`."""

    actions_detail = (
        "accept_suggestion",
        "reschedule",
        "set_won",
        "set_lost",
        "set_no_show",
        "set_follow_up",
        "set_outcome",
        "add_note",
        "cancel",
    )

    set_won = outcome_button(StatusRole.WON, "Won", "check")
    set_lost = outcome_button(StatusRole.LOST, "Lost", "close")
    set_no_show = outcome_button(StatusRole.NO_SHOW, "No-show", "block")
    set_follow_up = outcome_button(StatusRole.FOLLOW_UP, "Follow-up", "call", FollowUpForm)

    set_outcome = object_action(
        "Set the outcome",
        icon="label",
        question=outcome_question,
        form=OutcomeForm,
        once=lambda appointment: appointment.outcome_id,
        is_same=has_outcome,
        next_url=next_url,
    )(set_outcome)

    @object_action(
        "Accept the suggested outcome",
        icon="insights",
        question=suggestion_question,
        form=SuggestedOutcomeForm,
        when=lambda appointment: suggested_outcome(appointment)[1] is not None,
        once=suggestion_state,
        is_same=has_outcome,
    )
    def accept_suggestion(self, request: HttpRequest, appointment: Appointment, form: SuggestedOutcomeForm) -> str:
        """Set the outcome that the call's analysis suggests."""
        return set_outcome(self, request, appointment, form)

    @object_action(
        "Reschedule",
        icon="schedule",
        question=move_question,
        form=RescheduleForm,
        once=state,
        is_same=lambda appointment, form: appointment.schedule_time == form.new_time,
    )
    def reschedule(self, request: HttpRequest, appointment: Appointment, form: RescheduleForm) -> str:
        """Move the appointment, and store the reason as a note."""
        to = form.cleaned_data["schedule_time"]
        told = describe(preview_move(appointment, to), appointment)
        reschedule(
            organization=appointment.organization,
            actor=staff_actor(current_user(request)),
            appointment=appointment,
            to=to,
            reason=form.cleaned_data["reason"],
        )
        return f"Moved to {when(to)}. {told}"

    @object_action(
        "Add a note", icon="edit_note", question="Everyone who can see the appointment sees the note.", form=NoteForm
    )
    def add_note(self, request: HttpRequest, appointment: Appointment, form: NoteForm) -> str:
        """Store a note with the members that it mentions."""
        create_note(
            organization=appointment.organization,
            actor=staff_actor(current_user(request)),
            appointment=appointment,
            text=form.cleaned_data["note"],
            mentions=list(form.cleaned_data["mentions"]),
        )
        return "The note was added."

    @object_action(
        "Cancel the appointment",
        icon="event_busy",
        question=cancel_question,
        form=CancellationForm,
        danger=True,
        when=is_cancelable,
        once=state,
        is_same=lambda appointment, form: not is_cancelable(appointment),
        next_url=next_url,
    )
    def cancel(self, request: HttpRequest, appointment: Appointment, form: CancellationForm) -> str:
        """Cancel the appointment with the service."""
        told = describe(preview_cancellation(appointment), appointment)
        cancel_appointment(
            organization=appointment.organization,
            actor=staff_actor(current_user(request)),
            appointment=appointment,
            notes=form.cleaned_data["notes"],
        )
        return f"The appointment is canceled. {told}"
