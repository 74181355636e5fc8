"""The search over everything (Ctrl-K): leads, appointments and pages of the menu, as a page and for a dialog.

No cache of the server or the browser has the results, so none outlives an erasure. The number of statements and of rows
that they read doesn't grow with the tables.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from appointments.models import Appointment
from foundation.db.expressions import is_any_of
from foundation.db.timestamps import now
from leads.models import Lead
from leads.search import find_leads
from staff.configuration.statuses import status_label
from staff.leads.lists import row_ids, searched_organizations
from staff.menu import menu
from staff.toolkit.actions import row_url
from staff.toolkit.lists import SEARCH_LIMIT, day_and_time, is_too_long_to_search
from staff.toolkit.tenant import TenantAdmin, has_several_organizations

MIN_LENGTH = 2
MAX_SHOWN = 8  # of each kind
MAX_FOUND = 1_000  # leads, among which the nearest are shown; a few letters may match more


class Result(NamedTuple):
    """A link to a row or a page. `below` has the smaller texts under its title; some may be empty."""

    url: str
    title: str
    below: Sequence[object] = ()
    badge: object = ""


class Group(NamedTuple):
    label: str
    icon: str
    results: list[Result]
    all_url: str = ""


def search_page(request: HttpRequest) -> TemplateResponse:
    text = request.GET.get("q", "").strip()
    groups: list[Group] = []
    if is_too_long_to_search(text):
        answer = SEARCH_LIMIT
    elif len(text) < MIN_LENGTH:
        answer = f"Type at least {MIN_LENGTH} characters of a name, an e-mail, a phone number or a reference."
    else:
        groups = [group for group in search(request, text) if group.results]
        answer = summary(text, groups)
    context = {"text": text, "groups": groups, "answer": answer}
    if "dialog" in request.GET:
        return TemplateResponse(request, "admin/search_results.html", {**context, "in_dialog": True})
    return TemplateResponse(
        request, "admin/search.html", {**admin.site.each_context(request), "title": "Search", **context}
    )


def summary(text: str, groups: list[Group]) -> str:
    if not groups:
        return f"Nothing found for “{text}”. Try the beginning of the name or the e-mail, or another number."
    counts = {group.label: len(group.results) for group in groups}
    texts = [f"{label}: {'the first ' * (count == MAX_SHOWN)}{count}" for label, count in counts.items()]
    return f"{', '.join(texts)}."


def search(request: HttpRequest, text: str) -> Iterator[Group]:
    """Yield the groups: leads by their last change, appointments nearest to now, pages."""
    leads, appointments = (cast(TenantAdmin, admin.site.get_model_admin(model)) for model in (Lead, Appointment))
    has_several = has_several_organizations(request)
    query = f"?{urlencode({'q': text})}"
    lead_ids: list[UUID] = []
    if leads.has_view_permission(request):
        lead_ids = find_leads(searched_organizations(leads, request), text, MAX_FOUND)
        rows = nearest(leads, request, lead_ids, "updated_at")
        results = [lead_result(lead, str(lead.organization) if has_several else "") for lead in rows]
        yield Group("Leads", "person", results, reverse(f"admin:{leads.list_name}") + query)
    if appointments.has_view_permission(request):
        ids = row_ids(appointments, request, text, lead_ids, MAX_FOUND)
        rows = nearest(appointments, request, ids, "schedule_time")
        results = [appointment_result(row, str(row.organization) if has_several else "") for row in rows]
        yield Group("Appointments", "event", results, reverse(f"admin:{appointments.list_name}") + query)
    items = [item for group in menu(request) for item in cast(list[dict[str, str]], group["items"])]
    pages = [Result(item["link"], item["title"]) for item in items if is_named(item["title"], text)]
    yield Group("Pages", "arrow_forward", pages)


def nearest(page: TenantAdmin, request: HttpRequest, ids: list[UUID], column: str) -> QuerySet[Any]:
    # By an expression that no index has: sorted by an index, PostgreSQL may read all rows to come to those few.
    time, at = F(column), Value(now())
    rows = page.get_queryset(request).filter(is_any_of("pk", ids))
    return rows.order_by(Greatest(time - at, at - time), "pk")[:MAX_SHOWN]


def lead_result(lead: Lead, organization: str) -> Result:
    title = str(lead)
    below = [lead.email if title != lead.email else "", lead.phone_e164, organization]
    return Result(row_url(lead), title, below, status_label(lead.status))


def appointment_result(appointment: Appointment, organization: str) -> Result:
    host = f"Host: {appointment.host}" if appointment.host else "No host"
    badge = status_label(appointment.outcome) if appointment.outcome else "No outcome"
    below = [day_and_time(appointment.schedule_time), host, organization]
    return Result(row_url(appointment), str(appointment.lead), below, badge)


def is_named(title: str, text: str) -> bool:
    """Return whether each word of the text is the beginning of one of the title's."""
    words = title.casefold().split()
    return all(any(word.startswith(part) for word in words) for part in text.casefold().split())
