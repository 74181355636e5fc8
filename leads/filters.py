"""Query parameters of the leads list (docs/interface.md, L17)."""

from uuid import UUID

from foundation.api.filters import ChoiceFilter, DateTimeFilter, OrderingFilter, QueryFilter, RelatedIdFilter
from foundation.api.sql_serializers import Tenant
from leads.models import Lead, LeadQuerySet
from leads.services import find_merged
from organizations.filters import CountedListFilter, MemberEmailFilter
from statuses.models import Status, StatusRole


class LeadIdFilter(RelatedIdFilter):
    def __init__(self) -> None:
        super().__init__("lead", Lead, help_text="A lead of the organization.")

    def known_id(self, organization: Tenant, id: UUID) -> UUID | None:
        return super().known_id(organization, id) or find_merged(organization=organization, lead_id=id)


class LeadFilter(CountedListFilter):
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
        return leads.with_email(self.organization.pk, email)
