"""List filters on django-filter. An invalid value is a 400 that names its parameter (docs/interface.md, G26 to G30).

A filter is one line of a `ListFilter`, and describes itself in the OpenAPI document. django-filter parses the values
and narrows the queryset; `page_queries` reads one page of it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Literal
from uuid import UUID

from django import forms
from django.db import models
from django.db.models import QuerySet
from django.db.models.expressions import Combinable
from django_filters import Filter, FilterSet

from foundation.api import page_queries
from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import parse_timestamp, parse_uuid
from foundation.api.page_queries import COUNT, COUNT_FEW_FIRST, ListQuery, SQLWithParams, select_page, select_rows
from foundation.api.pagination import DEFAULT_ORDERING, Description, Errors, Page, count_pages
from foundation.api.sql_serializers import Schema, Tenant
from foundation.db.compiled import Param, bind

DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
END_OF_DAY = timedelta(days=1) - timedelta(milliseconds=1)
BOUND_YEARS = range(MINYEAR, MAXYEAR + 1)  # other systems write 9999-12-31 for an open end
MAX_IDS = 100


class ParameterField(forms.CharField):
    """The form field of a query parameter. Blank counts as absent; `parse` returns the value or raises ValueError."""

    # PostgreSQL can't store or compare it.
    default_error_messages = {"null_characters_not_allowed": "must not contain NUL characters"}

    def __init__(self, *, parse: Callable[[str], object], **options: Any) -> None:
        super().__init__(**options)
        self.parse = parse

    def clean(self, value: str | None) -> object:
        text = super().clean(value)
        try:
            return self.parse(text) if text else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class QueryFilter(Filter):
    """One query parameter, one condition; a text, unless a subclass parses it."""

    field_class = ParameterField
    schema: Schema = {"type": "string"}  # in the OpenAPI document  # never changed in place
    takes_several = False  # values, separated by commas
    has_index = True  # of the matching rows in the order of their creation

    def __init__(self, field_name: str, *, help_text: str = "", **options: Any) -> None:
        super().__init__(field_name, help_text=help_text, parse=self.parse, **options)
        self.help_text = help_text

    def parse(self, text: str) -> object:
        return text

    def has_index_order(self, value: Any) -> bool:
        """Return whether one index has the rows that match this value in the order of their creation."""
        return self.has_index


class DateTimeFilter(QueryFilter):
    """Rows at or after ("gte") or at or before ("lte") a timestamp. A date is read as its first or last millisecond."""

    has_index = False

    def __init__(self, field_name: str, lookup: Literal["gte", "lte"]) -> None:
        self.is_upper_bound = lookup == "lte"
        side, part = ("before", "end") if self.is_upper_bound else ("after", "start")
        help_text = f"At or {side} this time: a date (its {part}, UTC) or an ISO 8601 timestamp."
        super().__init__(field_name, lookup_expr=lookup, help_text=help_text)

    def parse(self, text: str) -> datetime:
        try:
            if DATE.fullmatch(text):
                start = parse_timestamp(f"{text}T00:00:00Z", years=BOUND_YEARS)
                return start + (END_OF_DAY if self.is_upper_bound else timedelta())
            # The + of an offset arrives as a space from clients that don't encode it.
            return parse_timestamp(text.replace(" ", "+"), years=BOUND_YEARS)
        except ValueError:
            message = "must be a date (2027-01-05) or an ISO 8601 timestamp, in the years 1 to 9999"
            raise ValueError(message) from None


class RelatedIdFilter(QueryFilter):
    """Rows that refer to a row of the organization by its id. An id that the organization doesn't have is a 400."""

    schema = {"type": "string", "format": "uuid"}
    parse = staticmethod(parse_uuid)

    def __init__(self, field_name: str, model: type[models.Model], *, help_text: str = "") -> None:
        super().__init__(field_name, help_text=help_text)
        self.related_model: Any = model  # a tenant model

    def known_id(self, organization: Tenant, id: UUID) -> UUID | None:
        """Return the id, or that of the row it was merged into; None if the organization has no such row."""
        return id if self.related_model.objects.of(organization).filter(pk=id).exists() else None


