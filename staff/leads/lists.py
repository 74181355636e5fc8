"""Columns and search of the lists of leads, and of rows that belong to a lead."""

from datetime import UTC
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.http import HttpRequest
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from appointments.models import Appointment
from foundation.db.expressions import is_any_of
from foundation.db.timestamps import now
from leads.models import CallResult, Lead, LeadNote
from leads.search import MAX_FOUND, find_leads
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, is_operator, organization_ids
from staff.toolkit.actions import AnyPage
from staff.toolkit.lists import NOTHING, day_and_time, two_lines


def contact(lead: Lead, url: str, calls: str = "") -> SafeString:
    """Return the lead's name as a link to the URL, e-mail and phone, and what is known of calls."""
    name = f"{lead.first_name} {lead.last_name}".strip()
    first = format_html('<a class="list-link" href="{}">{}</a>', url, name or lead.email)
    below = [(text,) for text in (lead.email if name else "", phone_link(lead), calls) if text]
    parts = format_html_join(" ", "<span>{}</span>", below)
    return two_lines(first, format_html('<span class="list-contact">{}</span>', parts))


def phone_link(lead: Lead) -> SafeString | str:
    phone = lead.phone_e164
    return format_html('<a href="tel:{}" title="Call {}" draggable="false">{}</a>', phone, lead, phone) if phone else ""


def calls_of(lead: str) -> dict[str, Subquery]:
    """Return the annotations `call_count` and `last_call` of rows whose column `lead` is a lead's id."""
    calls = LeadNote.unscoped.filter(lead=OuterRef(lead), call_result__isnull=False)
    count = calls.order_by().values("lead").annotate(count=Count("pk")).values("count")
    last = calls.order_by("-created_at").annotate(summary=JSONObject(result="call_result", at="created_at"))
    return {"call_count": Subquery(count), "last_call": Subquery(last.values("summary")[:1])}


def describe_calls(row: Any) -> str:  # a row with the annotations of `calls_of`
    """Return the number of calls and the last one, such as "2 calls, last: No answer, today, 10:12", or ""."""
    if not row.call_count:
        return ""
    at = parse_datetime(row.last_call["at"])
    assert at
    time = day_and_time(at if at.tzinfo else at.replace(tzinfo=UTC), with_distance=False)
    result = CallResult(row.last_call["result"]).label
    return f"{result}, {time}" if row.call_count == 1 else f"{row.call_count} calls, last: {result}, {time}"


def editable(lead: Any, text: object, action: str, title: str) -> SafeString | str:
    """Return a cell whose text opens the form of the action, if the list has marked the lead as `may_change`."""
    if not getattr(lead, "may_change", False) or lead.is_erased:
        return str(text)
    url = reverse(f"admin:leads_lead_{action}", args=[lead.pk])
    return format_html('<a class="list-edit" data-form href="{}" title="{}">{}</a>', url, title, text)


@admin.display(description="Setter", ordering="setter")
def setter(lead: Lead) -> SafeString | str:
    return editable(lead, lead.setter or "Unassigned", "set_setter", "Change the setter")


@admin.display(description="Phone", ordering="phone_e164")
def phone(lead: Lead) -> SafeString:
    number = phone_link(lead)
    return format_html("{} {}", number, editable(lead, "Change" if number else "Add", "set_phone", "Change the phone"))


@admin.display(description="Next step", ordering="next_step_at")
def next_step(lead: Lead) -> SafeString | str:
    if lead.next_step_at:
        return editable(lead, describe_step(lead), "change_next_step", "Change the next step")
    return editable(lead, describe_step(lead), "set_next_step", "Set the next step")


def describe_step(lead: Lead) -> SafeString | str:
    if lead.next_step_at:
        label, time = lead.get_next_step_type_display() or "Next step", lead.next_step_at
    elif lead.next_touch_point_at:
        label, time = lead.get_next_touch_point_type_display() or "Touch point", lead.next_touch_point_at
    else:
        return NOTHING
    is_overdue = lead.next_step_at and time < now()
    return format_html('<span class="{}">{}, {}</span>', "list-due" if is_overdue else "", label, day_and_time(time))


def find_by_lead(page: AnyPage, request: HttpRequest, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    """Filter leads by name, e-mail and phone; rows of a lead by those, and by their own reference."""
    lead_ids = find_leads(searched_organizations(page, request), text)
    if page.model is Lead:
        return rows.filter(is_any_of("pk", lead_ids))
    ids = row_ids(page, request, text, lead_ids, MAX_FOUND)
    if len(ids) < MAX_FOUND:
        return rows.filter(is_any_of("pk", ids))
    return rows.filter(is_any_of("pk", ids) | is_any_of("lead_id", lead_ids))  # there may be more than were read


def row_ids(page: AnyPage, request: HttpRequest, text: str, lead_ids: list[UUID], most: int) -> list[UUID]:
    """Return up to `most` ids of these leads' rows, and up to `most` whose reference, now or formerly, is the text."""
    # One statement after the other: as one, the planner may join them in an order that takes seconds.
    rows = page.get_queryset(request).order_by().values_list("pk", flat=True)
    of_leads = rows.filter(is_any_of("lead_id", lead_ids))[:most]
    organizations, reference = searched_organizations(page, request), text.strip()
    found = [*of_leads, *rows.filter(organization__in=organizations, external_reference=reference)[:most]]
    if page.model is Appointment:
        former = {"former_references__external_reference": reference}
        found += rows.filter(former_references__organization__in=organizations, **former)[:most]
    return found


def searched_organizations(page: AnyPage, request: HttpRequest) -> list[UUID]:
    if is_operator(request):
        return list(Organization.objects.values_list("pk", flat=True))
    return organization_ids(request, PERMISSIONS[page.area].view)
