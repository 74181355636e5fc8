"""Filters that name people."""

from typing import Any

from django.db.models import QuerySet, Value
from django.db.models.functions import Lower

from organizations.models import Membership
from pipeline_backend.api.filters import Line


class MemberEmail(Line):
    """A member's e-mail in any letter case; one that nobody has gives an empty list."""

    def filter(self, qs: QuerySet[Any], value: str | None) -> QuerySet[Any]:
        """The rows of that member."""
        if value is None:
            return qs
        members = Membership.objects.of(self.parent.organization).alias(folded=Lower("user__email"))
        return qs.filter(**{f"{self.field_name}__in": members.filter(folded=Lower(Value(value)))})
