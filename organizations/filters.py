"""Shared list filters: stored row counts as totals, and members by e-mail."""

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Lower

from organizations.models import Membership
from pipeline_backend.api.filters import ListFilter, QueryFilter
from pipeline_backend.api.page_queries import SqlPart
from pipeline_backend.db.compiled import Param

TOTAL_QUERY = """
SELECT coalesce(sum(rows), 0)::bigint AS total
FROM organizations_rowcount
WHERE organization_id = %s AND counted = %s
"""


class CountedListFilter(ListFilter):
    """A list of a table with row counts (see `RowCount`), so the total of all rows costs the same at any size."""

    @classmethod
    def count_all(cls) -> SqlPart:
        """Return the query for the total, from the counts that triggers maintain."""
        return SqlPart(TOTAL_QUERY, [Param("organization"), cls._meta.model._meta.db_table])


class MemberEmailFilter(QueryFilter):
    """Filters by a member's e-mail, in any letter case. An unknown e-mail gives an empty list."""

    def filter(self, qs: QuerySet, value: Param) -> QuerySet:
        """Return the rows that refer to the member with this e-mail."""
        members = Membership.objects.of(Param("organization")).alias(lower_email=Lower("user__email"))
        member = members.filter(lower_email=Lower(value.cast("text"))).values("pk")[:1]
        # A subquery for the id, not a join: the list can then read one index in its order.
        return qs.filter(**{self.field_name: Subquery(member)})
