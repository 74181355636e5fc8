"""Form fields with Unfold's widgets."""

from typing import Any

from django import forms
from unfold import widgets


class TextField(forms.CharField):
    widget = widgets.UnfoldAdminTextInputWidget


class LongTextField(forms.CharField):
    def __init__(self, *, max_length: int | None = 10_000, rows: int | None = None, **options: Any) -> None:
        widget = widgets.UnfoldAdminTextareaWidget(attrs={"rows": rows} if rows else None)
        super().__init__(max_length=max_length, widget=widget, **options)


class EmailField(forms.EmailField):
    widget = widgets.UnfoldAdminEmailInputWidget


class SelectField(forms.ChoiceField):
    widget = widgets.UnfoldAdminSelectWidget


class RowField(forms.ModelChoiceField):
    widget = widgets.UnfoldAdminSelectWidget


class CheckboxesField(forms.MultipleChoiceField):
    widget = widgets.UnfoldAdminCheckboxSelectMultipleWidget
