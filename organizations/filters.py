"""Lists of an organization's rows: their totals, and filters that name people."""

from typing import Any

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Lower

from organizations.models import Membership
from pipeline_backend.api.filters import ListFilter, QueryFilter
from pipeline_backend.api.page_queries import SqlPart
from pipeline_backend.db.compiled import Param

TOTAL_QUERY = "SELECT coalesce(sum(rows), 0)::bigint AS total FROM organizations_rowcount WHERE organization_id = %s AND counted = %s"


class CountedListFilter(ListFilter):
    """A list of a table whose rows are counted (`counting`): its total costs the same at any size."""

    @classmethod
    def count_all(cls) -> SqlPart:
        """The number that the triggers keep."""
        return SqlPart(TOTAL_QUERY, [Param("organization"), cls._meta.model._meta.db_table])


class MemberEmailFilter(QueryFilter):
    """A member's e-mail in any letter case; one that nobody has gives an empty list."""

    def filter(self, qs: QuerySet[Any], value: Param) -> QuerySet[Any]:
        """The rows of that member: looked up first, so that the list then reads one index in its order."""
        members = Membership.objects.of(Param("organization")).alias(folded=Lower("user__email"))
        return qs.filter(
            **{self.field_name: Subquery(members.filter(folded=Lower(value.cast("text"))).values("pk")[:1])}
        )
