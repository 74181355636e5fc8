"""List filters on django-filter. An invalid value is a 400 that names its parameter (docs/interface.md, G26 to G30).

A filter is one line of a `ListFilter`, and describes itself in the OpenAPI document. django-filter parses the values.
The statement is compiled once for each combination of filters, with a `Param` in place of each value; see
`page_queries`.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.db import models
from django.db.models import QuerySet
from django_filters import Filter, FilterSet

from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.api.fields import parse_timestamp, parse_uuid
from pipeline_backend.api.page_queries import (
    Order,
    PageQuery,
    SqlPart,
    count_of,
    count_small_first,
    index_order_page,
    merged_index_page,
    probe_then_sort_page,
    small_result_page,
)
from pipeline_backend.api.pagination import Errors
from pipeline_backend.api.sql_serializers import Schema, Tenant
from pipeline_backend.db.compiled import OpaqueParam, Param

DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
INDEXED_ORDER = "created_at"  # each filter's index has the rows in this order
END_OF_DAY = timedelta(days=1) - timedelta(milliseconds=1)


class QueryParameterField(forms.Field):
    """The form field of a query parameter; blank counts as absent."""

    def to_python(self, value: str | None) -> object:
        """Return the typed value, or None."""
        text = (value or "").strip()
        if "\x00" in text:  # PostgreSQL can't store or compare it
            raise forms.ValidationError("must not contain NUL characters")
        try:
            return self.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def parse(self, text: str) -> object:
        """Return the typed value; raises ValueError with a message such as "must be a UUID"."""
        return text


class DateTimeParameterField(QueryParameterField):
    """A date or a timestamp. A date stands for its first millisecond, or for its last with `end_of_day`."""

    def __init__(self, *args: Any, end_of_day: bool = False, **options: Any) -> None:
        self.end_of_day = end_of_day
        super().__init__(*args, **options)

    def parse(self, text: str) -> datetime:
        """Return the timestamp in UTC."""
        try:
            if DATE.fullmatch(text):
                return parse_timestamp(f"{text}T00:00:00Z") + (END_OF_DAY if self.end_of_day else timedelta())
            # The + of an offset arrives as a space from clients that don't encode it.
            return parse_timestamp(text.replace(" ", "+"))
        except ValueError:
            message = "must be a date (2027-01-05) or an ISO 8601 timestamp, in the years 1970 to 2100"
            raise ValueError(message) from None


class UUIDParameterField(QueryParameterField):
    """A UUID."""

    def parse(self, text: str) -> UUID:
        return parse_uuid(text)


class ChoiceParameterField(QueryParameterField):
    """One value of an enumeration, or several separated by commas unless `single`."""

    def __init__(self, *args: Any, choices: list[str], single: bool = False, **options: Any) -> None:
        self.choices = choices
        self.single = single
        super().__init__(*args, **options)

    def parse(self, text: str) -> str | list[str]:
        """Return the value, or a list if there are several different ones."""
        # The split is bounded, so that a request of a million commas costs nothing.
        values = [text] if self.single else text.split(",", len(self.choices) * 4)
        if not set(values) <= set(self.choices):
            raise ValueError(f"must be one of: {', '.join(self.choices)}")
        return values if len(set(values)) > 1 else values[0]


class QueryFilter(Filter):
    """Base class of filters: one query parameter, one condition."""

    field_class: ClassVar[type[QueryParameterField]] = QueryParameterField
    openapi: ClassVar[Schema] = {"type": "string"}
    default_help_text = ""

    def __init__(self, field_name: str, *, help_text: str = "", **options: Any) -> None:
        self.help_text = help_text or self.default_help_text
        super().__init__(field_name=field_name, required=False, **options)

    def schema(self) -> Schema:
        """Return the parameter's schema in the OpenAPI document."""
        return dict(self.openapi)


class DateTimeFromFilter(QueryFilter):
    """Rows at or after a timestamp."""

    field_class = DateTimeParameterField
    default_help_text = "At or after this time: a date (its start, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="gte")


