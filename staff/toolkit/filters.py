"""Filters by any of several values, and the chips above a list, each of which shows and removes a filter that is on.

A value is repeated in the address for each choice (`source__exact=A&source__exact=B`); `none` are the rows without one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.contrib.admin import ListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import get_fields_from_path
from django.core.exceptions import ValidationError
from django.db.models import Field, Model, Q, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.text import capfirst
from unfold.contrib.filters.admin import (
    BooleanRadioFilter,
    MultipleChoicesDropdownFilter,
    MultipleRelatedDropdownFilter,
)

from organizations.isolation import TenantModel
from organizations.models import Membership
from staff.labels import label
from staff.toolkit.actions import AnyPage
from staff.toolkit.lists import TitledFilter

NONE = "none"
MAX_VALUES = 100  # of one filter, each of which the database compares with each row


class Chip(NamedTuple):
    """A filter that is on: its title, its values in words, its parameters, and the list's address without it."""

    title: str
    text: str
    names: list[str]
    url: str


class SeveralValues:
    """A list filter that shows the rows with any of the chosen values of its column."""

    all_option = None
    name = ""  # what pages call the column, if that isn't the field's label
    field: Field
    field_path: str
    title: str
    model: type[Model]
    lookup_kwarg: str
    lookup_val: list[str] | None
    lookup_kwarg_isnull: str
    used_parameters: dict[str, Any]

    def __init__(self, field: Field, request: HttpRequest, params: Any, model: Any, page: Any, field_path: str) -> None:
        super().__init__(field, request, params, model, page, field_path)  # type: ignore[call-arg]
        path = get_fields_from_path(model, field_path)
        self.title = self.name or " ".join(str(part.verbose_name) for part in path)

    @property
    def none_label(self) -> str:
        return "Unassigned" if self.field.related_model is Membership else f"No {self.name or self.field.verbose_name}"

    @property
    def is_present(self) -> bool | None:
        """Whether a link asks for the rows with a value, or for those without one."""
        given = self.used_parameters.get(self.lookup_kwarg_isnull)
        return not given[-1] if given else None

    def value(self) -> list[str]:
        values = [value for value in self.lookup_val or [] if value]
        return list(dict.fromkeys([*values, *([NONE] if self.is_present is False else [])]))

    def offered(self) -> list[tuple[str, str]]:
        """Return the values to choose from, with their labels."""
        raise NotImplementedError

    def choices(self, changelist: Any) -> Iterable[dict[str, Any]]:
        empty = [(NONE, self.none_label)] if self.field.null else []
        offered = [*empty, *self.offered()]
        unlisted = [(value, self.unlisted(value)) for value in self.value() if value not in dict(offered)]
        yield {
            "form": self.form_class(  # type: ignore[attr-defined]
                label=capfirst(self.title),
                name=self.lookup_kwarg,
                choices=[*offered, *unlisted],
                data={self.lookup_kwarg: self.value()},
                multiple=True,
            )
        }

    def queryset(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows with any of the values. Raises IncorrectLookupParameters for values that can't be ones."""
        values = self.value()
        if len(values) > MAX_VALUES:
            raise IncorrectLookupParameters
        condition = Q(**{f"{self.field_path}__isnull": True}) if NONE in values else Q()
        try:
            if chosen := [value for value in values if value != NONE]:
                condition |= Q(**{f"{self.field_path}__in": chosen})
            if self.is_present:
                condition &= Q(**{f"{self.field_path}__isnull": False})
            return rows.filter(condition)
        except (ValueError, ValidationError) as error:
            raise IncorrectLookupParameters(error) from error

    def describe(self) -> str:
        labels = {**dict(self.offered()), NONE: self.none_label}
        names = [labels.get(value) or self.unlisted(value) for value in self.value()]
        return ", ".join([*names, *(["Any"] if self.is_present else [])])

    def unlisted(self, value: str) -> str:
        return value


class ChoicesFilter(SeveralValues, MultipleChoicesDropdownFilter):
    def offered(self) -> list[tuple[str, str]]:
        return [(str(value), str(name)) for value, name in self.field.flatchoices]


def named(name: str, base: type[SeveralValues] = ChoicesFilter) -> Any:
    """Return the filter with a title of its own."""
    return type(base.__name__, (base,), {"name": name})


class RelatedFilter(SeveralValues, MultipleRelatedDropdownFilter):
    lookup_choices: list[tuple[str, str]]

    def offered(self) -> list[tuple[str, str]]:
        return self.lookup_choices


class FormFilter(ListFilter):
    """A filter with a form of fields. An entered text that can't be a value is refused with Unreadable.

    `given` has the values of its parameters in the address, without empty ones.
    """

    template = "unfold/filters/filters_field.html"
    names: Sequence[str]

    def __init__(self, request: HttpRequest, params: Any, model: Any, page: AnyPage) -> None:
        super().__init__(request, params, model, page)
        self.given: dict[str, list[str]] = {
            name: [text for text in params.pop(name) if text] for name in self.names if name in params
        }
        self.used_parameters |= self.given

    def expected_parameters(self) -> list[str | None]:
        return list(self.names)

    def has_output(self) -> bool:
        return True

    def text(self, name: str) -> str:
        return next(reversed(self.given.get(name, [])), "")


class YesNoFilter(TitledFilter, BooleanRadioFilter):
    def describe(self) -> str:
        return {"1": "Yes", "0": "No"}.get(str(self.value()), "")


class LinkFilter(NamedTuple):
    """A lookup that no filter offers, but links of the admin use."""

    name: str
    values: list[str]
    page: AnyPage
    request: HttpRequest

    @property
    def title(self) -> str:
        return label(self.name.split("__")[0].replace("_", " "))

    def expected_parameters(self) -> list[str]:
        return [self.name]

    def describe(self) -> str:
        if self.name.endswith("__isnull"):
            return "None"
        related = self.page.opts.get_field(self.name.split("__")[0]).related_model
        if related is None:
            return ", ".join(self.values)
        if not issubclass(related, TenantModel):
            return ""  # the user's own account, in a link of the menu
        rows = self.page.visible_rows(self.request, related).filter(pk__in=self.values)
        return ", ".join(map(str, rows[:MAX_VALUES]))


def chips(cl: Any) -> list[Chip]:  # a ViewChangeList, whose module imports this one
    """Return the list's chips: none while a saved view is open and has these filters, because the view names them."""
    page, parameters = cl.model_admin, cl.filter_params
    linked = [name for name in page.lookups_of_links if name in parameters]
    filters = [*cl.filter_specs, *(LinkFilter(name, parameters[name], page, cl.request) for name in linked)]
    if cl.saved_view and values_of(filters, cl.request.GET) == values_of(filters, QueryDict(cl.saved_view.query)):
        return []
    found = []
    for each in filters:
        names = each.expected_parameters()
        if any(value for name in names for value in parameters.get(name, ())) and (text := each.describe()):
            found.append(Chip(capfirst(str(each.title)), text, names, cl.get_query_string(dict.fromkeys(names))))
    return found


def values_of(filters: Iterable[Any], query: QueryDict) -> list[list[str]]:
    names = [name for each in filters for name in each.expected_parameters()]
    return [sorted(filter(None, query.getlist(name))) for name in names]
