"""The actions on selected appointments of the list."""

from typing import Any

from appointments.services import cancel_appointment, edit_appointment
from staff.toolkit.bulk import members, selected_action
from statuses.models import Board, Status

CANCELLATION_EFFECTS = "The host, setter and triager are notified by e-mail, and webhooks are sent."

set_outcome_selected = selected_action(
    "set_outcome_selected",
    "Set the outcome of the selected appointments",
    lambda actor, row, status: edit_appointment(
        organization=row.organization, actor=actor, appointment=row, status_id=status.pk
    ),
    title="Set the outcome",
    question=f"How did these appointments go? The leads move with them. A canceled outcome cancels: "
    f"{CANCELLATION_EFFECTS}",
    choices=lambda organization: Status.objects.of(organization).choices(Board.APPOINTMENT, current=None),
    label="Outcome",
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
        "an invitation by e-mail, the previous one a cancellation, and the others an update. Webhooks are sent.",
        choices=members,
        label=role.capitalize(),
    )


cancel_selected = selected_action(
    "cancel_selected",
    "Cancel the selected appointments",
    lambda actor, row, _: cancel_appointment(organization=row.organization, actor=actor, appointment=row),
    title="Cancel the appointments",
    question=f"Cancel these appointments? {CANCELLATION_EFFECTS}",
)
