"""The list of possible duplicates, and the pages on which two leads are compared, merged and separated again."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.views import ChangeList

from foundation.api.exceptions import Conflict, DomainError
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import isoformat_z
from leads.duplicates import describe_reasons, dismiss, find_similar
from leads.merging import CHOICES, UNDO_DAYS, merge_leads, reason_against_undoing, undo_merge, when
from leads.models import Lead, PossibleDuplicate
from leads.topics import MERGED
from organizations.actors import staff_actor
from organizations.permissions import Area, current_user
from staff.leads.columns import contact
from staff.leads.comparison import compare, counts, custom_fields, warnings_about
from staff.toolkit.actions import change_selected, page_context, row_url
from staff.toolkit.columns import two_lines
from staff.toolkit.record import Card, Fact
from staff.toolkit.tenant import TenantAdmin
from staff.toolkit.views import ALL, View
from webhooks.models import Endpoint


def lead_page() -> Any:  # its module imports this one
    """Return the admin page of leads."""
    return admin.site.get_model_admin(Lead)


def compare_url(lead_id: UUID, other_id: UUID) -> str:
    """Return the address of the page that compares two leads."""
    return f"{reverse('admin:leads_lead_merge', args=[lead_id])}?with={other_id}"


def lead_urls(page: TenantAdmin) -> list[URLPattern]:
    """Return the addresses below a lead's page."""
    views = {"duplicates": duplicates_view, "merge": merge_view}

    def wrap(view: Any) -> Any:
        return page.admin_site.admin_view(lambda request, object_id: view_of_kept(page, request, object_id, view))

    return [path(f"<path:object_id>/{name}/", wrap(view), name=f"leads_lead_{name}") for name, view in views.items()]


def view_of_kept(page: Any, request: HttpRequest, object_id: str, view: Any) -> HttpResponse:  # page: a LeadAdmin
    """Return the view's response, or lead to the kept lead if one of those in the address was merged."""
    try:
        response: HttpResponse = view(page, request, object_id)
    except Http404:
        for id in (object_id, request.GET.get("with", "")):
            kept: HttpResponse | None = page.redirect_to_kept(request, id)
            if kept:
                return kept
        raise
    return response


def get_lead(page: TenantAdmin, request: HttpRequest, object_id: str) -> Lead:
    """Return the lead, which the user may see and, to change anything, write. Raises Http404 and PermissionDenied."""
    lead: Lead | None = page.get_object(request, unquote(object_id))
    if lead is None:
        raise Http404
    if not page.has_write_permission(request, lead):
        raise PermissionDenied
    return lead


