"""Undoing an outcome: the button in the message that follows it, and what it does."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.core import signing
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from appointments import services
from appointments.models import Appointment
from leads.models import NextStep
from organizations.permissions import current_user
from staff.appointments.schedule import is_booked_again
from staff.toolkit.actions import ConfirmationForm, actor_of
from staff.toolkit.record import RecordAdmin
from statuses.models import StatusRole

SALT = "appointments.undo_outcome"
MAX_AGE = 600  # seconds; the button is shown for ten
PLACES = ("home", "board")  # parameters that say which page follows


class UndoForm(ConfirmationForm):
    """What is to be undone, signed for the user who did it."""

    undo = forms.CharField(widget=forms.HiddenInput)

    def clean_undo(self) -> dict[str, Any]:
        try:
            token: dict[str, Any] = signing.loads(self.cleaned_data["undo"], salt=SALT, max_age=MAX_AGE)
        except signing.BadSignature:
            token = {}
        if (token.get("user"), token.get("row")) != (current_user(self.request).pk, str(self.subject.pk)):
            raise forms.ValidationError("It is too late to undo this. Set the outcome that is right.")
        return token


def times_since(appointment: Appointment) -> list[str | None]:
    """Return since when the appointment has its outcome and the lead its status, as a token stores them."""
    return [at.isoformat() if at else None for at in (appointment.outcome_since, appointment.lead.status_since)]


def undo_button(
    request: HttpRequest,
    before: Appointment,
    after: Appointment,
    url: str,
    step: NextStep | None,
    board: str | None = None,
) -> SafeString | str:
    """Return the button that undoes an outcome, or "" if there was none before, or people were notified.

    `board` is the query of the board that follows, if it isn't in the request.
    """
    roles = {status.role for status in (before.outcome, after.outcome) if status}
    if before.outcome_id is None or before.outcome_id == after.outcome_id or StatusRole.CANCELED in roles:
        return ""
    if is_booked_again(before, after.outcome):
        return ""
    token = {
        "user": current_user(request).pk,
        "row": str(after.pk),
        "outcome": [str(before.outcome_id), str(after.outcome_id)],
        "lead_status": [str(before.lead.status_id), str(after.lead.status_id)],
        "step": step and [str(step.pk), step.values],
        "touch_point": before.lead.touch_point,
        "since": times_since(before),
    }
    places = {name: value for name in PLACES if (value := request.POST.get(name, request.GET.get(name)))}
    query = urlencode(places if board is None else {"board": board})
    return format_html(
        '<button class="undo" form="undo-form" formaction="{}" name="undo" value="{}">Undo</button>',
        f"{url}?{query}",
        signing.dumps(token, salt=SALT),
    )


def undo(page: RecordAdmin, request: HttpRequest, appointment: Appointment, form: UndoForm) -> str:
    token, actor = form.cleaned_data["undo"], actor_of(request)
    organization, (former, undone) = appointment.organization, map(UUID, token["outcome"])
    former_status, status = map(UUID, token["lead_status"])
    restored = services.undo_outcome(
        organization=organization,
        actor=actor,
        appointment=appointment,
        outcome=(former, undone),
        lead_status=(former_status, status),
        steps=dict([token["step"]] if token["step"] else []),
        touch_point=token.get("touch_point"),
        since=token["since"],
    )
    return f"Undone. The outcome is {restored.outcome} again."
