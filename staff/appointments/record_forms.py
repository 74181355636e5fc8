"""The forms behind the buttons of an appointment's page, and the sentence that says who will be notified."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import Any, TypeAlias

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.text import get_text_list

from appointments.lead_notifications import reason_for_no_mail
from appointments.models import Appointment, CallAnalysis
from appointments.services import Audience, changes, preview
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import now, truncate_to_ms
from leads.models import Lead
from notifications.models import Kind, LeadMessage
from organizations.models import CAN_BE_ASSIGNED, Membership
from staff.appointments.schedule import is_booked_again, warn_of_time
from staff.toolkit.actions import ConfirmationForm
from staff.toolkit.fields import LongTextField, RowField
from staff.toolkit.lists import day_and_time, to_uuid
from staff.toolkit.timeline import full_time
from staff.toolkit.times import TimestampField, show_times_about
from statuses.models import PAID_ROLES, RESULT_ROLES, Board, Status, StatusRole

NEXT_STEP_MINUTES = 15  # of the free times that are offered
Preset: TypeAlias = Callable[[Appointment], Status | None]

MESSAGES_BY_KIND = {
    Kind.CALL_BOOKED: "an invitation",
    Kind.CALL_RESCHEDULED: "an updated invitation",
    Kind.CALL_UPDATED: "an updated invitation",
    Kind.CALL_CANCELED: "a cancellation",
    Kind.CALL_REASSIGNED: "a cancellation",
}

LEAD_MESSAGES = {
    Kind.LEAD_INVITED: "an invitation",
    Kind.LEAD_RESCHEDULED: "the new time",
    Kind.LEAD_CANCELED: "a cancellation",
}


def describe(audience: Audience, appointment: Appointment) -> str:
    parts = []
    for kind, members in audience.members.items():
        message = MESSAGES_BY_KIND[kind] if audience.has_invitation else "a message"
        names = sorted(str(member) for member in members)
        parts.append(f"{get_text_list(names, 'and')} {'get' if len(names) > 1 else 'gets'} {message} by e-mail")
    if audience.slack:
        parts.append("Slack gets a message")
    if audience.webhooks:
        parts.append("connected apps are updated")
    text = "; ".join(parts)
    sentences = [f"{text[0].upper()}{text[1:]}."] if parts else []
    if audience.members or audience.lead_message:
        lead, lead_message = appointment.lead, audience.lead_message
        reason = reason_for_no_mail(appointment.organization_id, lead) if lead_message else ""
        sentences.append(describe_lead(lead_message, lead, reason))
    return " ".join(sentences) or "No one is notified."


def describe_lead(message: LeadMessage | None, lead: Lead | None, reason: str) -> str:
    """Return which e-mail the lead gets, or the reason why none; without a lead it is a new one."""
    name = str(lead or "The lead")
    if lead and lead.unsubscribed_at:
        return f"{name} has unsubscribed and doesn't get e-mails."
    if message is None or reason:
        return f"{name} isn't notified: {reason}." if message else f"{name} isn't notified."
    until = message.organization.mail_paused_until
    text = f"{name} gets {LEAD_MESSAGES[Kind(message.kind)]} by e-mail"
    if until and until > now():
        return (
            f"{text}, but not before {day_and_time(until, with_distance=False)}: today's limit of e-mails is reached."
        )
    return f"{text}."


def is_early(appointment: Appointment, outcome: Status) -> str:
    """Return a sentence if the outcome says how a call went that has not begun yet, or ""."""
    if outcome.role not in RESULT_ROLES or appointment.schedule_time <= now():
        return ""
    return f"The call is still to come: {full_time(appointment.schedule_time)}."


def default_outcome(role: str, appointment: Appointment) -> Status | None:
    return default_of_role(appointment.outcome_choices, role, "is_appointment_default")


def default_of_role(statuses: Iterable[Status], role: str, flag: str) -> Status | None:
    """Return the role's status that has the flag, or else any that can be chosen; None if there is none."""
    of_role = [status for status in statuses if status.role == role and status.is_active]
    return next((status for status in of_role if getattr(status, flag)), of_role[0] if of_role else None)


def suggested_outcome(appointment: Appointment) -> Status | None:
    """Return the status that the call's analysis suggests by its name or role, if it isn't the outcome yet."""
    analysis: CallAnalysis | None = getattr(appointment, "call_analysis", None)
    if analysis is None:
        return None
    text = simplified(analysis.ai_suggested_outcome)
    choices = [status for status in appointment.outcome_choices if status.is_active]
    status = next((status for status in choices if simplified(status.name) == text), None)
    roles = [role for role in StatusRole if text in (simplified(role.value), simplified(role.label))]
    if status is None and roles:
        status = default_outcome(roles[0], appointment)
    return status if status and status.pk != appointment.outcome_id else None


def simplified(text: str) -> str:
    """Return the text's words in lowercase, so that NO_SHOW is the same as No-show."""
    return " ".join(text.casefold().replace("-", " ").replace("_", " ").split())


