"""Search in the lists of leads, and of rows that belong to a lead."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from leads.search import MAX_FOUND, find_leads, is_any_of
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, is_operator, organization_ids
from staff.toolkit.tenant import TenantAdmin


class LeadSearchAdmin(TenantAdmin):
    """An admin page whose list finds rows by their lead's name, e-mail and phone, and by their own reference."""

    reference_column: str | None = "external_reference"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that match, each once. Raises BadRequest for a search that would be too expensive."""
        super().get_search_results(request, queryset, search_term)  # which checks its length
        if not search_term.strip():
            return queryset, False
        ids = find_leads(self.searched_organizations(request), search_term)
        if self.reference_column:
            ids = self.rows_found(request, search_term, ids)
        return queryset.filter(is_any_of("pk", ids)), False

    def rows_found(self, request: HttpRequest, text: str, lead_ids: list[UUID], most: int = MAX_FOUND) -> list[UUID]:
        """Return the ids of rows of these leads, and of those whose reference is the text; at most so many of each."""
        # One statement after the other: as one, the planner may join them in an order that takes seconds.
        rows = self.get_queryset(request).order_by().values_list("pk", flat=True)
        of_leads = rows.filter(is_any_of("lead_id", lead_ids))[:most]
        reference = {str(self.reference_column): text.strip()}
        return [*of_leads, *rows.filter(organization__in=self.searched_organizations(request), **reference)[:most]]

    def searched_organizations(self, request: HttpRequest) -> list[UUID]:
        """Return the ids of the organizations whose rows the user may see."""
        if is_operator(request):
            return list(Organization.objects.values_list("pk", flat=True))
        return organization_ids(request, PERMISSIONS[self.area].view)
