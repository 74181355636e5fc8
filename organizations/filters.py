"""Lists of an organization's rows: their totals, and filters that name people."""

from typing import Any

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Lower

from organizations.models import Membership
from pipeline_backend.api.cutting import Part
from pipeline_backend.api.filters import Line, ListFilter
from pipeline_backend.rows import Slot

TOTAL = "SELECT coalesce(sum(rows), 0)::bigint AS total FROM organizations_rowcount WHERE organization_id = %s AND counted = %s"


class CountedList(ListFilter):
    """A list of a table whose rows are counted (`counting`): its total costs the same at any size."""

    @classmethod
    def count_all(cls) -> Part:
        """The number that the triggers keep."""
        return Part(TOTAL, [Slot("organization"), cls._meta.model._meta.db_table])


class MemberEmail(Line):
    """A member's e-mail in any letter case; one that nobody has gives an empty list."""

    def filter(self, qs: QuerySet[Any], value: Slot) -> QuerySet[Any]:
        """The rows of that member: looked up first, so that the list then reads one index in its order."""
        members = Membership.objects.of(Slot("organization")).alias(folded=Lower("user__email"))
        return qs.filter(**{self.field_name: Subquery(members.filter(folded=Lower(value.typed("text"))).values("pk")[:1])})
