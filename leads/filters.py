"""The leads list's parameters (decision 18)."""

from typing import Any, ClassVar

from django.db.models import QuerySet

from leads.models import Lead
from organizations.filters import CountedListFilter, MemberEmailFilter
from pipeline_backend.api.filters import (
    DateTimeFromFilter,
    DateTimeToFilter,
    QueryFilter,
    RelatedChoiceFilter,
    RelatedIdFilter,
)
from pipeline_backend.db.compiled import Param
from statuses.models import Role, Status


class LeadEmailFilter(QueryFilter):
    """The lead of an e-mail, in any letter case."""

    def filter(self, qs: QuerySet[Any], value: Param) -> QuerySet[Any]:
        """That one, or none."""
        found: QuerySet[Any] = qs.with_email(Param("organization"), value.typed("text"))  # type: ignore[attr-defined]  # leads only
        return found


class LeadFilter(CountedListFilter):
    """Which leads."""

    email = LeadEmailFilter("email", help="The lead's e-mail, in any letter case.")
    status_id = RelatedIdFilter("status", Status, help="A status of the organization.")
    status_role = RelatedChoiceFilter("status", Status, "role", Role)
    setter = MemberEmailFilter("setter", help="Setter's e-mail.")
    created_from = DateTimeFromFilter("created_at")
    created_to = DateTimeToFilter("created_at")
    updated_from = DateTimeFromFilter("updated_at")
    updated_to = DateTimeToFilter("updated_at")

    class Meta:
        model = Lead
        fields: ClassVar[list[str]] = []
