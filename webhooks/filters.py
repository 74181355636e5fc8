"""Filters of endpoints and deliveries, and parameters of the events list that name a row (docs/interface.md, W29).

Apps declare such parameters in their `filters.py`.
"""

from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.utils.module_loading import autodiscover_modules

from foundation.api.exceptions import ValidationFailed
from foundation.api.filters import ChoiceFilter, PartialListFilter, QueryFilter, RelatedIdFilter
from foundation.outbox import State
from organizations.models import Organization
from webhooks.models import Delivery, Endpoint

_registry: dict[str, "SubjectFilter"] = {}


class Subjects(NamedTuple):
    """The rows whose `field_name` is the row of the parameter, and the column with the id that their events have."""

    model: Any  # a tenant model
    field_name: str
    column: str


class SubjectFilter:
    """Events about a row and rows that belong to it; registered when it is created. `row` parses the parameter."""

    def __init__(self, name: str, row: RelatedIdFilter) -> None:
        self.name = name
        self.row = row
        self.subjects: list[Subjects] = []
        _registry[name] = self

    def add(self, model: Any, field_name: str, *, column: str = "pk") -> None:  # noqa: ANN401  # a tenant model
        self.subjects.append(Subjects(model, field_name, column))

    def subject_ids(self, organization: Organization, id: UUID) -> QuerySet:
        """Return the query of the events' subjects. Raises ValidationFailed for an id that the organization lacks."""
        row_id = self.row.known_id(organization, id)
        if row_id is None:
            raise ValidationFailed({self.name: ["is not known in the organization"]})
        first, *others = (
            model.objects.of(organization).filter(**{field_name: row_id}).order_by().values_list(column)
            for model, field_name, column in self.subjects
        )
        return first.union(*others, all=True)


class EndpointFilter(PartialListFilter):
    model = Endpoint
    url = QueryFilter("url", help_text="The URL, compared exactly.")


class DeliveryFilter(PartialListFilter):
    model = Delivery
    state = ChoiceFilter("state", State)


@cache
def subject_filters() -> dict[str, SubjectFilter]:
    """Return all subject filters by name."""
    autodiscover_modules("filters")
    return dict(sorted(_registry.items()))