class IdListFilter(QueryFilter):
    """Rows with one of up to `MAX_IDS` ids, separated by commas. Unknown ids find nothing."""

    has_index = False
    schema = {"type": "array", "items": {"type": "string", "format": "uuid"}, "maxItems": MAX_IDS}
    takes_several = True

    def __init__(self) -> None:
        help_text = f"Comma-separated or repeated: up to {MAX_IDS} ids, in any order; unknown ones find nothing."
        super().__init__("id", lookup_expr="in", help_text=help_text)

    def parse(self, text: str) -> set[UUID]:
        texts = text.split(",", MAX_IDS)
        if len(texts) > MAX_IDS:
            raise ValueError(f"must have at most {MAX_IDS} ids")
        return {parse_uuid(id.strip()) for id in texts}


class ReferenceFilter(QueryFilter):
    """Rows of any source with this `external_reference`, compared exactly."""

    has_index = False

    def __init__(self) -> None:
        super().__init__("external_reference", help_text="The reference, compared exactly.", strip=False)

    def filter(self, qs: QuerySet, value: str) -> QuerySet:
        # The unique index has the source before the reference. With all sources, each is one look-up in it.
        sources = [source for source, _ in qs.model._meta.get_field("source").choices]
        return qs.filter(source__in=sources, external_reference=value)


class BooleanFilter(QueryFilter):
    """The rows that a condition is true or false of: `true` or `false`."""

    has_index = False
    schema = {"type": "boolean"}

    def parse(self, text: str) -> bool:
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"


class ChoiceFilter(QueryFilter):
    """Rows with any of the given values of an enumeration, separated by commas; with `single`, only one is accepted.

    `field_name` may lead to a related row: `outcome__role`.
    """

    def __init__(
        self, field_name: str, choices: type[models.TextChoices], *, single: bool = False, help_text: str = ""
    ) -> None:
        self.choices = list(choices.values)
        self.takes_several = not single
        value = {"type": "string", "enum": self.choices}
        self.schema = value if single else {"type": "array", "items": value}
        default_help_text = f"Comma-separated or repeated: any of {', '.join(self.choices)}."
        super().__init__(field_name, lookup_expr="in", help_text=help_text or default_help_text)

    def parse(self, text: str) -> set[str]:
        # The split is bounded, so that a request of a million commas costs nothing.
        values = set(map(str.strip, text.split(",", len(self.choices) * 4))) if self.takes_several else {text}
        if not values <= set(self.choices):
            raise ValueError(f"must be one of: {', '.join(self.choices)}")
        return values

    def has_index_order(self, value: set[str]) -> bool:
        return len(value) == 1 and "__" not in self.field_name


class OrderingFilter(QueryFilter):
    """The order of a list: one of these columns, with a leading "-" for descending."""

    def __init__(self, *columns: str) -> None:
        self.choices = [sign + column for column in columns for sign in ("", "-")]
        self.schema = {"type": "string", "enum": self.choices}
        super().__init__("", help_text=f"Newest first ({DEFAULT_ORDERING}) by default.")

    def parse(self, text: str) -> str:
        if text not in self.choices:
            raise ValueError(f"must be one of: {', '.join(self.choices)}")
        return text


