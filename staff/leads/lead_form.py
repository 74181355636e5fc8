"""The form that adds and edits a lead."""

from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any

from django import forms
from django.db.models import Model
from django.utils.html import format_html

from appointments.services.leads import next_appointment_of
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import isoformat_z
from leads.models import Lead, TouchPointType
from leads.phones import parse_phone
from leads.services import next_step_to_come
from staff.leads import next_steps, record
from staff.toolkit.actions import row_url
from staff.toolkit.custom_fields import CustomValuesForm
from staff.toolkit.fields import TextField
from staff.toolkit.forms import accepted_email
from staff.toolkit.timeline import full_time
from statuses.models import Board

TOUCH_POINT = ("next_touch_point_at", "next_touch_point_type")


def touch_point_of(version: str) -> dict[str, Any]:
    """Return date and kind of the next step in a version of `LeadForm`; nothing for another text."""
    parts = version.split("/")
    if len(parts) != 3:
        return {}
    with suppress(ValueError):
        return dict(zip(TOUCH_POINT, (parse_timestamp(parts[1]) if parts[1] else None, parts[2] or None), strict=True))
    return {}


class LeadForm(CustomValuesForm):
    service_fields = (
        "email",
        "first_name",
        "last_name",
        "phone_e164",
        "setter",
        "status",
        "next_touch_point_at",
        "next_touch_point_type",
    )
    constraint_messages = {"one_lead_per_email": ("email", "This e-mail belongs to another lead.")}

    phone_e164 = TextField(
        label="Phone",
        required=False,
        empty_value=None,
        max_length=40,
        help_text="Without a country code (+), the number is read as one of the organization's country.",
    )

    hand_over_steps = next_steps.HandOverField()

    class Meta:
        help_texts = {
            "next_touch_point_at": "Before the next appointment and the open next steps. Once it has passed, the next "
            "of these replaces it."
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "status" in self.fields:
            status = self.fields["status"]
            status.queryset = status.queryset.choices(Board.LEAD, current=self.instance.status_id)
            status.required = not self.instance._state.adding
            status.help_text = "" if status.required else "If empty, the default status for new leads is used."

        if "next_touch_point_type" in self.fields:
            # As when the form was opened: a date that has passed since isn't one that the user has changed.
            self.initial.update(touch_point_of(str(self.data.get("version", ""))))
            # "Appointment" is that of the lead's next call, which is set by itself (L13).
            chosen, types = self.initial.get("next_touch_point_type"), self.fields["next_touch_point_type"]
            types.choices = [row for row in types.choices if row[0] in ("", chosen, *record.SET_BY_STAFF)]

        if self.instance.next_step_at is None:
            del self.fields["hand_over_steps"]

    def version_of(self, row: Model) -> str:
        """Return a hash of the values that the form can change, and the next step date, which can pass meanwhile."""
        names = {*self.service_fields, "phone_country", "custom_values"} - {*TOUCH_POINT}
        values = [field.value_from_object(row) for field in row._meta.concrete_fields if field.name in names]
        at, kind = (getattr(row, name) for name in TOUCH_POINT)
        return f"{sha256(repr(values).encode()).hexdigest()}/{isoformat_z(at) if at else ''}/{kind or ''}"

    def is_current(self, row: Model, version: str) -> bool:
        """Accept it if only the next step date differs and the user hasn't changed that: it can pass meanwhile."""
        stored, opened = self.version_of(row).split("/"), version.split("/")
        return stored == opened or (stored[0] == opened[0] and not self.changes_touch_point())

    def changes_touch_point(self) -> bool:
        return not {*TOUCH_POINT}.isdisjoint(self.changed_data)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        at, kind = (cleaned.get(name) for name in TOUCH_POINT)
        if not self.changes_touch_point() or self.errors:
            return cleaned
        if kind and not at:
            self.add_error(TOUCH_POINT[0], "Enter a date, or choose no kind.")
        elif not self.instance._state.adding:
            self.check_touch_point(cleaned, at, kind)
        return cleaned

    def check_touch_point(self, cleaned: dict[str, Any], at: datetime | None, kind: str | None) -> None:
        """Refuse a date that isn't the earliest one; put that one in the place of none (docs/interface.md, L13)."""
        lead = self.instance
        call, (step, step_kind) = next_appointment_of(lead), next_step_to_come(lead)
        earliest = min(filter(None, (call, step)), default=None)
        if at is None:
            earliest_kind = TouchPointType.APPOINTMENT if earliest == call else step_kind
            cleaned |= dict(zip(TOUCH_POINT, (earliest, earliest_kind if earliest else None), strict=True))
        elif kind == TouchPointType.APPOINTMENT:
            self.add_error(TOUCH_POINT[0], "The appointment is at another time. Reschedule it, or choose another kind.")
        elif earliest and at >= earliest:
            what = "appointment" if earliest == call else "next step"
            text = f"Enter a time before the {what} at {full_time(earliest)}, or use the button “Next step …”."
            self.add_error(TOUCH_POINT[0], text)

    def clean_email(self) -> str:
        email = accepted_email(self, "email")
        others = Lead.objects.of(self.organization).exclude(pk=self.instance.pk)
        other = others.with_email(self.organization.pk, email).first() if "email" in self.changed_data else None
        if other:
            link = format_html('<a class="underline" href="{}">{}</a>', row_url(other), other)
            raise forms.ValidationError(format_html("This e-mail belongs to another lead: {}.", link))
        return email

    def clean_phone_e164(self) -> str | None:
        """Return the number as E.164, and set the country on the instance."""
        text = self.cleaned_data["phone_e164"]
        # A number that version 0.2 has stored and would be refused today must not prevent other changes.
        if "phone_e164" not in self.changed_data:
            return self.instance.phone_e164
        phone = parse_phone(text, self.organization.default_country) if text else None
        if text and phone is None:
            raise forms.ValidationError("Enter a valid phone number.")
        self.instance.phone_country = phone.country if phone else None
        return phone.e164 if phone else None

    def changed_values(self) -> dict[str, Any]:
        values = super().changed_values()
        if "phone_e164" in values:
            values["phone_country"] = self.instance.phone_country
        return values