class DateTimeToFilter(QueryFilter):
    """Rows at or before a timestamp."""

    field_class = DateTimeParameterField
    default_help_text = "At or before this time: a date (its end, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="lte", end_of_day=True)


class RelatedIdFilter(QueryFilter):
    """Rows that refer to a row of the organization by its id. An id that the organization doesn't have is a 400."""

    field_class = UUIDParameterField
    openapi: ClassVar[Schema] = {"type": "string", "format": "uuid"}

    def __init__(self, field_name: str, model: type[models.Model], *, help_text: str = "") -> None:
        super().__init__(field_name, help_text=help_text)
        self.related_model = model

    def id_exists(self, organization: Tenant, id: UUID) -> bool:
        """Return whether the organization has a row with this id."""
        rows = self.related_model.objects.of(organization)  # type: ignore[attr-defined]  # a tenant model's manager
        return bool(rows.filter(pk=id).exists())


class ChoiceFilter(QueryFilter):
    """Rows with any of the given values of an enumeration, separated by commas; with `single`, only one is accepted."""

    field_class = ChoiceParameterField

    def __init__(
        self, field_name: str, choices: type[models.TextChoices], *, single: bool = False, help_text: str = ""
    ) -> None:
        self.choices = list(choices.values)
        self.single = single
        default_help_text = "" if single else f"Comma-separated: any of {', '.join(self.choices)}."
        super().__init__(field_name, help_text=help_text or default_help_text, choices=self.choices, single=single)

    def filter(self, qs: QuerySet, value: Param) -> QuerySet:
        # Two different conditions, because only for a single value does an index have the rows in the list's order.
        return qs.filter(**{f"{self.field_name}__{'any' if value.is_list else 'exact'}": value})

    def schema(self) -> Schema:
        """Return the schema; with the enumeration if only one value is accepted."""
        return {"type": "string", **({"enum": self.choices} if self.single else {})}


class RelatedChoiceFilter(ChoiceFilter):
    """Rows that refer to rows with any of the given values: appointments by the role of their outcome."""

    def __init__(
        self, field_name: str, related_model: type[models.Model], column: str, choices: type[models.TextChoices]
    ) -> None:
        super().__init__(field_name, choices)
        self.related_model = related_model
        self.column = column

    def filter(self, qs: QuerySet, value: Param) -> QuerySet:
        return qs.filter(**{f"{self.field_name}__in": self.branches(value)})

    def branches(self, value: Param) -> QuerySet:
        """Return the related rows. For each single one of them an index has the list's rows in its order."""
        rows = self.related_model.objects.of(Param("organization"))  # type: ignore[attr-defined]  # a tenant model's
        return rows.filter(**{f"{self.column}__{'any' if value.is_list else 'exact'}": value})


