"""The search over everything (Ctrl-K): leads, appointments and pages of the menu, as a page and for a dialog.

What is found is never kept: no cache of the server or the browser has it, so nothing outlives an erasure. The number of
statements and of rows that they read doesn't grow with the tables.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.db.models import F, Model, QuerySet, Value
from django.db.models.functions import Greatest
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse

from appointments.models import Appointment
from foundation.db.timestamps import now
from leads.models import Lead
from leads.search import find_leads, is_any_of
from organizations.isolation import TenantModel
from staff.configuration.statuses import status_label
from staff.leads.search import row_ids, searched_organizations
from staff.menu import menu
from staff.toolkit.actions import row_url
from staff.toolkit.columns import when
from staff.toolkit.lists import MAX_SEARCH_LENGTH, MAX_SEARCH_WORDS
from staff.toolkit.tenant import TenantAdmin, has_several_organizations

MIN_LENGTH = 2
MAX_SHOWN = 8  # of each kind
MAX_FOUND = 1_000  # of the leads, of which the shown ones are chosen; of a few letters there may be more


class Result(NamedTuple):
    """A link to a row or a page. `below` has the smaller texts under its title."""

    url: str
    title: str
    below: Sequence[object] = ()
    badge: object = ""


class Group(NamedTuple):
    """The results of one kind. `all_url` is the list of all of them."""

    label: str
    icon: str
    results: list[Result]
    all_url: str = ""


def search_page(request: HttpRequest) -> TemplateResponse:
    """Return the page with what is found, or that part of it which the dialog shows."""
    text = request.GET.get("q", "").strip()
    is_too_long = len(text) > MAX_SEARCH_LENGTH or len(text.split()) > MAX_SEARCH_WORDS
    groups = [] if is_too_long or len(text) < MIN_LENGTH else list(find(request, text))
    context = {"text": text, "groups": groups, "answer": answer(text, groups, is_too_long=is_too_long)}
    if "dialog" in request.GET:
        return TemplateResponse(request, "admin/search_results.html", {**context, "in_dialog": True})
    return TemplateResponse(
        request, "admin/search.html", {**admin.site.each_context(request), "title": "Search", **context}
    )


def answer(text: str, groups: list[Group], *, is_too_long: bool) -> str:
    """Return in a sentence what was found, or why nothing was searched."""
    if is_too_long:
        return f"Search for at most {MAX_SEARCH_WORDS} words and {MAX_SEARCH_LENGTH} characters."
    if len(text) < MIN_LENGTH:
        return f"Type at least {MIN_LENGTH} characters of a name, an e-mail, a phone number or a reference."
    if not groups:
        return f"Nothing found for “{text}”. Try the beginning of the name or the e-mail, or another number."
    counts = [f"the first {MAX_SHOWN}" if len(found) == MAX_SHOWN else len(found) for _, _, found, _ in groups]
    return f"{', '.join(f'{group.label}: {count}' for group, count in zip(groups, counts, strict=True))}."


def find(request: HttpRequest, text: str) -> Iterator[Group]:
    """Yield the groups that have results: leads by their last change, appointments nearest to now, pages."""
    leads, appointments = list_page(Lead), list_page(Appointment)
    lead_ids: list[UUID] = []
    if leads.has_view_permission(request):
        lead_ids = find_leads(searched_organizations(leads, request), text, MAX_FOUND)
        rows = leads.get_queryset(request).filter(is_any_of("pk", lead_ids))
        results = [lead_result(request, lead) for lead in nearest(rows, "updated_at")]
        if results:
            yield Group("Leads", "person", results, list_url(leads, text))
    if appointments.has_view_permission(request):
        ids = row_ids(appointments, request, text, lead_ids, MAX_FOUND)
        rows = appointments.get_queryset(request).filter(is_any_of("pk", ids))
        results = [appointment_result(request, appointment) for appointment in nearest(rows, "schedule_time")]
        if results:
            yield Group("Appointments", "event", results, list_url(appointments, text))
    if pages := [page for page in menu_pages(request) if is_named(page.title, text)]:
        yield Group("Pages", "arrow_forward", pages)


def nearest(rows: QuerySet[Any], column: str) -> QuerySet[Any]:
    """Return the rows whose time is nearest to now."""
    # By an expression that no index has: sorted by an index, PostgreSQL may read all rows to come to those few.
    time, at = F(column), Value(now())
    return rows.order_by(Greatest(time - at, at - time), "pk")[:MAX_SHOWN]


def list_page(model: type[Model]) -> TenantAdmin:
    """Return the admin page of leads or appointments."""
    return cast(TenantAdmin, admin.site.get_model_admin(model))


def list_url(page: TenantAdmin, text: str) -> str:
    """Return the address of the list of all rows that match."""
    return f"{reverse(f'admin:{page.list_name}')}?{urlencode({'q': text})}"


def lead_result(request: HttpRequest, lead: Lead) -> Result:
    """Return the link to a lead: name, e-mail, phone and status."""
    title = str(lead)
    below = [lead.email if title != lead.email else "", lead.phone_e164, organization_name(request, lead)]
    return Result(row_url(lead), title, list(filter(None, below)), status_label(lead.status))


def appointment_result(request: HttpRequest, appointment: Appointment) -> Result:
    """Return the link to an appointment: lead, time, host and outcome."""
    host = f"Host: {appointment.host}" if appointment.host else "No host"
    below = [when(appointment.schedule_time), host, organization_name(request, appointment)]
    badge = status_label(appointment.outcome) if appointment.outcome else "No outcome"
    return Result(row_url(appointment), str(appointment.lead), list(filter(None, below)), badge)


def organization_name(request: HttpRequest, row: TenantModel) -> str:
    """Return the organization's name for people who see several."""
    return str(row.organization) if has_several_organizations(request) else ""


def menu_pages(request: HttpRequest) -> Iterator[Result]:
    """Yield the pages of the user's menu."""
    for group in menu(request):
        for item in cast(list[dict[str, str]], group["items"]):
            yield Result(item["link"], item["title"])


def is_named(title: str, text: str) -> bool:
    """Return whether each word of the text is the beginning of one of the title's."""
    words = title.casefold().split()
    return all(any(word.startswith(part) for word in words) for part in text.casefold().split())
