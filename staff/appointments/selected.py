"""The actions on selected appointments of the list."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from appointments.lead_notifications import leads_to_notify
from appointments.models import Appointment
from appointments.services import cancel_appointment, edit_appointment, undo_outcome
from foundation.api.exceptions import Conflict
from notifications.models import Kind
from organizations.actors import Actor
from staff.appointments.schedule import is_canceled
from staff.toolkit.bulk import Undo, members, selected_action
from statuses.models import Board, Status, StatusRole


def cancellation_effects(rows: Iterable[Appointment]) -> str:
    """Return who is notified if these are canceled."""
    leads = leads_to_notify(Kind.CALL_CANCELED, [row for row in rows if not is_canceled(row)])
    who = str(leads[0]) if len(leads) == 1 else f"{len(leads)} leads"
    told = (
        f"{who} {'gets' if len(leads) == 1 else 'get'} a cancellation by e-mail" if leads else "No lead gets an e-mail"
    )
    return f"{told}. The host, setter and triager are notified by e-mail, and connected apps are updated."


def appointments_in_words(count: int) -> str:
    return "1 appointment" if count == 1 else f"{count:,} appointments"


def outcome_and_lead_status(appointment: Appointment) -> list[Any]:
    outcome = appointment.outcome_id
    return [str(outcome) if outcome else None, str(appointment.lead.status_id)]


def restore_outcome(actor: Actor, appointment: Appointment, before: list[Any], after: list[Any]) -> None:
    """Undo an outcome. Raises Conflict for a cancellation and its like, because people were notified."""
    (former, former_status), (undone, status) = before, after
    roles = Status.objects.of(appointment.organization).filter(pk__in=[former, undone]).values_list("role", flat=True)
    if former is None or StatusRole.CANCELED in roles:
        raise Conflict("This can't be undone, because people were notified")
    undo_outcome(
        organization=appointment.organization,
        actor=actor,
        appointment=appointment,
        outcome=(UUID(former), UUID(undone)),
        lead_status=(UUID(former_status), UUID(status)),
    )


set_outcome_selected = selected_action(
    "set_outcome_selected",
    "Set the outcome of the selected appointments",
    lambda actor, row, status: edit_appointment(
        organization=row.organization, actor=actor, appointment=row, status_id=status.pk
    ),
    title="Set the outcome",
    question=lambda rows: (
        "How did these appointments go? The leads move with them. If you choose a canceled outcome: "
        f"{cancellation_effects(rows)}"
    ),
    choices=lambda organization: Status.objects.of(organization).choices(Board.APPOINTMENT, current=None),
    label="Outcome",
    done=lambda count, status: f"{count} marked as {status}.",
    undo=Undo(outcome_and_lead_status, restore_outcome, lambda outcome: outcome.role != StatusRole.CANCELED),
)


def set_member_selected(role: str) -> Any:  # an action
    return selected_action(
        f"set_{role}_selected",
        f"Set the {role} of the selected appointments",
        lambda actor, row, member: edit_appointment(
            organization=row.organization, actor=actor, appointment=row, **{role: member}
        ),
        title=f"Set the {role}",
        question=f"Who is the {role} of these appointments from now on? For upcoming appointments, the new member gets "
        "an invitation by e-mail, the previous one a cancellation, and the others an update. No lead gets an e-mail.",
        choices=members,
        label=role.capitalize(),
        done=lambda count, member: (
            f"{appointments_in_words(count)} now {'has' if count == 1 else 'have'} {member or 'no one'} as {role}."
        ),
    )


cancel_selected = selected_action(
    "cancel_selected",
    "Cancel the selected appointments",
    lambda actor, row, _: cancel_appointment(organization=row.organization, actor=actor, appointment=row),
    title="Cancel the appointments",
    question=lambda rows: f"Cancel these appointments? {cancellation_effects(rows)}",
    done=lambda count, _: f"{appointments_in_words(count)} canceled.",
)