class OutcomeForm(ConfirmationForm):
    outcome = RowField(Status.unscoped.none())
    lead_status = RowField(Status.unscoped.none(), required=False)
    lead_status_was = forms.UUIDField(required=False, widget=forms.HiddenInput)
    next_step_at = TimestampField(required=False, label="When is the next step?", help_text="A call by you.")
    book_anyway = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, preset: Preset | None = None, asks_next_step: bool = False, **kwargs: Any) -> None:
        """`preset` returns the outcome; without it, the user chooses one."""
        super().__init__(*args, **kwargs)
        appointment, lead = self.subject, self.subject.lead
        self.preset = preset(appointment) if preset else None
        statuses = Status.objects.of(appointment.organization)
        outcome = self.fields["outcome"]
        outcome.queryset = statuses.choices(Board.APPOINTMENT, current=appointment.outcome_id)
        outcome.initial = appointment.outcome_id
        if self.preset:
            outcome.widget, outcome.initial = forms.HiddenInput(), self.preset.pk
            outcome.queryset = statuses.filter(pk=self.preset.pk)
        show_times_about(
            self.fields["next_step_at"], organization=lead.organization_id, lead=lead.pk, minutes=NEXT_STEP_MINUTES
        )
        may_change_lead = may_change(self.request, lead)
        if not (asks_next_step and may_change_lead):
            del self.fields["next_step_at"]
        if not may_change_lead:
            del self.fields["lead_status"], self.fields["lead_status_was"]
            return
        self.fields["lead_status_was"].initial = lead.status_id
        lead_status = self.fields["lead_status"]
        others = appointment.lead_status_choices
        lead_status.queryset = statuses.filter(pk__in=[lead.status_id, *(status.pk for status in others)])
        lead_status.label = "Also set the lead's status to" if self.preset else "Lead's status"
        stays = (lead.status_id, f"Leave it as it is ({lead.status})")
        lead_status.choices = [stays, *((status.pk, str(status)) for status in others)]
        lead_status.initial = lead.status_id
        if self.preset is None:
            lead_status.choices = [("", "Move it with the outcome"), *lead_status.choices]
            lead_status.initial = ""
        elif lead.status.role != self.preset.role and not (
            lead.status.role in PAID_ROLES and self.preset.role not in PAID_ROLES
        ):
            lead_status.initial = default_of_role(others, self.preset.role, "is_lead_default") or lead.status_id

    @property
    def step_at(self) -> datetime | None:
        at = getattr(self, "cleaned_data", {}).get("next_step_at")
        return at and truncate_to_ms(at)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        was, lead = cleaned.get("lead_status_was"), self.subject.lead
        if was and was != lead.status_id and self.data.get("lead_status"):
            data: Any = self.data
            self.data = data = data.copy()
            data["lead_status_was"] = str(lead.status_id)
            moved = f"The lead has moved to {lead.status} since you opened the form."
            self.add_error(None, f"{moved} Check its status below.")
        if is_booked_again(self.subject, self.preset or cleaned.get("outcome")):
            warn_of_time(self, self.subject)
        return cleaned


class RescheduleForm(ConfirmationForm):
    schedule_time = TimestampField(label="New time")
    reason = LongTextField(
        required=False, rows=3, help_text="Stored as a note. The members who are notified read it, too."
    )
    book_anyway = forms.BooleanField(required=False, widget=forms.HiddenInput, label="Move anyway")
    new_time: datetime | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field, appointment = self.fields["schedule_time"], self.subject
        # The time and the host to which the calendar's entry was moved.
        values, self.host, about = self.request.GET, None, {"appointment": appointment.pk}
        field.initial = appointment.schedule_time
        with suppress(ValueError):
            field.initial = parse_timestamp(values.get("to", ""))
        if "host" in values:
            members = Membership.objects.of(appointment.organization).filter(CAN_BE_ASSIGNED).select_related("user")
            self.host = members.filter(pk=to_uuid(values["host"])).first()
        if self.host:
            about["host"] = self.host.pk
            former = f" instead of {appointment.host}" if appointment.host else ""
            audience = preview(appointment, self.change, field.initial)
            self.question = f"{self.host} becomes the host{former}. {describe(audience, appointment)}"
        show_times_about(field, organization=appointment.organization_id, **about)

    def change(self, appointment: Appointment, to: datetime) -> None:
        changes.set_values(appointment, schedule_time=to, **({"host": self.host} if self.host else {}))

    def is_at(self, appointment: Appointment) -> bool:
        """Return whether the appointment has the new time and host."""
        return appointment.schedule_time == self.new_time and self.host in (None, appointment.host)

    def clean_schedule_time(self) -> datetime:
        self.new_time = truncate_to_ms(self.cleaned_data["schedule_time"])
        if self.is_at(self.subject):
            raise forms.ValidationError("The appointment already has this time. Choose another one.")
        return self.new_time

    def clean(self) -> dict[str, Any]:
        if "host" in self.request.GET and self.host is None:
            raise forms.ValidationError("This member can't be a host any more. Load the calendar again.")
        if "schedule_time" in self.cleaned_data:
            moved = copy(self.subject)
            self.change(moved, self.cleaned_data["schedule_time"])
            warn_of_time(self, moved)
        return self.cleaned_data


class CancellationForm(ConfirmationForm):
    notes = LongTextField(required=False, label="Reason", help_text="Stored as a note.")


def may_change(request: HttpRequest, lead: Lead) -> bool:
    lead_admin: Any = admin.site.get_model_admin(Lead)
    return bool(lead_admin.has_change_permission(request, lead))
