"""The admin's forms for booking, editing, canceling and annotating appointments."""

from typing import Any

from django import forms

from foundation.db.timestamps import truncate_to_ms
from leads.models import Lead
from leads.phones import parse_phone
from staff.appointments.schedule import ScheduleForm
from staff.figures.page import BY_TITLES
from staff.toolkit.custom_fields import CustomValuesForm
from staff.toolkit.fields import EmailField, LongTextField, TextField
from staff.toolkit.forms import WebAddressField, accepted_email
from statuses.models import Board


class BookingForm(ScheduleForm):
    lead_email = EmailField(
        required=False, label="or e-mail", help_text="A new lead is created if none has this e-mail."
    )
    lead_first_name = TextField(
        required=False, max_length=255, label="First name", help_text="Used only for a new lead."
    )
    lead_last_name = TextField(required=False, max_length=255, label="Last name", help_text="Used only for a new lead.")
    lead_phone = TextField(
        required=False, max_length=40, label="Phone", help_text="Used only if the lead has no phone yet."
    )
    meeting_url = WebAddressField(label="Meeting link")
    notes = LongTextField(required=False, label="Note")

    class Meta:
        help_texts = {
            "setter": "Defaults to the lead's setter.",
            "triager": BY_TITLES["triager"],
            "event_type": BY_TITLES["event_type"],
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The model requires a lead, but the form can do with an e-mail; for the event type it is the other way round.
        self.fields["lead"].required = False
        self.fields["event_type"].required = True

    def clean_lead_email(self) -> str:
        return accepted_email(self, "lead_email")

    def clean_lead_phone(self) -> str:
        """Refuse an unreadable number. The API ignores it, but staff can correct it."""
        text = str(self.cleaned_data["lead_phone"])
        if text and parse_phone(text, self.organization.default_country) is None:
            raise forms.ValidationError("Enter a valid phone number.")
        return text

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        if "lead" in self.errors or "lead_email" in self.errors:
            return cleaned
        if bool(cleaned.get("lead")) == bool(cleaned.get("lead_email")):
            self.add_error("lead", "Choose a lead or enter an e-mail, but not both.")
        return cleaned

    def set_lead(self) -> None:
        if email := self.cleaned_data.get("lead_email"):
            organization = self.organization
            self.instance.lead = Lead.objects.of(organization).with_email(organization.pk, email).first()

    def booking_data(self) -> dict[str, Any]:
        """Return the arguments of `book` as `BookingData` has them."""
        data = self.cleaned_data
        names = ["lead_phone", "meeting_url", "notes"]
        if not data["lead"]:
            names += ["lead_email", "lead_first_name", "lead_last_name"]
        # A form of a known lead has no field for a phone.
        values = {name: data.get(name, "") for name in names} | ({"lead_id": data["lead"].pk} if data["lead"] else {})
        members = {role: data[role] for role in ("host", "setter", "triager")}
        emails = {f"{role}_email": member.user.email for role, member in members.items() if member}
        return {
            **values,
            **emails,
            "id": self.instance.pk,
            "external_reference": None,
            "schedule_time": truncate_to_ms(data["schedule_time"]),
            "event_type_id": data["event_type"].pk,
        }


class AppointmentForm(ScheduleForm, CustomValuesForm):
    # Time and outcome are not among them: `edit_appointment` takes them as they are stored.
    service_fields = ("event_type", "call_category", "host", "setter", "triager", "meeting_url", "recording_url")

    meeting_url = WebAddressField(
        label="Meeting link",
        help_text="Another link sends the participants an update, and the lead an invitation if Messages to leads has "
        "one. A scheduler tells them about its own calls.",
    )
    recording_url = WebAddressField(label="Recording link")

    class Meta:
        help_texts = {
            "outcome": "Choosing a canceled status cancels the appointment and notifies its participants, and the lead "
            "if Messages to leads has a cancellation.",
            "schedule_time": "Changing the time reschedules the appointment and notifies its participants, and the "
            "lead if Messages to leads has a new time.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "outcome" in self.fields:
            outcome = self.fields["outcome"]
            outcome.queryset = outcome.queryset.choices(Board.APPOINTMENT, current=self.instance.outcome_id)
            # An appointment may have no outcome, but one that has an outcome can't lose it.
            outcome.required = self.instance.outcome_id is not None
