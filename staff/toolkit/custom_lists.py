"""Custom fields in lists: a filter for each, and columns to choose.

The parameters of the field's filter begin with `custom_<id>`: the name itself has values of choices, `none` for rows
without one; `_has` a part of a text, `_from` and `_to` the bounds of a number or a date.
"""

from collections.abc import Callable, Iterator
from datetime import date
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import widgets
from unfold.contrib.filters.forms import DropdownForm

from foundation.db.expressions import is_any_of
from leads.custom_values import MAX_EXACT_INTEGER, find_with_values
from leads.models import CustomField
from staff.toolkit.actions import AnyPage
from staff.toolkit.custom_fields import FIELD_NAME, JsonValue, form_field_name
from staff.toolkit.filters import MAX_VALUES, NONE, FormFilter
from staff.toolkit.lists import (
    MAX_COUNT,
    MAX_SEARCH_LENGTH,
    NOTHING,
    describe_days,
    parse_day,
    to_uuid,
    typed,
)
from staff.toolkit.tenant import has_several_organizations

MAX_SHOWN = 80  # characters of a text in a cell
MAX_FIELDS = 5  # that a list is filtered by: each may have to read `SEARCHED` rows
SEARCHED = 250_000  # of the newest rows, for a part of a text or bounds that few rows match: no index finds them
EMPTY = "Empty"
TYPE = CustomField.Type
# What can be entered, by the ends of the parameters' names.
ENDS = {"_has": "contains", "_from": "from", "_to": "to"}
ATTRIBUTES: dict[str, dict[str, str]] = {TYPE.NUMBER: {"inputmode": "decimal"}, TYPE.DATE: {"type": "date"}}


def listed_fields(page: AnyPage, request: HttpRequest) -> list[CustomField]:
    """Return the custom fields of the list: for users of several organizations, those of the one it is filtered by."""
    known: dict[object, list[CustomField]] = request.__dict__.setdefault("listed_fields", {})
    if page.entity not in known:
        rows = page.visible_rows(request, CustomField).filter(entity=page.entity)
        if has_several_organizations(request):
            chosen = request.GET.getlist("organization__id__exact")
            rows = rows.filter(organization=to_uuid(chosen[0])) if len(chosen) == 1 else rows.none()
        known[page.entity] = list(rows.order_by("position", "key"))
    return known[page.entity]


def unlisted_filters(page: AnyPage, request: HttpRequest) -> list[str]:
    """Return the parameters of deleted custom fields, and of an organization that the list isn't filtered by."""
    listed = tuple(form_field_name(field.pk) for field in listed_fields(page, request))
    return [name for name in request.GET if FIELD_NAME.match(name) and not name.startswith(listed)]


