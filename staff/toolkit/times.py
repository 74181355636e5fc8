"""The one control for a day and a time of the admin's forms, and for a day alone.

Both are native inputs: browsers show a day in the person's own format. What is typed may have other common forms.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, tzinfo
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from unfold.widgets import BASE_INPUT_CLASSES

from foundation.db.timestamps import get_zone, zone_names
from staff.toolkit.forms import validate_year

DATE_FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%a %d %b %Y"]
# The minutes have two digits, so that 130 is half past one.
CLOCK = re.compile(r"(\d{1,2})(?:[:.]?(\d\d)(?::(\d\d))?)?\s*([ap]m)?", re.ASCII | re.IGNORECASE)
DATE_EXAMPLE = "Enter a date such as 25.11.2026 or 2026-11-25."
TIME_EXAMPLE = "Enter a time such as 17:30 or 5pm."
ZONE = 2  # the position of the zone in the values of forms
QUARTERS = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in (0, 15, 30, 45)]


class DayInput(forms.DateInput):
    input_type = "date"

    def __init__(self, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__({"class": " ".join(BASE_INPUT_CLASSES), **(attrs or {})}, format="%Y-%m-%d")


class ClockField(forms.TimeField):
    default_error_messages = {"invalid": TIME_EXAMPLE}

    def strptime(self, value: str, format: str) -> time:
        """Read one of the common forms, regardless of the format. Raises ValueError."""
        match = CLOCK.fullmatch(value)
        if match is None:
            raise ValueError
        hour, minute, second = (int(digits or 0) for digits in match.groups()[:3])
        if half := match[4]:
            if not 1 <= hour <= 12:
                raise ValueError
            hour = hour % 12 + (12 if half.lower() == "pm" else 0)
        return time(hour, minute, second)


class DayField(forms.DateField):
    widget = DayInput
    default_validators = [validate_year]
    default_error_messages = {"invalid": DATE_EXAMPLE}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_formats=DATE_FORMATS, **kwargs)


class TimestampWidget(forms.SplitDateTimeWidget):
    """A day and a time, in quarters of an hour to choose from, and the time zone in which the page shows them.

    Its value has three texts. The zone matters if the person chooses another one while the page is open.

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
        zone = timezone.get_current_timezone_name()
        page_zone = value[ZONE] if isinstance(value, list) and is_other_zone(value) else zone
        about = self.about and json.dumps({"field": name} | {key: str(value) for key, value in self.about.items()})
        other = page_zone if page_zone != zone else ""
        return {
            **context,
            "list_id": list_id,
            "quarters": QUARTERS,
            "about": about,
            "zone": page_zone,
            "other_zone": other,
        }

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str | None]:
        """Return the texts of day and time. Links, and pages from before an upgrade, send both in one value."""
        day, _, clock = data.get(name, "").partition("T")
        texts = [day, clock] if day else super().value_from_datadict(data, files, name)
        return [*texts, data.get(f"{name}_zone")]

    def decompress(self, value: datetime | str | None) -> tuple[date | None, time | None]:
        """Return the day and the time without seconds, so that a field that isn't edited isn't changed.

        Of a text in an address that is no time, returns none.
        """
        try:
            day, clock = super().decompress(parse_datetime(value) if isinstance(value, str) else value)
        except (ValueError, OverflowError):
            return None, None
        return day, clock and clock.replace(second=0, microsecond=0)


class TimestampField(forms.SplitDateTimeField):
    """A day and a time in the user's time zone. A stored time that isn't changed stays exactly as it is."""

    widget = TimestampWidget
    default_validators = [validate_year]
    default_error_messages = {"invalid_date": DATE_EXAMPLE, "invalid_time": TIME_EXAMPLE}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_date_formats=DATE_FORMATS, **kwargs)
        clock = ClockField(input_formats=["%H:%M"])
        clock.required = False  # as the field's own parts: it says itself what is missing
        clock.error_messages["incomplete"] = self.error_messages["incomplete"]
        clock.disabled = self.disabled
        self.fields = (self.fields[0], clock)

    def has_changed(self, initial: Any, data: Any) -> bool:
        with timezone.override(zone_of_page(data)):
            return bool(super().has_changed(initial, data and data[:ZONE]))

    def clean(self, value: Any) -> datetime | None:
        with timezone.override(zone_of_page(value)):
            at: datetime | None = super().clean(value and value[:ZONE])
        return at

    def _clean_bound_field(self, bf: forms.BoundField) -> datetime | None:
        # Django refuses a time in the hour that a clock repeats, as it can't know which of the two is meant.
        unchanged: datetime | None = None if bf._has_changed() else bf.initial  # type: ignore[attr-defined]
        return unchanged or super()._clean_bound_field(bf)  # type: ignore[misc]


def zone_of_page(value: Sequence[str | None] | None) -> tzinfo:
    """Return the zone of the page that a form is from, or the current one if it has none that is known."""
    return get_zone(str(value[ZONE])) if value and is_other_zone(value) else timezone.get_current_timezone()


def is_other_zone(value: Sequence[str | None]) -> bool:
    """Return whether a value from a form names another zone than the current one."""
    name = value[ZONE] if len(value) > ZONE else None
    return name in zone_names() and name != timezone.get_current_timezone_name()


def show_times_about(field: forms.Field, **about: object) -> None:
    """Show local times, overlaps and free times beside a field; `about` as in `TimestampWidget`."""
    assert isinstance(field.widget, TimestampWidget)
    field.widget.about = about


def is_unambiguous(at: datetime) -> bool:
    """Return whether a clock in the current time zone shows this time once only, so that a form can say it."""
    local = timezone.localtime(at)
    return local.utcoffset() == local.replace(fold=1 - local.fold).utcoffset()
