"""Choices for a typed term, among the rows that the user may see."""

from django.contrib.admin import ModelAdmin
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.core.exceptions import PermissionDenied
from django.db.models import ForeignKey, Model
from django.http import HttpRequest


class LabeledAutocomplete(AutocompleteJsonView):
    def process_request(self, request: HttpRequest) -> tuple[str, ModelAdmin, ForeignKey, str]:
        term, model_admin, source_field, to_field_name = super().process_request(request)
        # A hand-made request can name a reverse relation, on which Django fails with a server error.
        if source_field.auto_created:
            raise PermissionDenied
        return term, model_admin, source_field, to_field_name

    def serialize_result(self, obj: Model, to_field_name: str) -> dict[str, str]:
        """Return a choice with the label that the model's page defines in `choice_label`, if it does."""
        label = getattr(self.model_admin, "choice_label", str)
        return super().serialize_result(obj, to_field_name) | {"text": label(obj)}
