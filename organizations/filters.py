"""Shared list filters: stored row counts as totals, and members by e-mail."""

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Lower

from foundation.api.emails import spellings
from foundation.api.filters import ListFilter, QueryFilter
from foundation.api.unfiltered import NamedListFilter
from foundation.db.names import by_name
from organizations.models import MEMBER_NAME, Membership


class CountedListFilter(ListFilter):
    """Totals come from the table's stored row counts (`RowCount`), so they cost the same at any size."""

    total_sql = """
        SELECT coalesce(sum(rows), 0)::bigint AS total
        FROM organizations_rowcount
        WHERE organization_id = %s AND counted = %s
    """


class MemberEmailFilter(QueryFilter):
    """Filters by a member's e-mail, in any letter case. An unknown e-mail gives an empty list."""

    def filter(self, qs: QuerySet, value: str) -> QuerySet:
        members = Membership.objects.of(self.parent.organization).alias(lower_email=Lower("user__email"))
        member = members.filter(lower_email__in=spellings(value)).values("pk")[:1]
        # A subquery for the id, not a join: the list can then read one index in its order.
        return qs.filter(**{self.field_name: Subquery(member)})


class MemberFilter(NamedListFilter):
    model = Membership
    sort_key = by_name(MEMBER_NAME)
