"""Search in the lists of leads, and of rows that belong to a lead."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from leads.search import found_leads
from organizations.admin.tenant import TenantAdmin
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, is_operator, organization_ids


class LeadSearchAdmin(TenantAdmin):
    """An admin page whose list finds rows by their lead's name, e-mail and phone, and by their own reference."""

    lead_column = "lead"
    reference_column: str | None = "external_reference"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that match, each once. Raises BadRequest for a search that would be too expensive."""
        super().get_search_results(request, queryset, search_term)  # which checks its length
        if not search_term.strip():
            return queryset, False
        organizations = self.searched_organizations(request)
        rows = self.get_queryset(request).order_by()
        ids = rows.filter(**{f"{self.lead_column}__in": found_leads(organizations, search_term)}).values("pk")
        if self.reference_column:  # a union, because there is no index for "one or the other"
            reference = {"organization__in": organizations, self.reference_column: search_term.strip()}
            ids = ids.union(rows.filter(**reference).values("pk"))
        return queryset.filter(pk__in=ids), False

    def searched_organizations(self, request: HttpRequest) -> list[UUID]:
        """Return the ids of the organizations whose rows the user may see."""
        if is_operator(request):
            return list(Organization.objects.values_list("pk", flat=True))
        return organization_ids(request, PERMISSIONS[self.area].view)
