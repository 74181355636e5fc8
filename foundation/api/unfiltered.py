"""Lists without filters: look-ups, which are sorted by name, and the rows of one row, such as its changes."""

from collections.abc import Callable
from typing import ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from foundation.api.exceptions import ResourceNotFound
from foundation.api.filters import ListFilter, RelatedIdFilter
from foundation.api.page_queries import COUNT, ListQuery, select_rows
from foundation.api.pagination import DEFAULT_ORDERING


class NamedListFilter(ListFilter):
    """Base class of a list that is sorted by name, then by id, and has no filters. Its rows are counted each time."""

    sort_key: ClassVar[str | Combinable]
    has_nulls: ClassVar[bool] = False

    def list_query(self) -> ListQuery:
        return ListQuery(self.all_rows(self.sort_key), "name", (COUNT, []), has_nulls=self.has_nulls)


class RelatedListFilter(ListFilter):
    """Base class of a list of what belongs to one row, newest first. Call `narrow_to` before `page`."""

    parent: ClassVar[Callable[[], RelatedIdFilter]]
    rows: QuerySet

    def narrow_to(self, id: UUID) -> None:
        """Leave what belongs to this row. Raises ResourceNotFound if the organization doesn't have it."""
        parent = type(self).parent()
        known_id = parent.known_id(self.organization, id)
        if known_id is None:
            raise ResourceNotFound
        self.rows = parent.filter(self.model.objects.of(self.organization), known_id)

    def list_query(self) -> ListQuery:
        return ListQuery(select_rows(self.rows, "created_at"), DEFAULT_ORDERING, (COUNT, []))
