"""Form fields with Unfold's widgets."""

from typing import Any

from django import forms
from django.utils.text import normalize_newlines
from unfold import widgets


class TextField(forms.CharField):
    widget = widgets.UnfoldAdminTextInputWidget


class LongTextField(forms.CharField):
    """A text of several lines. Line breaks as browsers send them, and white space at its ends, make no other text."""

    def __init__(self, *, max_length: int | None = 10_000, rows: int | None = None, **options: Any) -> None:
        widget = widgets.UnfoldAdminTextareaWidget(attrs={"rows": rows} if rows else None)
        super().__init__(max_length=max_length, **{"widget": widget, **options})

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return normalize_newlines(text) if isinstance(text, str) else text

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(super().has_changed(self.to_python(initial), self.to_python(data)))


class EmailInput(widgets.UnfoldAdminEmailInputWidget):
    """A text for browsers: from a field of the type email, some send another form of an international domain."""

    input_type = "text"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"inputmode": "email", "autocapitalize": "none", "spellcheck": "false", **(attrs or {})})


class EmailField(forms.EmailField):
    widget = EmailInput


class SelectField(forms.ChoiceField):
    widget = widgets.UnfoldAdminSelectWidget


class RowField(forms.ModelChoiceField):
    widget = widgets.UnfoldAdminSelectWidget


class CheckboxesField(forms.MultipleChoiceField):
    widget = widgets.UnfoldAdminCheckboxSelectMultipleWidget