class CustomFilter(FormFilter):
    """A filter by a custom field. Few rows with a chosen value are found by an index, many are met in any order."""

    is_cut = False  # older rows were not searched

    def __init__(self, field: CustomField, request: HttpRequest, params: Any, model: Any, page: AnyPage) -> None:
        self.field, self.title = field, field.label
        self.path, self.name = f"custom_values__{field.pk}", form_field_name(field.pk)
        bounds = ["_from", "_to"] if field.type in (TYPE.NUMBER, TYPE.DATE) else []
        self.ends = ["_has"] if field.type == TYPE.TEXT else bounds
        self.names = [self.name, *(f"{self.name}{end}" for end in self.ends)]
        super().__init__(request, params, model, page)

    @property
    def options(self) -> list[tuple[str, str]]:
        """The values of a choice, as they are in the address, and their labels."""
        if self.field.type == TYPE.BOOLEAN:
            return [("1", "Yes"), ("0", "No")]
        # An option may have the text that stands for rows without a value.
        escaped = {f"={text}" if text == NONE or text.startswith("=") else text: text for text in self.field.options}
        return list(escaped.items())

    def values(self) -> list[str]:
        return list(dict.fromkeys(self.given.get(self.name, ())))

    def part(self, end: str) -> str:
        return self.text(f"{self.name}{end}")

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        """Return the form: the choice, or what can be entered and whether there is a value at all."""
        data = {name: self.text(name) for name in self.names} | ({} if self.ends else {self.name: self.values()})
        label = f"{self.title} is" if self.ends else self.title
        options = [("", "Any"), (NONE, EMPTY)] if self.ends else [(NONE, EMPTY), *self.options]
        form = DropdownForm(name=self.name, label=label, choices=options, data=data, multiple=not self.ends)
        for end in self.ends:
            widget = widgets.UnfoldAdminTextInputWidget(ATTRIBUTES.get(self.field.type))
            field = forms.CharField(max_length=MAX_SEARCH_LENGTH, label=self.label(end), required=False, widget=widget)
            form.fields[f"{self.name}{end}"] = field
        form.order_fields(self.names[1:])
        yield {"form": form}

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with such values. Raises IncorrectLookupParameters for values that can't be ones.

        Raises Unreadable for a bound.
        """
        values, condition = self.values(), Q()
        chosen: list[Any] = [text.removeprefix("=") for text in values if text != NONE]
        if len(values) > MAX_VALUES or (chosen and self.ends) or len(self.part("_has")) > MAX_SEARCH_LENGTH:
            raise IncorrectLookupParameters
        if self.field.type == TYPE.BOOLEAN:
            chosen = [text == "1" for text in chosen]
        if NONE in values:
            condition |= Q(**{f"{self.path}__isnull": True})
        if chosen:
            condition |= Q(**{f"{self.path}__in": chosen})
        for end, lookup in (("_has", "icontains"), ("_from", "gte"), ("_to", "lte")):
            if text := self.part(end):
                condition &= Q(**{f"{self.path}__{lookup}": text if end == "_has" else self.bound(end, text)})
        found = rows.filter(condition)
        if chosen and NONE not in values:
            ids = find_with_values(self.field, chosen, MAX_COUNT + 1)
        else:
            # Few matches among many rows are looked for once, and not again for each statement of the list.
            searched = self.newest(found) if any(map(self.part, self.ends)) else found
            ids = list(searched.order_by().values_list("pk", flat=True)[: MAX_COUNT + 1]) if condition else []
        self.is_cut = self.is_cut and len(ids) <= MAX_COUNT
        return rows.filter(is_any_of("pk", ids)) if condition and len(ids) <= MAX_COUNT else found

    def newest(self, found: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of the found rows that are among the organization's newest."""
        newest = found.model._base_manager.filter(organization=self.field.organization_id).order_by("-created_at")
        for oldest in newest.values_list("created_at", flat=True)[SEARCHED : SEARCHED + 1]:
            self.is_cut, found = True, found.filter(created_at__gt=oldest)
        return found

    def label(self, end: str) -> str:
        return f"{self.title} {ENDS[end]}"

    def bound(self, end: str, text: str) -> JsonValue:
        with typed(f"{self.name}{end}", self.label(end), text):
            if self.field.type == TYPE.DATE:
                return parse_day(text, of_any_year=True).isoformat()
            try:
                number: float = forms.FloatField().clean(text)
            except ValidationError:
                raise IncorrectLookupParameters("Enter a number such as 1500 or 12.5.") from None
        return number

    def describe(self) -> str:
        options = {**dict(self.options), NONE: EMPTY}
        chosen = ", ".join(options.get(value, value.removeprefix("=")) for value in self.values())
        first, last, part = (self.part(end) for end in ("_from", "_to", "_has"))
        if self.field.type == TYPE.DATE:
            bounds = describe_days(first, last)
        else:
            bounds = " ".join(text for text in (first and f"from {first}", last and f"to {last}") if text)
        cut = f"in the newest {SEARCHED:,}" if self.is_cut else ""
        return ", ".join(text for text in (part and f"contains “{part}”", bounds, chosen, cut) if text)


def custom_filters(page: AnyPage, request: HttpRequest) -> list[Callable[..., CustomFilter]]:
    """Return the filters of all custom fields, or only those in use if they are as many as a list may have."""
    fields = listed_fields(page, request)
    parameters = tuple(name for name, text in request.GET.items() if text)
    used = [field for field in fields if any(name.startswith(form_field_name(field.pk)) for name in parameters)]
    return [partial(CustomFilter, field) for field in (used[:MAX_FIELDS] if len(used) >= MAX_FIELDS else fields)]


def custom_columns(page: AnyPage, request: HttpRequest) -> list[Callable[[Any], object]]:
    return [custom_column(field) for field in listed_fields(page, request)]


def custom_column(field: CustomField) -> Callable[[Any], object]:
    def show(row: Any) -> object:
        return cell(field, row.custom_values.get(str(field.pk)))

    column: Any = show
    column.key = column.__name__ = form_field_name(field.pk)
    column.short_description = field.label
    return show


def in_words(field: CustomField, value: JsonValue) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, int | float):
        return number_format(value, force_grouping=True) if abs(value) <= MAX_EXACT_INTEGER else str(value)
    return date_format(date.fromisoformat(value), "j M Y") if field.type == TYPE.DATE else value


def cell(field: CustomField, value: JsonValue) -> SafeString | str:
    text = in_words(field, value)
    if len(text) <= MAX_SHOWN:
        return text
    return format_html('<span title="{}">{}…</span>', text[: MAX_SHOWN * 5], text[:MAX_SHOWN])
