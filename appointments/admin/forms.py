"""The forms about calls: booking, changing, canceling, noting."""

from typing import Any

from django import forms
from unfold import widgets

from appointments.models import Appointment
from leads.admin.custom_fields import CustomValuesForm
from leads.phones import parse_phone
from organizations.admin.actions import ConfirmationForm
from organizations.admin.base import WebAddressField
from organizations.admin.tenant import TenantForm
from organizations.models import Membership
from pipeline_backend.db.timestamps import truncate_to_ms
from statuses.models import Board, BoardScope

PARTICIPANT_FIELDS = ["host", "setter", "triager"]
APPOINTMENT_FIELDS = ["event_type", "call_category", *PARTICIPANT_FIELDS, "meeting_url", "recording_url"]


class BookingForm(TenantForm):
    """A booking by hand: for a known lead, or for an e-mail (interface 4.1)."""

    lead_email = forms.EmailField(
        required=False,
        label="or e-mail",
        widget=widgets.UnfoldAdminEmailInputWidget,
        help_text="A lead who is not known is made.",
    )
    lead_first_name = forms.CharField(
        required=False, max_length=255, label="First name", widget=widgets.UnfoldAdminTextInputWidget
    )
    lead_last_name = forms.CharField(
        required=False, max_length=255, label="Last name", widget=widgets.UnfoldAdminTextInputWidget
    )
    lead_phone = forms.CharField(
        required=False,
        max_length=40,
        label="Phone",
        widget=widgets.UnfoldAdminTextInputWidget,
        help_text="Fills an empty one.",
    )
    meeting_url = WebAddressField(label="Meeting URL")
    notes = forms.CharField(required=False, max_length=10_000, label="Note", widget=widgets.UnfoldAdminTextareaWidget)

    class Meta:
        model = Appointment
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["lead"].required = False
        self.fields["event_type"].required = True

    def clean_lead_phone(self) -> str:
        """One that can be read, or none."""
        text = str(self.cleaned_data["lead_phone"])
        if text and parse_phone(text, self.organization.default_country) is None:
            raise forms.ValidationError("Enter a valid phone number.")
        return text

    def clean(self) -> dict[str, Any]:
        """Some way to the lead, and only one."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if bool(cleaned.get("lead")) == bool(cleaned.get("lead_email")) and not {"lead", "lead_email"} & set(
            self.errors
        ):
            self.add_error("lead", "Choose a lead or enter an e-mail: one of the two.")
        return cleaned

    def wanted(self) -> dict[str, Any]:
        """The booking as the service takes it."""
        data = self.cleaned_data
        people = {f"{role}_email": data[role].user.email for role in PARTICIPANT_FIELDS if data[role]}
        lead = (
            {"lead_id": data["lead"].pk}
            if data["lead"]
            else {name: data[name] for name in ("lead_email", "lead_first_name", "lead_last_name")}
        )
        rest = {
            "lead_phone": data["lead_phone"],
            "meeting_url": data["meeting_url"],
            "notes": data["notes"],
            "event_type_id": data["event_type"].pk,
        }
        return {"schedule_time": truncate_to_ms(data["schedule_time"]), **people, **lead, **rest}


class AppointmentForm(CustomValuesForm):
    """A booked call."""

    meeting_url = WebAddressField(label="Meeting URL")
    recording_url = WebAddressField(label="Recording URL")

    class Meta:
        model = Appointment
        fields = ()
        help_texts = {
            "outcome": "To a canceled one: the call is canceled, and its people are told.",
            "schedule_time": "A new time moves the call, and its people are told.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "outcome" in self.fields:
            outcome: Any = self.fields["outcome"]
            outcome.queryset = outcome.queryset.filter(type__in=[Board.APPOINTMENT, BoardScope.BOTH])
            outcome.required = self.instance.outcome_id is not None

    def changed_values(self) -> dict[str, Any]:
        """What was changed, as the service takes it; time and outcome have their own."""
        found = {name: self.cleaned_data[name] for name in APPOINTMENT_FIELDS if name in self.changed_data}
        return found | ({"custom_values": self.custom_values()} if self.has_changed_custom_values() else {})


class CancellationForm(ConfirmationForm):
    """Why a call is canceled."""

    notes = forms.CharField(
        required=False,
        max_length=10_000,
        label="Note",
        widget=widgets.UnfoldAdminTextareaWidget,
        help_text="Why; kept as a note.",
    )


class NoteForm(ConfirmationForm):
    """A note on a call."""

    note = forms.CharField(max_length=10_000, widget=widgets.UnfoldAdminTextareaWidget)
    mentions = forms.ModelMultipleChoiceField(
        Membership.unscoped.none(), required=False, widget=widgets.UnfoldAdminCheckboxSelectMultipleWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mentions: Any = self.fields["mentions"]
        mentions.queryset = (
            Membership.objects.of(self.subject.organization)
            .filter(is_active=True, user__is_active=True)
            .select_related("user")
        )
