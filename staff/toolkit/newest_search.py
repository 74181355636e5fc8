"""Search in lists that grow with each change and message: by an id among all rows, by text among the newest.

No index serves a search for a part of a text, so it reads every row: of a million events that would take seconds.
"""

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpRequest

from foundation.api.fields import parse_uuid
from staff.toolkit.lists import MAX_COUNT
from staff.toolkit.tenant import TenantAdmin

SEARCHED = 50_000  # of the newest rows
HELP = f"Text is searched in the newest {SEARCHED:,}."


class NewestSearchAdmin(TenantAdmin):
    """An admin page whose list looks for text in its newest rows. `id_lookups` find an id in all rows by an index."""

    id_lookups: ClassVar[tuple[str, ...]] = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        matches, may_repeat = super().get_search_results(request, queryset, search_term)
        if not search_term.strip():
            return matches, may_repeat
        rows = self.get_queryset(request)
        column = (self.ordering or self.opts.ordering)[0].removeprefix("-")
        beyond = rows.order_by(f"-{column}").values_list(column, flat=True)[SEARCHED : SEARCHED + 1]
        for oldest in beyond:
            matches = matches.filter(**{f"{column}__gt": oldest})
        try:
            id = parse_uuid(search_term.strip())
        except ValueError:
            return matches, may_repeat
        if not self.id_lookups:
            return matches, may_repeat
        # One statement for each: an index serves each of the lookups, but not all of them together.
        parts = [matches, *(rows.filter(**{lookup: id}) for lookup in self.id_lookups)]
        ids = {id for part in parts for id in part.order_by().values_list("pk", flat=True)[:MAX_COUNT]}
        return queryset.filter(pk__in=ids), False
