"""The actions on selected appointments of the list."""

from copy import copy
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from appointments.lead_notifications import leads_to_notify
from appointments.models import Appointment
from appointments.services import (
    cancel_appointment,
    edit_appointment,
    undo_outcome,
)
from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now, truncate_to_ms
from leads.models import TouchPointType
from leads.services import get_lead_for_update
from notifications.models import Kind
from organizations.actors import Actor
from organizations.models import Membership
from staff.appointments.record_forms import MESSAGES_BY_KIND, may_change
from staff.appointments.schedule import can_be_booked_again, is_booked_again, is_canceled, overlap_warning
from staff.appointments.undoing import times_since
from staff.leads.next_steps import call_by, open_steps
from staff.toolkit.actions import NotDone, actor_of
from staff.toolkit.bulk import Undo, members, selected_action
from staff.toolkit.times import TimestampField
from statuses.models import Board, Status, StatusRole


def cancellation_effects(rows: list[Appointment]) -> str:
    return effects(Kind.CALL_CANCELED, [row for row in rows if not is_canceled(row)])


def effects(kind: Kind, rows: list[Appointment]) -> str:
    """Return who is notified of such a change of these."""
    leads = leads_to_notify(kind, rows)
    who = str(leads[0]) if len(leads) == 1 else f"{len(leads)} leads"
    verb = "gets" if len(leads) == 1 else "get"
    effect = f"{who} {verb} {MESSAGES_BY_KIND[kind]} by e-mail" if leads else "No lead gets an e-mail"
    return f"{effect}. The host, setter and triager are notified by e-mail, and connected apps are updated."


def appointments_in_words(count: int) -> str:
    return "1 appointment" if count == 1 else f"{count:,} appointments"


@atomic_with_retry
def set_outcome(
    request: HttpRequest, appointment: Appointment, outcome: Status, *, next_step_at: datetime | None
) -> Appointment:
    """Set the outcome, and after a follow-up the next step, if the user may change the lead."""
    step = None
    if next_step_at and outcome.role == StatusRole.FOLLOW_UP and may_change(request, appointment.lead):
        at = truncate_to_ms(next_step_at)
        # Not again if the form is sent twice, or another of the lead's appointments is selected, too.
        has_step = open_steps(appointment.lead).filter(at=at, type=TouchPointType.CALL).exists()
        step = None if has_step else call_by(request, appointment.lead, at)
    return edit_appointment(
        organization=appointment.organization,
        actor=actor_of(request),
        appointment=appointment,
        status_id=outcome.pk,
        next_step=step,
    )


def outcome_question(rows: list[Appointment]) -> str:
    early = sum(row.schedule_time > now() for row in rows)
    to_come = f"{early} of these calls {'is' if early == 1 else 'are'} still to come. " if early else ""
    start = f"How did these appointments go? {to_come}The leads move with them."
    text = f"{start} If you choose a canceled outcome: {cancellation_effects(rows)}"
    if again := [copy(row) for row in rows if can_be_booked_again(row)]:
        for row in again:
            row.outcome, row.is_called_off = None, False  # not stored
        text += f" If you choose a booked one, or one with the role Rescheduled: {effects(Kind.CALL_BOOKED, again)}"
    return text


def booked_again_warning(rows: list[Appointment], outcome: Status) -> str:
    ids = [row.pk for row in rows if is_booked_again(row, outcome)]
    return overlap_warning(Appointment.unscoped.filter(pk__in=ids), "the host or the lead", "host", "lead")


def host_warning(rows: list[Appointment], host: Membership | None) -> str:
    ids = [row.pk for row in rows]
    return overlap_warning(Appointment.unscoped.filter(pk__in=ids), str(host), "host")


def outcome_values(appointment: Appointment) -> list[Any]:
    """Return the ids of the outcome and the lead's status, its open next steps by id, touch point, and since when.

    Locks the lead.
    """
    lead = appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    outcome, steps = appointment.outcome_id, {str(step.pk): step.values for step in open_steps(lead)}
    return [str(outcome) if outcome else None, str(lead.status_id), steps, lead.touch_point, times_since(appointment)]


@atomic_with_retry
def restore_outcome(actor: Actor, appointment: Appointment, before: list[Any], after: list[Any]) -> None:
    """Undo an outcome. Raises Conflict for a cancellation and its like, because people were notified."""
    (former, former_status, steps, touch_point, since), (undone, status, steps_after, *_) = before, after
    organization = appointment.organization
    statuses = {str(row.pk): row for row in Status.objects.of(organization).filter(pk__in=[former, undone])}
    appointment.outcome = statuses.get(former or "")
    roles = {row.role for row in statuses.values()}
    if former is None or StatusRole.CANCELED in roles or is_booked_again(appointment, statuses.get(undone)):
        raise Conflict("This can't be undone, because people were notified")
    undo_outcome(
        organization=organization,
        actor=actor,
        appointment=appointment,
        outcome=(UUID(former), UUID(undone)),
        lead_status=(UUID(former_status), UUID(status)),
        steps={step: steps_after[step] for step in steps_after.keys() - steps},
        touch_point=touch_point,
        since=since,
    )


set_outcome_selected = selected_action(
    "set_outcome_selected",
    "Set the outcome of the selected appointments",
    set_outcome,
    title="Set the outcome",
    question=outcome_question,
    choices=lambda organization: Status.objects.of(organization).choices(Board.APPOINTMENT, current=None),
    label="Outcome",
    also=lambda: {
        "next_step_at": TimestampField(
            required=False, label="After a follow-up: when is the next step?", help_text="A call by you."
        )
    },
    done=lambda count, status: f"{count} marked as {status}.",
    warning=booked_again_warning,
    # The outcome alone: another call of the lead may have been undone before this one.
    undo=Undo(
        outcome_values,
        restore_outcome,
        lambda outcome: outcome.role != StatusRole.CANCELED,
        lambda present, after: present[0] != after[0],
    ),
)


def set_member_selected(role: str) -> Any:  # an action
    return selected_action(
        f"set_{role}_selected",
        f"Set the {role} of the selected appointments",
        lambda request, row, member: edit_appointment(
            organization=row.organization, actor=actor_of(request), appointment=row, **{role: member}
        ),
        title=f"Set the {role}",
        question=f"Who is the {role} of these appointments from now on? For upcoming appointments, the new member gets "
        "an invitation by e-mail, the previous one a cancellation, and the others an update. No lead gets an e-mail.",
        choices=members,
        label=role.capitalize(),
        done=lambda count, member: (
            f"{appointments_in_words(count)} now {'has' if count == 1 else 'have'} {member or 'no one'} as {role}."
        ),
        warning=host_warning if role == "host" else None,
    )


def cancel(request: HttpRequest, appointment: Appointment, _: None) -> None:
    if is_canceled(appointment):
        raise NotDone("canceled already")
    cancel_appointment(organization=appointment.organization, actor=actor_of(request), appointment=appointment)


cancel_selected = selected_action(
    "cancel_selected",
    "Cancel the selected appointments",
    cancel,
    title="Cancel the appointments",
    question=lambda rows: f"Cancel these appointments? {cancellation_effects(rows)}",
    done=lambda count, _: f"{appointments_in_words(count)} canceled.",
)