class ListFilter(FilterSet):
    """Base class of a list's filters and order: newest first unless the parameter `ordering` says otherwise.

    Read `errors` before `page`.
    """

    orderings: ClassVar[list[str]] = ["created_at", "updated_at"]

    def __init__(self, query: Mapping[str, str], *, organization: Tenant) -> None:
        self.organization = organization
        self.query = query
        # Only the filters that the request uses: FilterSet copies them, and copying all takes longer than the query.
        self.base_filters = {
            name: filter for name, filter in self.declared_filters.items() if query.get(name, "").strip()
        }
        super().__init__(data=query, queryset=self._meta.model._base_manager)

    @property
    def errors(self) -> Errors:
        """The errors in the filters' parameters and in `ordering`, by parameter."""
        form_errors = self.form.errors if self.filters else {}
        errors = {name: [str(message) for message in messages] for name, messages in form_errors.items()}
        if self.ordering.removeprefix("-") not in self.orderings:
            errors["ordering"] = [f"must be one of: {', '.join(self.accepted_orderings())}"]
        return errors

    def page(self, offset: int, limit: int) -> tuple[int, list[UUID]]:
        """Return the total number of matching rows, and the ids of those on the page.

        Raises ValidationFailed for ids that the organization doesn't have.
        """
        values: dict[str, Any] = self.form.cleaned_data if self.filters else {}
        parameters = tuple((name, isinstance(value, list)) for name, value in sorted(values.items()))
        filter_class: Any = type(self)  # Any, because mypy thinks the class is unhashable
        query = plan_page(filter_class, parameters, self.ordering)
        total, ids = query.execute(offset, limit, {**values, "organization": self.organization.pk})
        if not total:
            # Checked only for an empty list, because it takes a query for each id. An id with rows in the list exists.
            self.require_known_ids(values)
        return total, ids

    def require_known_ids(self, values: dict[str, Any]) -> None:
        """Raise ValidationFailed if a parameter is an id that the organization doesn't have."""
        unknown = [
            name
            for name, filter in self.filters.items()
            if isinstance(filter, RelatedIdFilter) and not filter.id_exists(self.organization, values[name])
        ]
        if unknown:
            raise ValidationFailed({name: ["is not known in the organization"] for name in unknown})

    @classmethod
    def count_all(cls) -> SqlPart:
        """Return the query that counts the rows of an unfiltered list, as `total`."""
        return count_of(cls._meta.model.objects.of(Param("organization")))

    @property
    def ordering(self) -> str:
        """The column to order by, with a leading "-" for descending; not validated."""
        return self.query.get("ordering", "").strip() or "-created_at"

    @classmethod
    def accepted_orderings(cls) -> list[str]:
        """Return the accepted values of `ordering`: each column, ascending and descending."""
        return [sign + name for name in cls.orderings for sign in ("", "-")]

    @classmethod
    def parameters(cls) -> Iterator[tuple[str, Schema, str]]:
        """Yield name, schema and description of each parameter, for the OpenAPI document."""
        for name, filter in cls.declared_filters.items():
            yield name, filter.schema(), filter.help_text
        if cls.orderings:
            schema = {"type": "string", "enum": cls.accepted_orderings()}
            yield "ordering", schema, "Newest first (-created_at) by default."


@lru_cache(maxsize=512)
def plan_page(filter_class: type[ListFilter], parameters: tuple[tuple[str, bool], ...], ordering: str) -> PageQuery:
    """Return the statement for a combination of filters and an order.

    `parameters` has the name of each filter and whether its value is a list.
    """
    order = Order(ordering)
    declared = filter_class.declared_filters
    other_columns = {declared[name].field_name for name, _ in parameters} - {order.column}
    order_filters: list[tuple[QueryFilter, Param]] = []
    outside_order: list[tuple[QueryFilter, Param]] = []
    for name, is_list in parameters:
        # With one column in addition to the sort column only one index is usable, so hide the value from the planner:
        # it keeps the generic plan. With several columns the best index depends on the values.
        hide_value = len(other_columns) < 2 and not is_list
        param = OpaqueParam(name) if hide_value else Param(name, is_list=is_list)
        group = outside_order if declared[name].field_name in other_columns else order_filters
        group.append((declared[name], param))
    order_rows = apply_filters(filter_class._meta.model.objects.of(Param("organization")), order_filters)
    rows = apply_filters(order_rows, outside_order)

    if not parameters:
        return index_order_page(filter_class.count_all(), rows, order)
    if not outside_order:
        return index_order_page(count_small_first(rows), rows, order)
    if len(other_columns) > 1 or order.column != INDEXED_ORDER:
        return probe_then_sort_page(rows, order_rows, order)
    filter, param = outside_order[0]
    if isinstance(filter, DateTimeFromFilter | DateTimeToFilter):
        return small_result_page(rows, order_rows, order)
    if isinstance(filter, RelatedChoiceFilter):
        return merged_index_page(count_of(rows), filter.branches(param), order_rows, filter.field_name, order)
    if param.is_list:
        return probe_then_sort_page(rows, order_rows, order)
    return index_order_page(count_small_first(rows), rows, order)


def apply_filters(rows: QuerySet, filters: list[tuple[QueryFilter, Param]]) -> QuerySet:
    """Return the rows that match all of the filters."""
    for filter, param in filters:
        rows = filter.filter(rows, param)
    return rows
