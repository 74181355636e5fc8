"""Query parameters of the leads list (docs/interface.md, L17)."""

from leads.models import Lead, LeadQuerySet
from organizations.filters import CountedListFilter, MemberEmailFilter
from pipeline_backend.api.filters import (
    ChoiceFilter,
    DateTimeFilter,
    OrderingFilter,
    QueryFilter,
    RelatedIdFilter,
)
from statuses.models import Status, StatusRole


class LeadFilter(CountedListFilter):
    """The filters of the leads list."""

    email = QueryFilter("email", method="filter_email", help_text="The lead's e-mail, case-insensitive.")
    status_id = RelatedIdFilter("status", Status, help_text="A status of the organization.")
    status_role = ChoiceFilter("status__role", StatusRole)
    setter = MemberEmailFilter("setter", help_text="The setter's e-mail.")
    created_from = DateTimeFilter("created_at", "gte")
    created_to = DateTimeFilter("created_at", "lte")
    updated_from = DateTimeFilter("updated_at", "gte")
    updated_to = DateTimeFilter("updated_at", "lte")
    ordering = OrderingFilter("created_at", "updated_at")

    class Meta:
        model = Lead
        fields = ()

    def filter_email(self, leads: LeadQuerySet, name: str, email: str) -> LeadQuerySet:
        """Return the lead with this e-mail, or no rows."""
        return leads.with_email(self.organization.pk, email)
