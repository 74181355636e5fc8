"""The labels of sources, also where a row has a source's name without referring to the source."""

from typing import Any

from django.db.models import F, OuterRef, Subquery, TextField, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.http import HttpRequest

from foundation.db.names import fold_name
from leads.models import SOURCE_LABELS, Source
from staff.toolkit.export import Column, labels
from staff.toolkit.filters import ChoicesFilter


def source_label() -> Subquery:
    """Return the annotation `source_label` of rows with `source`: the organization's label for it, or None."""
    named = Source.objects.of(OuterRef("organization")).exclude(label="").filter(name_key=Lower(OuterRef("source")))
    return Subquery(named.values("label")[:1])


def source_of(row: Any) -> str:  # of a model with `source`
    if "source_label" not in row.__dict__:
        named = Source.objects.of(row.organization).filter(name_key=fold_name(row.source))
        row.source_label = named.values_list("label", flat=True).first()
    return str(row.source_label or row.get_source_display())


class SourceNameFilter(ChoicesFilter):
    """A filter by the column `source`, with the labels of the page's organizations."""

    def __init__(self, field: Any, request: HttpRequest, params: Any, model: Any, page: Any, field_path: str) -> None:
        super().__init__(field, request, params, model, page, field_path)
        names = {fold_name(str(value)): str(value) for value, _ in field.flatchoices}
        rows = page.visible_rows(request, Source).filter(name_key__in=names).exclude(label="")
        self.labels = {names[key]: label for key, label in rows.values_list("name_key", "label")}

    def offered(self) -> list[tuple[str, str]]:
        return [(value, self.labels.get(value, name)) for value, name in super().offered()]


def source_name_column(header: str, choices: Any) -> Column:
    """Return the column of a file with the labels of the column `source`."""
    return Column(header, Coalesce(source_label(), "source", output_field=TextField()), labels(choices))


def source_column(header: str, name: str) -> Column:
    """Return the column of a file with the labels of the sources that `name` refers to."""
    given = Coalesce(NullIf(F(f"{name}__label"), Value("")), F(f"{name}__name"))
    return Column(header, given, labels(SOURCE_LABELS.items()))
