"""Search in the lists of leads, and of rows that belong to a lead."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from leads.models import Lead
from leads.search import MAX_FOUND, find_leads, is_any_of
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, is_operator, organization_ids
from staff.toolkit.actions import AnyPage


def find_by_lead(page: AnyPage, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Filter leads by name, e-mail and phone; rows of a lead by those, and by their own reference."""
    ids = find_leads(searched_organizations(page, request), text)
    if page.model is not Lead:
        ids = row_ids(page, request, text, ids)
    return rows.filter(is_any_of("pk", ids))


def row_ids(page: AnyPage, request: HttpRequest, text: str, lead_ids: list[UUID], most: int = MAX_FOUND) -> list[UUID]:
    """Return up to `most` ids of these leads' rows, and up to `most` whose reference equals the text."""
    # One statement after the other: as one, the planner may join them in an order that takes seconds.
    rows = page.get_queryset(request).order_by().values_list("pk", flat=True)
    of_leads = rows.filter(is_any_of("lead_id", lead_ids))[:most]
    organizations = searched_organizations(page, request)
    return [*of_leads, *rows.filter(organization__in=organizations, external_reference=text.strip())[:most]]


def searched_organizations(page: AnyPage, request: HttpRequest) -> list[UUID]:
    if is_operator(request):
        return list(Organization.objects.values_list("pk", flat=True))
    return organization_ids(request, PERMISSIONS[page.area].view)
