"""The admin's pages, as an owner and a closer open them: each list with its views and layouts, a row, searches.

The pages are those of the admin's registry, so a new list is explained without being named here.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Count
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from appointments.models import Appointment
from leads.models import CustomField, Lead, PossibleDuplicate
from organizations.models import MemberRole, Membership, Organization
from staff.reports import REPORT_BY
from staff.toolkit.custom_fields import form_field_name
from staff.toolkit.tenant import TenantAdmin

RARE_TEXT = "Rare"  # the value of one of 5,000 rows in each text and choice
ENOUGH = 20_000  # rows of a list whose last page is opened, in every view
# Of the lists of many rows: beyond the first page, in another order, with a filter, or with a search.
FURTHER = {
    "appointments/appointment": {
        "past, last page": "view=past&p=200",
        "all, last page": "view=all&p=200",
        "all by lead": "view=all&o=1",
        "search": "q=ada",
        "search by phone": "q=(415)+555-2671",
        "calendar, day": "view=all&layout=calendar&days=1",
        "work: today": "work=today",
        "won, of a week": "result=won",
    },
    "leads/lead": {
        "all, last page": "view=all&p=200",
        "all by name": "view=all&o=1",
        "search": "q=ada",
        "next steps due": "work=follow_up",
        "own next steps due": "work=my_step",
    },
    "optins/optin": {"all, last page": "view=all&p=200", "search": "q=ada", "not called yet": "stage=not_called"},
    "webhooks/event": {"last page": "p=200", "search": "q=olivia"},
    "webhooks/delivery": {
        "last page": "p=200",
        "by event": "o=1",
        "dead": "state__exact=DEAD",
        "pending": "state__exact=PENDING",
    },
    "notifications/notification": {"last page": "p=200", "dead": "state__exact=DEAD"},
}
# After the name of a custom field's parameter: a value that many rows have, one that few have, and none.
CUSTOM_QUERIES = {
    CustomField.Type.TEXT: ["_has=oor", f"_has={RARE_TEXT}", "_has=nowhere", "=none"],
    CustomField.Type.NUMBER: ["_from=5", "_from=1000000", "_to=-1", "=none"],
    CustomField.Type.BOOLEAN: ["=1", "=none"],
    CustomField.Type.DATE: ["_from=2020-01-01", "_from=2035-01-01", "_to=1990-01-01", "=none"],
    CustomField.Type.SELECT: ["=Growth", f"={RARE_TEXT}", "=nowhere", "=none"],
}


def pages(organization: Organization) -> Iterator[tuple[str, str, Client]]:
    """Yield titles and paths of the organization's pages, each with a client of somebody who may open it."""
    admin.autodiscover()
    clients = {role: logged_in(organization, role) for role in (MemberRole.OWNER, MemberRole.CLOSER)}
    yield from pages_of_no_model(clients)
    for model, page in admin.site._registry.items():
        if isinstance(page, TenantAdmin):
            for title, path in list_pages(page):
                yield title, path, clients[MemberRole.OWNER]
            row = page.model._default_manager.filter(organization=organization).order_by("pk").first()
            for title, path in row_pages(model, row):
                yield title, path, clients[MemberRole.OWNER]
    for model in (Appointment, Lead):
        for title, path in list_pages(admin.site.get_model_admin(model)):
            if "search" not in title:
                yield f"{title}, closer", path, clients[MemberRole.CLOSER]
    for title, path in (*filtered_pages(organization), *long_story(organization)):
        yield title, path, clients[MemberRole.OWNER]


def pages_of_no_model(clients: dict[MemberRole, Client]) -> Iterator[tuple[str, str, Client]]:
    """Yield the home page, the search of everything, and the reports."""
    for role, client in clients.items():
        yield f"home, {role.label.lower()}", "", client
        yield f"home, {role.label.lower()}, 90 days", "?days=90&who=team", client
        yield f"search of everything, {role.label.lower()}", "search/?q=ada", client
    for days in (30, 90):
        for by in REPORT_BY:
            yield f"report, {days} days, by {by}", f"reports/?days={days}&by={by}", clients[MemberRole.OWNER]


