"""The one control for a day and a time of the admin's forms, and for a day alone.

Both are native inputs: browsers show a day in the person's own format. What is typed may have other common forms.
"""

import json
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from django import forms
from django.utils import timezone
from unfold.widgets import BASE_INPUT_CLASSES

from staff.toolkit.forms import validate_year

DATE_FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%a %d %b %Y"]
# strptime reads "17" as %H%M, too: as seven past one.
TIME_FORMATS = ["%H:%M", "%H:%M:%S", "%H.%M", "%I%p", "%I %p", "%I:%M%p", "%I:%M %p", "%I.%M%p", "%H", "%H%M"]
DATE_EXAMPLE = "Enter a date such as 25.11.2026 or 2026-11-25."
TIME_EXAMPLE = "Enter a time such as 17:30 or 5pm."
QUARTERS = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 15, 30, 45)]


class DayInput(forms.DateInput):
    input_type = "date"

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": " ".join(BASE_INPUT_CLASSES), **(attrs or {})}, format="%Y-%m-%d")


class DayField(forms.DateField):
    widget = DayInput
    default_validators = [validate_year]
    default_error_messages = {"invalid": DATE_EXAMPLE}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_formats=DATE_FORMATS, **kwargs)


class TimestampWidget(forms.SplitDateTimeWidget):
    """A day and a time, in quarters of an hour to choose from.

    `about` says what the times beside it are about: the ids of the organization, the lead and the appointment, and
    the minutes of a call, as far as the form has no fields for them. Without it there are none.
    """

    template_name = "staff/timestamp.html"
    about: Mapping[str, object] | None = None

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        time_attrs = {"aria-label": "Time", "autocomplete": "off", "class": " ".join(BASE_INPUT_CLASSES)}
        widgets = (DayInput({"aria-label": "Date"}), forms.TimeInput(time_attrs, format="%H:%M"))
        forms.MultiWidget.__init__(self, widgets, attrs)

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        list_id = f"{context['widget']['attrs'].get('id', name)}_quarters"
        context["widget"]["subwidgets"][1]["attrs"]["list"] = list_id
        about = self.about and json.dumps({"field": name} | {key: str(value) for key, value in self.about.items()})
        return {**context, "list_id": list_id, "quarters": QUARTERS, "about": about}

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str | None]:
        """Return the texts of day and time. Links, and pages from before an upgrade, send both in one value."""
        day, _, clock = data.get(name, "").partition("T")
        return [day, clock] if day else super().value_from_datadict(data, files, name)

    def decompress(self, value: datetime | None) -> tuple[date | None, time | None]:
        """Return the day and the time without seconds, so that a field that isn't edited isn't changed."""
        day, clock = super().decompress(value)
        return day, clock and clock.replace(second=0, microsecond=0)


class TimestampField(forms.SplitDateTimeField):
    """A day and a time in the user's time zone. A stored time that isn't changed stays exactly as it is."""

    widget = TimestampWidget
    default_validators = [validate_year]
    default_error_messages = {"invalid_date": DATE_EXAMPLE, "invalid_time": TIME_EXAMPLE}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_date_formats=DATE_FORMATS, input_time_formats=TIME_FORMATS, **kwargs)

    def _clean_bound_field(self, bf: forms.BoundField) -> datetime | None:
        # Django refuses a time in the hour that a clock repeats, as it can't know which of the two is meant.
        unchanged: datetime | None = None if bf._has_changed() else bf.initial  # type: ignore[attr-defined]
        return unchanged or super()._clean_bound_field(bf)  # type: ignore[misc]


def show_times_about(field: forms.Field, **about: object) -> None:
    """Show local times, overlaps and free times beside a field; `about` as in `TimestampWidget`."""
    assert isinstance(field.widget, TimestampWidget)
    field.widget.about = about


def is_unambiguous(at: datetime) -> bool:
    """Return whether a clock in the current time zone shows this time once only, so that a form can say it."""
    local = timezone.localtime(at)
    return local.utcoffset() == local.replace(fold=1 - local.fold).utcoffset()