def duplicates_view(page: TenantAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the leads that may be the same person, a search for another one, and the merges that can be undone."""
    lead = get_lead(page, request, object_id)
    if request.method == "POST":
        return undo(page, request, lead)
    wanted = request.GET.get("find", "").strip()
    rows = page.get_queryset(request).filter(organization=lead.organization).exclude(pk=lead.pk)
    similar = {found.lead_id: describe_reasons(found.reasons) for found in find_similar(lead)}
    found = page.get_search_results(request, rows, wanted)[0][:20] if wanted else []
    merges = list(lead.merges.order_by("-created_at"))
    context = page_context(page, request, lead, "Duplicates") | {
        "similar": [(row, similar[row.pk], compare_url(lead.pk, row.pk)) for row in in_order(rows, similar)],
        "found": [(row, compare_url(lead.pk, row.pk)) for row in found],
        "wanted": wanted,
        "merges": [(merge, when(merge.created_at), reason_against_undoing(merge)) for merge in merges],
        "days": UNDO_DAYS,
    }
    return TemplateResponse(request, "leads/duplicates.html", context)


def in_order(rows: QuerySet[Lead], ids: Iterable[UUID]) -> list[Lead]:
    """Return the rows with these ids, in the order of the ids."""
    found = {row.pk: row for row in rows.filter(pk__in=ids)}
    return [found[id] for id in ids if id in found]


def undo(page: TenantAdmin, request: HttpRequest, lead: Lead) -> HttpResponse:
    """Undo one of the lead's merges."""
    try:
        row = lead.merges.filter(pk=request.POST.get("merge", "")).first()
    except ValidationError:
        row = None
    if row is None:
        messages.warning(request, "This was undone already.")
        return redirect(row_url(lead))
    try:
        restored = undo_merge(organization=lead.organization, actor=staff_actor(current_user(request)), merge_id=row.pk)
    except DomainError as error:
        messages.error(request, str(error))
        return redirect("admin:leads_lead_duplicates", lead.pk)
    page.log_change(request, lead, "Merge undone.")
    messages.success(request, format_html("{} is a lead of its own again.", lead_link(restored)))
    return redirect(row_url(lead))


def lead_link(lead: Lead) -> SafeString:
    """Return a link to the lead's page."""
    return format_html('<a class="underline" href="{}">{}</a>', row_url(lead), lead)


def duplicates_card(request: HttpRequest, lead: Lead) -> Card | None:
    """Return the card of a lead's page that leads to its duplicates, for those who may merge them."""
    if not lead_page().has_write_permission(request, lead):
        return None
    url, count, merged = reverse("admin:leads_lead_duplicates", args=[lead.pk]), len(find_similar(lead)), lead.merges
    text = f"{count} possible duplicate{'' if count == 1 else 's'}" if count else "Merge with another lead"
    facts = [Fact("Same person", text, url)]
    if names := [str(merge) for merge in merged.all()]:
        facts.append(Fact("Merged leads", ", ".join(names), url))
    return Card("Duplicates", facts)


def merge_view(page: TenantAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show two leads side by side, the older one first; merge them, or remember that they are not the same person."""
    lead, other_id = get_lead(page, request, object_id), request.GET.get("with", "")
    if not other_id:
        return redirect("admin:leads_lead_duplicates", lead.pk)
    leads = [lead, get_lead(page, request, other_id)]
    older, newer = sorted(leads, key=lambda lead: (lead.created_at, lead.pk))
    if older.pk == newer.pk or older.organization_id != newer.organization_id:
        raise Http404
    if request.method == "POST" and "dismiss" in request.POST:
        dismiss(organization=older.organization, leads=(older.pk, newer.pk))
        messages.success(request, f"{older} and {newer} are remembered as two people.")
        return redirect("admin:leads_possibleduplicate_changelist")
    if request.method == "POST":
        try:
            return merge_chosen(page, request, older, newer)
        except DomainError as error:
            messages.error(request, str(error))
    lines = list(compare(older, newer))
    context = page_context(page, request, leads[0], "Compare and merge") | {
        "leads": [(lead, row_url(lead), isoformat_z(lead.updated_at), counts(lead)) for lead in (older, newer)],
        "lines": lines,
        "warnings": list(warnings_about(older, newer)),
        "endpoints": Endpoint.objects.of(older.organization)
        .filter(Q(event_types=[]) | Q(event_types__contains=[MERGED.name]), is_active=True)
        .count(),
        "days": UNDO_DAYS,
    }
    return TemplateResponse(request, "leads/merge.html", context)


def merge_chosen(page: TenantAdmin, request: HttpRequest, older: Lead, newer: Lead) -> HttpResponse:
    """Merge the leads as the form says, and show the kept one."""
    keep, other = (newer, older) if request.POST.get("keep") == str(newer.pk) else (older, newer)
    names = [*CHOICES, *(str(field.pk) for field in custom_fields(older))]
    try:
        versions = {lead.pk: parse_timestamp(request.POST.get(f"version_{lead.pk}", "")) for lead in (older, newer)}
    except ValueError:
        raise Conflict("Open the page again.") from None
    with transaction.atomic():
        lead = merge_leads(
            organization=keep.organization,
            actor=staff_actor(current_user(request)),
            keep=keep.pk,
            merge=other.pk,
            values=[name for name in names if request.POST.get(name) == str(other.pk)],
            versions=versions,
        )
        page.log_change(request, lead, "Merged with another lead.")
    undo_url = reverse("admin:leads_lead_duplicates", args=[lead.pk])
    text = 'The two leads are one. <a class="underline" href="{}">Undo</a> within {} days.'
    messages.success(request, format_html(text, undo_url, UNDO_DAYS))
    return redirect(row_url(lead))


@admin.register(PossibleDuplicate)
class PossibleDuplicateAdmin(TenantAdmin):
    """Pairs of leads that may be the same person."""

    empty_text = "They appear when two leads share a mailbox, a phone number or a name."
    area = Area.WORK
    can_add = False
    is_read_only = True
    list_display = ("older", "newer", "in_common")
    list_display_links = None
    select_related = ("first", "second")
    actions = ("dismiss_selected",)
    ordering = ("-reasons", "-first_id", "second_id")
    views = (
        View(
            "possible",
            "Possible",
            lambda request, rows: rows.filter(is_dismissed=False),
            empty="No two leads have the same mailbox, phone or full name. New leads are compared within minutes.",
        ),
        View("dismissed", "Not duplicates", lambda request, rows: rows.filter(is_dismissed=True)),
        ALL,
    )

    def has_write_permission(self, request: HttpRequest, obj: PossibleDuplicate | None = None) -> bool:
        """Return whether the user may change both leads."""
        page = lead_page()
        if obj is None:
            return bool(page.has_write_permission(request))
        return all(page.has_write_permission(request, lead) for lead in (obj.first, obj.second))

    def writable_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Filter the pairs to those of which the user may change both leads."""
        leads = lead_page().writable_rows(request, Lead.unscoped.all()).values("pk")
        return rows.filter(first__in=leads, second__in=leads)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list, whose pairs know whether the user may change both leads."""
        changelist = super().get_changelist_instance(request)
        shown = PossibleDuplicate.unscoped.filter(pk__in=[pair.pk for pair in changelist.result_list])
        writable = set(self.writable_rows(request, shown).values_list("pk", flat=True))
        for pair in changelist.result_list:
            pair.is_writable = pair.pk in writable
        return changelist

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the page that compares the two leads."""
        pair = self.get_object(request, unquote(object_id))
        if pair is None:
            raise Http404
        return redirect(compare_url(pair.first_id, pair.second_id))

    @admin.display(description="Lead")
    def older(self, pair: PossibleDuplicate) -> SafeString:
        """Return the name and how to reach the lead that was added first."""
        return describe(pair.first)

    @admin.display(description="Possible duplicate")
    def newer(self, pair: PossibleDuplicate) -> SafeString:
        """Return the name and how to reach the other lead."""
        return describe(pair.second)

    @admin.display(description="In common", ordering="reasons")
    def in_common(self, pair: PossibleDuplicate) -> SafeString:
        """Return what the two leads have in common, and a link to the page that compares them for who may merge."""
        reasons = describe_reasons(pair.reasons) or "–"
        if not getattr(pair, "is_writable", False):
            return format_html("{}", reasons)
        url, label = compare_url(pair.first_id, pair.second_id), f"Compare {pair.first} and {pair.second}"
        link = format_html('<a class="text-link underline" href="{}" aria-label="{}">Compare</a>', url, label)
        return two_lines(link, reasons)

    @admin.action(description="Not duplicates", permissions=["change"])
    def dismiss_selected(self, request: HttpRequest, rows: QuerySet[PossibleDuplicate]) -> HttpResponse | None:
        """Remember that the leads of the selected pairs are different people, after a confirmation page."""
        return change_selected(
            self,
            request,
            rows,
            lambda pair: dismiss(organization=pair.organization, leads=(pair.first_id, pair.second_id)),
            action="dismiss_selected",
            title="Not duplicates",
            question="Are these different people? They are not shown as possible duplicates again.",
        )


def describe(lead: Lead) -> SafeString:
    """Return the lead's name as a link, with e-mail and phone below."""
    return format_html('<a class="break-words text-link" href="{}">{}</a>', row_url(lead), contact(lead))
