"""Forms and form fields of the admin."""

from datetime import date
from hashlib import sha256
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminURLInputWidget
from uuid_utils.compat import uuid7

from foundation.api.emails import IS_ERASED, NOT_ASCII, parse_email
from foundation.api.fields import YEARS, parse_http_url
from foundation.db.timestamps import isoformat_z
from organizations.versions import VersionedModel
from staff.toolkit.actions import add_form_errors

EMAIL_PROBLEMS = {
    NOT_ASCII: "Use only ASCII characters before the @.",
    IS_ERASED: "This is the address of an erased lead.",
}


def validate_year(day: date) -> None:
    if day.year not in YEARS:
        raise ValidationError(f"Enter a year from {YEARS[0]} to {YEARS[-1]}.")


def check_new_id(id: UUID) -> None:
    if id.version != 7:  # all rows have this kind
        raise ValidationError("Open the form again.")


class NewIdField(forms.UUIDField):
    """The id of the row to add, chosen when the form is shown: a form sent twice adds one row."""

    def __init__(self) -> None:
        super().__init__(required=False, initial=uuid7, widget=forms.HiddenInput, validators=[check_new_id])


class ServiceForm(forms.ModelForm):
    """A form that can show the error of a service, which runs after the form's own validation.

    It refuses to overwrite a row that someone else has changed since the form was opened.
    """

    fields: dict[str, Any]  # of any kind: `forms.Field` has no `queryset`
    page: ClassVar[Any]  # the ServiceAdmin that shows the form
    request: ClassVar[HttpRequest]
    new_id = NewIdField()
    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.fields.pop("version")
        else:
            self.fields.pop("new_id")
            self.initial["version"] = self.version_of(self.instance)

    def version_of(self, row: Model) -> str:
        """Return the time of the row's last change, or without one a hash of the values that the form can change."""
        if isinstance(row, VersionedModel):
            return isoformat_z(row.updated_at)
        fields = [field for field in row._meta.concrete_fields if field.name in self.base_fields]
        return sha256(repr([field.value_from_object(row) for field in fields]).encode()).hexdigest()

    def is_current(self, row: Model, version: str) -> bool:
        """Return whether the row, which is locked, may be overwritten by a form that was opened with this version."""
        return self.version_of(row) == version

    def lock_row(self) -> Model:
        """Return the stored row, which stays locked until this save ends."""
        # no_key: foreign keys to the row can still be checked while it is locked.
        return type(self.instance)._base_manager.select_for_update(no_key=True).get(pk=self.instance.pk)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if "version" in self.fields and not self.is_current(self.lock_row(), cleaned.get("version", "")):
            raise ValidationError(
                "Someone else has changed this record since you opened it. Nothing was saved: reload the page and "
                "enter your changes again."
            )
        return cleaned

    def clean_new_id(self) -> UUID | None:
        new_id: UUID | None = self.cleaned_data["new_id"]
        self.instance.pk = new_id or self.instance.pk
        return new_id

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.page.service_error:
            add_form_errors(self, self.page.service_error)


def accepted_email(form: forms.BaseForm, name: str) -> str:
    """Return the e-mail address in the form's field as `parse_email` does, or unchanged if the person didn't edit it.

    Raises ValidationError for an address that the API refuses.
    """
    text = str(form.cleaned_data[name]).strip()
    if not text or name not in form.changed_data:
        return text
    try:
        return parse_email(text)
    except ValueError as error:
        raise ValidationError(EMAIL_PROBLEMS.get(str(error), "Enter an e-mail address.")) from None


URL_PROBLEM = "Enter an http or https URL. Quotes, <, >, backslashes and invisible characters aren't allowed."


def validate_url(text: str) -> None:
    """Raise ValidationError for what the API refuses."""
    try:
        parse_http_url(text)
    except ValueError:
        raise ValidationError(URL_PROBLEM) from None


class WebAddressField(forms.URLField):
    """An http or https URL with the API's limits; None when empty."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_length=2048,
            assume_scheme="https",
            required=False,
            empty_value=None,
            widget=UnfoldAdminURLInputWidget,
            **kwargs,
        )
        self.validators = [validate_url]
