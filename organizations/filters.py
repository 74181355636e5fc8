"""Filters that name people."""

from typing import Any

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Lower

from organizations.models import Membership
from pipeline_backend.api.filters import Line
from pipeline_backend.rows import Slot


class MemberEmail(Line):
    """A member's e-mail in any letter case; one that nobody has gives an empty list."""

    def filter(self, qs: QuerySet[Any], value: Slot) -> QuerySet[Any]:
        """The rows of that member: looked up first, so that the list then reads one index in its order."""
        members = Membership.objects.of(Slot("organization")).alias(folded=Lower("user__email"))
        return qs.filter(**{self.field_name: Subquery(members.filter(folded=Lower(value.typed("text"))).values("pk")[:1])})