def logged_in(organization: Organization, role: MemberRole) -> Client:
    """Return a client logged in as the member with this role who has most appointments."""
    members = Membership.objects.of(organization).filter(role=role, is_active=True, user__is_active=True)
    counts = dict(Appointment.objects.of(organization).order_by().values_list("host").annotate(Count("pk")))
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(max(members, key=lambda member: counts.get(member.pk, 0)).user)
    return client


def list_pages(page: Any) -> Iterator[tuple[str, str]]:
    """Yield the pages of a list: each view, each layout of all rows, and further ones."""
    name, path = page.opts.verbose_name_plural, f"{page.opts.app_label}/{page.opts.model_name}"
    queries = {view.label.lower(): f"view={view.name}" for view in page.views} or {"": ""}
    queries |= {layout.label.lower(): f"view=all&layout={layout.name}" for layout in page.layouts[1:]}
    is_large = page.model._default_manager.order_by()[:ENOUGH].count() == ENOUGH
    for title, query in {**queries, **FURTHER.get(path, {})}.items():
        if title.endswith("last page") and not is_large:
            continue
        yield f"{name}: {title}" if title else str(name), f"{path}/?{query}"


def row_pages(model: Any, row: Any) -> Iterator[tuple[str, str]]:
    """Yield the page of a row and that of its history."""
    if row is not None:
        for view, title in {"change": "a row", "history": "history of a row"}.items():
            url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}", args=[row.pk])
            yield f"{model._meta.verbose_name_plural}: {title}", url.removeprefix("/admin/")


def long_story(organization: Organization) -> Iterator[tuple[str, str]]:
    """Yield the pages of the lead with the longest story, and of two that are compared."""
    counts = Appointment.objects.of(organization).order_by().values_list("lead").annotate(Count("pk"))
    lead = Lead.objects.of(organization).get(pk=counts.order_by("-pk__count")[0][0])
    appointment = lead.appointments.latest("created_at")
    yield "lead with a long story", f"leads/lead/{lead.pk}/change/"
    for kind in ("notes", "appointments", "webhooks", "mails"):
        yield f"lead with a long story: {kind}", f"leads/lead/{lead.pk}/change/?kind={kind}"
    yield "lead with a long story: duplicates", f"leads/lead/{lead.pk}/duplicates/"
    yield "lead with a long story: history", f"leads/lead/{lead.pk}/history/"
    yield "lead with a long story: appointment", f"appointments/appointment/{appointment.pk}/change/"
    if pair := PossibleDuplicate.objects.of(organization).first():
        yield "compare two leads", f"leads/lead/{pair.first_id}/merge/?with={pair.second_id}"


def filtered_pages(organization: Organization) -> Iterator[tuple[str, str]]:
    """Yield lists of leads and appointments by each custom field, and by how long rows have had their status."""
    paths = {CustomField.Entity.LEAD: "leads/lead", CustomField.Entity.APPOINTMENT: "appointments/appointment"}
    for field in CustomField.objects.of(organization).order_by("entity", "position"):
        name, path = form_field_name(field.pk), paths[CustomField.Entity(field.entity)]
        for query in CUSTOM_QUERIES[field.type]:
            yield f"{path}: {field.label}, {query}", f"{path}/?view=all&{name}{query}"
    today = timezone.localdate()
    month, year = today - timedelta(days=30), today - timedelta(days=365)
    for path in paths.values():
        for query in ("since_days=1", "since_days=30", "since_days=365", f"since_from={month}", f"since_to={year}"):
            yield f"{path}: {query}", f"{path}/?view=all&{query}"
        yield f"{path}: a month", f"{path}/?view=all&since_from={month}&since_to={month}"