class ListFilter(FilterSet):
    """Base class of a list's filters and order. Read `errors` before `page`."""

    model: ClassVar[Any]  # whose rows are listed
    # The total of an unfiltered list, of the organization and the table that are its two parameters.
    total_sql: ClassVar[str]

    def __init__(self, query: Mapping[str, str], *, organization: Tenant, queryset: QuerySet | None = None) -> None:
        self.organization = organization
        # Only the filters that the request uses: FilterSet copies them, and copying all takes longer than the query.
        self.base_filters = {
            name: filter for name, filter in self.declared_filters.items() if query.get(name, "").strip()
        }
        rows = self.model.objects.of(organization) if queryset is None else queryset
        super().__init__(data=query, queryset=rows)

    @property
    def errors(self) -> Errors:
        form_errors = self.form.errors if self.filters else {}
        return {name: [str(message) for message in messages] for name, messages in form_errors.items()}

    def page(self, page: Page) -> tuple[list[UUID], Description]:
        """Return the page's ids and its description. Raises ValidationFailed for ids that the organization lacks."""
        read = self.read_page if page.is_counted and not page.signer else self.read_next
        ids, description = read(page)
        # Checked only for an empty list, because it takes a query for each id. An id with rows in the list exists.
        if not ids and not description["total"] and self.replace_ids():
            return read(page)
        return ids, description

    def read_page(self, page: Page) -> tuple[list[UUID], Description]:
        total, ids = page_queries.read_page(select_page(self.list_query(), page.offset, page.limit))
        return ids, page.describe(total, has_next=page.number < count_pages(total, page.limit))

    def read_next(self, page: Page) -> tuple[list[UUID], Description]:
        """Read one row more than the page has, to know whether there are any."""
        query = self.list_query()
        rows = page_queries.read_next(query, page.after, page.offset, page.limit + 1)
        on_page = rows[: page.limit]
        total = page_queries.read_total(query) if page.is_counted else None
        description = page.describe(total, has_next=len(rows) > page.limit, last=on_page[-1] if on_page else None)
        return [id for id, _ in on_page], description

    def list_query(self) -> ListQuery:
        values = self.form.cleaned_data if self.filters else {}
        ordering = values.get("ordering", DEFAULT_ORDERING)
        column = ordering.removeprefix("-")
        used = [(self.filters[name], value) for name, value in values.items() if name != "ordering"]
        if not used:
            total = (self.total_sql, [self.organization.pk, self.model._meta.db_table])
            return ListQuery(self.all_rows(column), ordering, total)
        other_filters = [(filter, value) for filter, value in used if filter.field_name != column]
        order_rows = narrow(self.queryset, [item for item in used if item not in other_filters])

        matching = select_rows(narrow(order_rows, other_filters), column)
        # With filters on several columns, the first rows may take as long to find as all of them.
        has_one_index = len({filter.field_name for filter, _ in other_filters}) < 2
        in_order = None
        if other_filters and not (
            has_one_index
            and column == "created_at"
            and all(filter.has_index_order(value) for filter, value in other_filters)
        ):
            is_bounded = len(other_filters) < len(used)
            in_order = select_rows(order_rows, column) if is_bounded else self.all_rows(column)
        count = COUNT_FEW_FIRST if has_one_index else COUNT
        return ListQuery(matching, ordering, (count, []), in_order)

    def all_rows(self, column: str | Combinable) -> SQLWithParams:
        sql, params = compile_all_rows(self.model, column)
        return sql, bind(params, {"organization": self.organization.pk})

    def replace_ids(self) -> bool:
        """Replace ids of merged rows; return whether there are any. Raises ValidationFailed for unknown ids."""
        values = self.form.cleaned_data if self.filters else {}
        ids = {
            name: filter.known_id(self.organization, values[name])
            for name, filter in self.filters.items()
            if isinstance(filter, RelatedIdFilter)
        }
        if unknown := [name for name, id in ids.items() if id is None]:
            raise ValidationFailed({name: ["is not known in the organization"] for name in unknown})
        is_other = any(id != values[name] for name, id in ids.items())
        values.update(ids)
        return is_other


class PartialListFilter(ListFilter):
    """Base class of a list of some of an organization's rows, newest first, which an index has in this order."""

    def list_query(self) -> ListQuery:
        values = self.form.cleaned_data if self.filters else {}
        rows = narrow(self.queryset, ((self.filters[name], value) for name, value in values.items()))
        return ListQuery(select_rows(rows, "created_at"), DEFAULT_ORDERING, (COUNT_FEW_FIRST, []))


@cache
def compile_all_rows(model: Any, column: str | Combinable) -> SQLWithParams:
    """Return the query of all rows of the parameter `organization`, compiled for the benchmark "list of 10"."""
    return select_rows(model.objects.of(Param("organization")), column)


def narrow(rows: QuerySet, filters: Iterable[tuple[QueryFilter, object]]) -> QuerySet:
    for filter, value in filters:
        rows = filter.filter(rows, value)
    return rows
