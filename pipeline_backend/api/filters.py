"""List filters on django-filter: a bad value is a 400 that names its parameter (decision 6).

A filter is one line of a `ListFilter`; it always starts from a queryset of one organization, and describes itself to
the OpenAPI document.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django import forms
from django.db import models
from django.db.models import QuerySet, Value
from django.db.models.functions import Lower
from django_filters import Filter, FilterSet

from pipeline_backend.api.exceptions import Invalid
from pipeline_backend.api.fields import parse_moment, parse_uuid

DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
DAY = timedelta(days=1) - timedelta(milliseconds=1)


class Parameter(forms.Field):
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


class MomentParameter(Parameter):
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
            return parse_moment(text)
        except ValueError:
            raise ValueError("must be a date (2027-01-05) or an ISO 8601 timestamp, in the years 1970 to 2100") from None


class UuidParameter(Parameter):
    """A UUID."""

    def read(self, text: str) -> Any:
        """The UUID."""
        return parse_uuid(text)


class MembersParameter(Parameter):
    """Comma-separated members of an enumeration."""

    def __init__(self, *args: Any, accepted: list[str], most: int | None = None, **options: Any) -> None:
        self.accepted = accepted
        self.most = most
        super().__init__(*args, **options)

    def read(self, text: str) -> list[str]:
        """The members."""
        members = text.split(",", len(self.accepted) * 4)
        if self.most == 1 and members != [text]:
            members = [text]
        if not set(members) <= set(self.accepted):
            raise ValueError(f"must be one of: {', '.join(self.accepted)}")
        return members


class Line(Filter):
    """Base of our filters: one parameter, one condition, one description."""

    field_class: ClassVar[type[Parameter]] = Parameter
    shown: ClassVar[dict[str, Any]] = {"type": "string"}
    summary = ""

    def __init__(self, field_name: str, *, help: str = "", **options: Any) -> None:
        self.help = help or self.summary
        super().__init__(field_name=field_name, required=False, **options)

    def describe(self) -> dict[str, Any]:
        """The parameter's schema."""
        return dict(self.shown)


class MomentFrom(Line):
    """At or after."""

    field_class = MomentParameter
    summary = "At or after this moment: a date (its start, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="gte")


class MomentTo(Line):
    """At or before."""

    field_class = MomentParameter
    summary = "At or before this moment: a date (its end, UTC) or an ISO 8601 timestamp."

    def __init__(self, field_name: str) -> None:
        super().__init__(field_name, lookup_expr="lte", end_of_day=True)


class KnownId(Line):
    """The id of a row of this organization; any other id is a 400."""

    field_class = UuidParameter
    shown: ClassVar[dict[str, Any]] = {"type": "string", "format": "uuid"}

    def __init__(self, field_name: str, model: type[models.Model], *, help: str = "") -> None:
        super().__init__(field_name, help=help)
        self.related = model

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        """The rows that point at it."""
        if value is None:
            return qs
        if not self.related.objects.of(self.parent.organization).filter(pk=value).exists():  # type: ignore[attr-defined]
            raise Invalid({self.parent_name: ["is not known in the organization"]})
        return qs.filter(**{f"{self.field_name}_id": value})

    @property
    def parent_name(self) -> str:
        """The parameter's name."""
        return next(name for name, line in self.parent.filters.items() if line is self)


class Members(Line):
    """Any of an enumeration's members, comma-separated."""

    field_class = MembersParameter

    def __init__(self, field_name: str, choices: type[models.TextChoices], *, single: bool = False, help: str = "") -> None:
        self.accepted = list(choices.values)
        self.single = single
        summary = "" if single else f"Comma-separated: any of {', '.join(self.accepted)}."
        super().__init__(field_name, help=help or summary, lookup_expr="in", accepted=self.accepted, most=1 if single else None)

    def describe(self) -> dict[str, Any]:
        """With the values, where one is allowed."""
        return {"type": "string", **({"enum": self.accepted} if self.single else {})}


class SameText(Line):
    """Equal, whatever the letter case."""

    def filter(self, qs: QuerySet[Any], value: str | None) -> QuerySet[Any]:
        """The rows with this text."""
        if value is None:
            return qs
        return qs.alias(folded=Lower(self.field_name)).filter(folded=Lower(Value(value)))


class ListFilter(FilterSet):
    """The filters of one list, and its order: newest first unless `ordering` says otherwise."""

    orderings: ClassVar[list[str]] = ["created_at", "updated_at"]

    def __init__(self, query: Mapping[str, str], *, organization: Any, rows: QuerySet[Any]) -> None:
        self.organization = organization
        self.query = query
        super().__init__(data=query, queryset=rows)

    def problems(self) -> dict[str, list[str]]:
        """What is wrong with the parameters, by their names."""
        found = {name: [str(item) for item in items] for name, items in self.form.errors.items()}
        if self.ordering.removeprefix("-") not in self.orderings:
            found["ordering"] = [f"must be one of: {', '.join(self.accepted_orderings())}"]
        return found

    def chosen(self) -> QuerySet[Any]:
        """The rows asked for, in order, the id settling ties; ask for `problems` first."""
        by_id = "-id" if self.ordering.startswith("-") else "id"
        return self.filter_queryset(self.queryset).order_by(self.ordering, by_id)

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
        for name, line in cls.base_filters.items():
            yield name, line.describe(), line.help
        if cls.orderings:
            yield "ordering", {"type": "string", "enum": cls.accepted_orderings()}, "Newest first (-created_at) by default."
