"""Query parameters of the leads list (docs/interface.md, L17)."""

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
from statuses.models import Status, StatusRole


class LeadEmailFilter(QueryFilter):
    """Filter leads by e-mail, case-insensitively."""

    def filter(self, qs: QuerySet[Any], value: Param) -> QuerySet[Any]:
        """Return the lead with this e-mail, or no rows."""
        # `qs` is a LeadQuerySet, which the base class does not know.
        leads: QuerySet[Any] = qs.with_email(Param("organization"), value.cast("text"))  # type: ignore[attr-defined]
        return leads


class LeadFilter(CountedListFilter):
    """The filters of the leads list."""

    email = LeadEmailFilter("email", help_text="The lead's e-mail, case-insensitive.")
    status_id = RelatedIdFilter("status", Status, help_text="A status of the organization.")
    status_role = RelatedChoiceFilter("status", Status, "role", StatusRole)
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    created_from = DateTimeFromFilter("created_at")
    created_to = DateTimeToFilter("created_at")
    updated_from = DateTimeFromFilter("updated_at")
    updated_to = DateTimeToFilter("updated_at")

    class Meta:
        model = Lead
        fields: ClassVar[list[str]] = []
