"""The form fields of a member's working hours and days off."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from organizations.working_hours import DEFAULT_WEEK, MAX_DAYS_OFF, WEEKDAYS, format_hours, parse_hours
from staff.toolkit.times import DATE_EXAMPLE, DayField

BUFFERS = {0: "None", 5: "5 minutes", 10: "10 minutes", 15: "15 minutes", 30: "30 minutes", 60: "1 hour"}


class HoursField(forms.CharField):
    """The hours of a day as text, such as 9-12, 13-18; an empty one is a day off."""

    def __init__(self, day: str) -> None:
        self.day = day
        super().__init__(required=False, max_length=100)

    def clean(self, value: Any) -> list[list[str]]:
        try:
            return parse_hours(super().clean(value))
        except ValueError as error:
            raise ValidationError(f"{self.day}: {error}") from None


class WeekWidget(forms.MultiWidget):
    template_name = "staff/week.html"

    def __init__(self) -> None:
        super().__init__([UnfoldAdminTextInputWidget(attrs={"aria-label": day}) for day in WEEKDAYS])

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        context = super().get_context(name, value, attrs)
        for day, subwidget in zip(WEEKDAYS, context["widget"]["subwidgets"], strict=True):
            subwidget["day"] = day
        return context

    def decompress(self, value: Any) -> list[str]:
        raise NotImplementedError  # the field has made texts of the stored value


class WeekField(forms.MultiValueField):
    """The hours of a week, as `Membership.working_hours` stores them: None for the default."""

    widget = WeekWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__([HoursField(day) for day in WEEKDAYS], require_all_fields=False, required=False, **kwargs)

    def prepare_value(self, value: Any) -> list[str]:
        """Return the texts of the days, from the stored value or from what was entered."""
        return [day if isinstance(day, str) else format_hours(day or []) for day in value or DEFAULT_WEEK]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed(self.prepare_value(initial), data))

    def compress(self, data_list: list[list[list[str]]]) -> list[list[list[str]]] | None:
        week = data_list or [[] for _ in WEEKDAYS]
        return None if week == DEFAULT_WEEK else week


class DaysOffField(forms.CharField):
    """Days off, one or from one to another in a line, as `Membership.days_off` stores them."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3, "placeholder": "24.12.2026 to 1.1.2027"})

    def prepare_value(self, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return value
        return "\n".join(first if first == last else f"{first} to {last}" for first, last in value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)

    def clean(self, value: Any) -> list[list[str]] | None:
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(lines) > MAX_DAYS_OFF:
            raise ValidationError(f"Enter at most {MAX_DAYS_OFF} lines. Delete those that are over.")
        return sorted(map(self.read, lines)) or None

    def read(self, line: str) -> list[str]:
        first_text, _, last_text = line.partition(" to ")
        try:
            first = DayField().clean(first_text)
            last = DayField().clean(last_text) if last_text else first
        except ValidationError:
            raise ValidationError(f"“{line[:40]}” is no day. {DATE_EXAMPLE}") from None
        if last < first:
            raise ValidationError(f"“{line[:40]}” ends before it begins.")
        return [first.isoformat(), last.isoformat()]
