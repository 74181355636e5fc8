"""List filters on django-filter: a bad value is a 400 that names its parameter (decision 6).

A filter is one line of a `ListFilter`; it always starts from a queryset of one organization, and describes itself to
the OpenAPI document. django-filter reads the values; the statement is compiled once for each combination of filters,
with a slot in the place of each value (`cutting`).
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
    count_few_first,
    count_of,
    index_order_page,
    merged_index_page,
    probe_then_sort_page,
    small_result_page,
)
from pipeline_backend.db.compiled import OpaqueParam, Param

DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
INDEXED = "created_at"  # the order in which an index has the rows of each filter
DAY = timedelta(days=1) - timedelta(milliseconds=1)


class QueryParameterField(forms.Field):
    """A query parameter's text; blank counts as absent."""

    def to_python(self, value: Any) -> Any:
        """The typed value."""
        text = (value or "").strip()
        if "\x00" in text:
            raise forms.ValidationError("must not contain NUL characters")
        try:
            return self.read(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None

    def read(self, text: str) -> Any:
        """The typed value, or a ValueError whose text is a predicate."""
        return text


class MomentParameter(QueryParameterField):
    """A date, or a timestamp whose offset's + may have become a space on its way."""

    def __init__(self, *args: Any, end_of_day: bool = False, **options: Any) -> None:
        self.end_of_day = end_of_day
        super().__init__(*args, **options)

    def read(self, text: str) -> datetime:
        """The moment; a date stands for its first or its last millisecond."""
        if not DATE.fullmatch(text):
            return self.whole(text.replace(" ", "+"))
        return self.whole(f"{text}T00:00:00Z") + (DAY if self.end_of_day else timedelta())

    def whole(self, text: str) -> datetime:
        """The moment, or what would be one."""
        try:
            return parse_timestamp(text)
        except ValueError:
            raise ValueError(
                "must be a date (2027-01-05) or an ISO 8601 timestamp, in the years 1970 to 2100"
            ) from None


class UuidParameter(QueryParameterField):
    """A UUID."""

    def read(self, text: str) -> Any:
        """The UUID."""
        return parse_uuid(text)


class MembersParameter(QueryParameterField):
    """Comma-separated members of an enumeration."""

    def __init__(self, *args: Any, accepted: list[str], most: int | None = None, **options: Any) -> None:
        self.accepted = accepted
        self.most = most
        super().__init__(*args, **options)

    def read(self, text: str) -> str | list[str]:
        """The member, or the members."""
        members = text.split(",", len(self.accepted) * 4)
        if self.most == 1 and members != [text]:
            members = [text]
        if not set(members) <= set(self.accepted):
            raise ValueError(f"must be one of: {', '.join(self.accepted)}")
        return members if len(set(members)) > 1 else members[0]


class QueryFilter(Filter):
    """Base of our filters: one parameter, one condition, one description."""

    field_class: ClassVar[type[QueryParameterField]] = QueryParameterField
    shown: ClassVar[dict[str, Any]] = {"type": "string"}
    summary = ""

    def __init__(self, field_name: str, *, help: str = "", **options: Any) -> None:
        self.help = help or self.summary
        super().__init__(field_name=field_name, required=False, **options)

    def describe(self) -> dict[str, Any]:
        """The parameter's schema."""
        return dict(self.shown)


class DateTimeFromFilter(QueryFilter):
    """At or after."""

    field_class = MomentParameter
    summary = "At or after this moment: a date (its start, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="gte")


class DateTimeToFilter(QueryFilter):
    """At or before."""

    field_class = MomentParameter
    summary = "At or before this moment: a date (its end, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="lte", end_of_day=True)


class RelatedIdFilter(QueryFilter):
    """The id of a row of this organization; any other id is a 400."""

    field_class = UuidParameter
    shown: ClassVar[dict[str, Any]] = {"type": "string", "format": "uuid"}

    def __init__(self, field_name: str, model: type[models.Model], *, help: str = "") -> None:
        super().__init__(field_name, help=help)
        self.related = model

    def knows(self, organization: Any, id: UUID) -> bool:
        """Whether the organization has it."""
        known: bool = self.related.objects.of(organization).filter(pk=id).exists()  # type: ignore[attr-defined]
        return known


class ChoiceFilter(QueryFilter):
    """Any of an enumeration's members, comma-separated."""

    field_class = MembersParameter

    def __init__(
        self, field_name: str, choices: type[models.TextChoices], *, single: bool = False, help: str = ""
    ) -> None:
        self.accepted = list(choices.values)
        self.single = single
        summary = "" if single else f"Comma-separated: any of {', '.join(self.accepted)}."
        super().__init__(field_name, help=help or summary, accepted=self.accepted, most=1 if single else None)

    def filter(self, qs: QuerySet[Any], value: Param) -> QuerySet[Any]:
        """The rows with the member, or with any of several: two statements, because only of one the index knows the order."""
        return qs.filter(**{f"{self.field_name}__{'any' if value.is_list else 'exact'}": value})

    def describe(self) -> dict[str, Any]:
        """With the values, where one is allowed."""
        return {"type": "string", **({"enum": self.accepted} if self.single else {})}


class RelatedChoiceFilter(ChoiceFilter):
    """Any of an enumeration's members, by the rows of another table that have them: appointments by their outcome's role."""

    def __init__(
        self, field_name: str, related: type[models.Model], column: str, choices: type[models.TextChoices]
    ) -> None:
        super().__init__(field_name, choices)
        self.related = related
        self.column = column

    def filter(self, qs: QuerySet[Any], value: Param) -> QuerySet[Any]:
        """The rows that point at one of them."""
        return qs.filter(**{f"{self.field_name}__in": self.branches(value)})

    def branches(self, value: Param) -> QuerySet[Any]:
        """The other table's rows: of each one alone the index knows the order."""
        rows: QuerySet[Any] = self.related.objects.of(Param("organization"))  # type: ignore[attr-defined]
        return rows.filter(**{f"{self.column}__{'any' if value.is_list else 'exact'}": value})


class ListFilter(FilterSet):
    """The filters of one list, and its order: newest first unless `ordering` says otherwise."""

    orderings: ClassVar[list[str]] = ["created_at", "updated_at"]

    def __init__(self, query: Mapping[str, str], *, organization: Any) -> None:
        self.organization = organization
        self.query = query
        # Of the filters only those that are asked for: copying them all takes longer than the rest of the request.
        self.base_filters = {name: line for name, line in self.declared_filters.items() if query.get(name, "").strip()}
        super().__init__(data=query, queryset=self._meta.model._base_manager)

    def problems(self) -> dict[str, list[str]]:
        """What is wrong with the parameters, by their names."""
        found = (
            {name: [str(item) for item in items] for name, items in self.form.errors.items()} if self.filters else {}
        )
        if self.ordering.removeprefix("-") not in self.orderings:
            found["ordering"] = [f"must be one of: {', '.join(self.accepted_orderings())}"]
        return found

    def cut(self, start: int, limit: int) -> tuple[int, list[UUID]]:
        """How many rows are asked for, and the ids of a part of them; ask for `problems` first."""
        values: dict[str, Any] = self.form.cleaned_data if self.filters else {}
        lines: Any = type(self)
        cut = plan_page(
            lines, tuple((name, isinstance(value, list)) for name, value in sorted(values.items())), self.ordering
        )
        total, ids = cut.run(start, limit, {**values, "organization": self.organization.pk})
        if not total:
            self.refuse_unknown(values)
        return total, ids

    def refuse_unknown(self, values: dict[str, Any]) -> None:
        """400 for ids that the organization does not have. Asked only where nothing was found: of what has rows, it has the id."""
        known = {name: line for name, line in self.filters.items() if isinstance(line, RelatedIdFilter)}
        unknown = [name for name, line in known.items() if not line.knows(self.organization, values[name])]
        if unknown:
            raise ValidationFailed({name: ["is not known in the organization"] for name in unknown})

    @classmethod
    def count_all(cls) -> SqlPart:
        """A statement for the number of all rows, named `total`, and its slots."""
        return count_of(cls._meta.model.objects.of(Param("organization")))

    @property
    def ordering(self) -> str:
        """The column to order by."""
        return self.query.get("ordering", "").strip() or "-created_at"

    @classmethod
    def accepted_orderings(cls) -> list[str]:
        """Each column, up and down."""
        return [sign + name for name in cls.orderings for sign in ("", "-")]

    @classmethod
    def parameters(cls) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Name, schema and help of each, for the OpenAPI document."""
        for name, line in cls.declared_filters.items():
            yield name, line.describe(), line.help
        if cls.orderings:
            yield (
                "ordering",
                {"type": "string", "enum": cls.accepted_orderings()},
                "Newest first (-created_at) by default.",
            )


@lru_cache(maxsize=512)
def plan_page(lines: type[ListFilter], given: tuple[tuple[str, bool], ...], ordering: str) -> PageQuery:
    """The statement for these parameters, each named with whether it is a list."""
    order, rows = Order(ordering), lines._meta.model.objects.of(Param("organization"))
    asked = [(lines.declared_filters[name], name, is_list) for name, is_list in given]
    columns = {line.field_name for line, _, _ in asked} - {order.column}
    # With one column beside the order's there is one index to take, whatever the values are.
    wanted = [
        (line, OpaqueParam(name) if len(columns) < 2 and not is_list else Param(name, is_list=is_list))
        for line, name, is_list in asked
    ]
    others = [(line, slot) for line, slot in wanted if line.field_name in columns]
    on_the_way = filtered(rows, [(line, slot) for line, slot in wanted if line.field_name not in columns])
    chosen = filtered(on_the_way, others)
    if not given:
        return index_order_page(lines.count_all(), chosen, order)
    if not others:
        return index_order_page(count_few_first(chosen), chosen, order)
    line, slot = others[0]
    if len(columns) > 1 or order.column != INDEXED:
        return probe_then_sort_page(count_of(chosen), chosen, on_the_way, order)
    if isinstance(line, DateTimeFromFilter | DateTimeToFilter):
        return small_result_page(chosen, on_the_way, order)
    if isinstance(line, RelatedChoiceFilter):
        return merged_index_page(count_of(chosen), line.branches(slot), on_the_way, line.field_name, order)
    return (
        probe_then_sort_page(count_of(chosen), chosen, on_the_way, order)
        if slot.is_list
        else index_order_page(count_few_first(chosen), chosen, order)
    )


def filtered(rows: QuerySet[Any], wanted: list[tuple[Any, Param]]) -> QuerySet[Any]:
    """The rows that all of these let through."""
    for line, slot in wanted:
        rows = line.filter(rows, slot)
    return rows
