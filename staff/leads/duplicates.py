"""The list of possible duplicates, and the pages that compare two leads, merge them and undo a merge."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
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
from leads.merging import CHOICES, MAX_UNDOABLE, UNDO_DAYS, merge_leads, reason_against_undoing, undo_merge, when
from leads.models import ERASED_EMAIL, Lead, PossibleDuplicate
from leads.topics import MERGED
from organizations.permissions import Area
from staff.leads.comparison import compare, custom_fields, describe_moving_rows, warnings_about
from staff.leads.lists import contact
from staff.toolkit.actions import actor_of, page_context, row_url
from staff.toolkit.bulk import selected_action
from staff.toolkit.lists import SEARCH_LIMIT, column, is_too_long_to_search, to_uuid, two_lines
from staff.toolkit.record import Card, Fact, RecordAdmin
from staff.toolkit.tenant import TenantAdmin
from staff.toolkit.views import ALL, View
from webhooks.models import Endpoint


def compare_url(lead_id: UUID, other_id: UUID) -> str:
    return f"{reverse('admin:leads_lead_merge', args=[lead_id])}?with={other_id}"


def lead_urls(page: TenantAdmin) -> list[URLPattern]:
    def view(content: Callable[..., HttpResponse], request: HttpRequest, object_id: str) -> HttpResponse:
        try:
            return content(page, request, object_id)
        except Http404:
            for id in (object_id, request.GET.get("with", "")):
                if response := redirect_to_kept(page, request, id):
                    return response
            raise

    return [
        path(f"<path:object_id>/{name}/", page.admin_site.admin_view(partial(view, content)), name=f"leads_lead_{name}")
        for name, content in {"duplicates": duplicates_view, "merge": merge_view}.items()
    ]


def merged_into(page: TenantAdmin, request: HttpRequest, object_id: str) -> Lead | None:
    lead: Lead | None = page.get_queryset(request).filter(merges__previous_id=to_uuid(unquote(object_id))).first()
    return lead


def redirect_to_kept(page: TenantAdmin, request: HttpRequest, object_id: str) -> HttpResponse | None:
    """Return the redirect to the lead that this one was merged into, or None if it wasn't."""
    lead = merged_into(page, request, object_id)
    if lead is None:
        return None
    nothing = " Nothing was saved." if request.method == "POST" else ""
    messages.warning(request, f"The lead you opened was merged into this one.{nothing}")
    return redirect(row_url(lead))


def duplicates_view(page: TenantAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the leads that may be the same person, a search for another one, and the merges that can be undone."""
    lead = page.get_row(request, object_id)
    if request.method == "POST":
        return undo(page, request, lead)
    text = request.GET.get("find", "").strip()
    rows = page.get_queryset(request).filter(organization=lead.organization).exclude(pk=lead.pk)
    rows = rows.exclude(email__endswith=ERASED_EMAIL)
    matches = find_similar(lead)
    similar = rows.in_bulk([match.lead_id for match in matches])
    others = page.get_search_results(request, rows, text)[0][:20] if text else []
    merges = list(lead.merges.order_by("-created_at")[:MAX_UNDOABLE])
    context = page_context(page, request, lead, "Duplicates") | {
        "similar": [
            (similar[match.lead_id], describe_reasons(match.reasons), compare_url(lead.pk, match.lead_id))
            for match in matches
            if match.lead_id in similar
        ],
        "others": [(row, compare_url(lead.pk, row.pk)) for row in others],
        "text": text,
        "answer": SEARCH_LIMIT if is_too_long_to_search(text) else "No other lead matches.",
        "merges": [(merge, when(merge.created_at), reason_against_undoing(merge)) for merge in merges],
    }
    return TemplateResponse(request, "staff/duplicates.html", context)


def undo(page: TenantAdmin, request: HttpRequest, lead: Lead) -> HttpResponse:
    merge = lead.merges.filter(pk=to_uuid(request.POST.get("merge", ""))).first()
    if merge is None:
        messages.warning(request, "This was undone already.")
        return redirect(row_url(lead))
    try:
        restored = undo_merge(organization=lead.organization, actor=actor_of(request), merge_id=merge.pk)
    except DomainError as error:
        messages.error(request, str(error))
        return redirect("admin:leads_lead_duplicates", lead.pk)
    lead.refresh_from_db()  # the history keeps its name
    page.log_change(request, lead, "Merge undone.")
    link = format_html('<a class="underline" href="{}">{}</a>', row_url(restored), restored)
    messages.success(request, format_html("{} is a lead of its own again.", link))
    return redirect(row_url(lead))


def duplicates_card(page: RecordAdmin, request: HttpRequest, lead: Lead) -> Card | None:
    if lead.is_erased or not page.has_write_permission(request, lead):
        return None
    url, count = reverse("admin:leads_lead_duplicates", args=[lead.pk]), len(find_similar(lead))
    text = f"{count} possible duplicate{'' if count == 1 else 's'}" if count else "Merge with another lead"
    facts = [Fact("Same person", text, url)]
    merges = lead.merges.defer("snapshot").order_by("-created_at")[: MAX_UNDOABLE + 1]
    if names := [str(merge) for merge in merges]:
        more = " and more" if len(names) > MAX_UNDOABLE else ""
        facts.append(Fact("Merged leads", ", ".join(names[:MAX_UNDOABLE]) + more, url))
    return Card("Duplicates", facts)


def merge_view(page: TenantAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show two leads side by side, the older one first; merge them, or remember that they are not the same person."""
    lead, other_id = page.get_row(request, object_id), request.GET.get("with", "")
    if not other_id:
        return redirect("admin:leads_lead_duplicates", lead.pk)
    pair = [lead, page.get_row(request, other_id)]
    older, newer = sorted(pair, key=lambda lead: (lead.created_at, lead.pk))
    if older.pk == newer.pk or older.organization_id != newer.organization_id:
        raise Http404
    if request.method == "POST":
        try:
            if "dismiss" in request.POST:
                dismiss(organization=older.organization, leads=(older.pk, newer.pk))
                messages.success(request, f"{older} and {newer} are remembered as two people.")
                return redirect("admin:leads_possibleduplicate_changelist")
            return redirect(row_url(merge_chosen(page, request, older, newer)))
        except DomainError as error:
            messages.error(request, str(error))
    context = page_context(page, request, lead, "Compare and merge") | {
        "leads": [
            (lead, row_url(lead), isoformat_z(lead.updated_at), describe_moving_rows(lead)) for lead in (older, newer)
        ],
        "lines": list(compare(older, newer)),
        "warnings": list(warnings_about(older, newer)),
        "endpoints": Endpoint.objects.of(older.organization)
        .filter(Q(event_types=[]) | Q(event_types__contains=[MERGED.name]), is_active=True)
        .count(),
        "days": UNDO_DAYS,
    }
    return TemplateResponse(request, "staff/merge.html", context)


def merge_chosen(page: TenantAdmin, request: HttpRequest, older: Lead, newer: Lead) -> Lead:
    """Merge the leads as the form says, and return the kept one. Raises DomainError."""
    keep, other = (newer, older) if request.POST.get("keep") == str(newer.pk) else (older, newer)
    names = [*CHOICES, *(str(field.pk) for field in custom_fields(older))]
    try:
        versions = {lead.pk: parse_timestamp(request.POST.get(f"version_{lead.pk}", "")) for lead in (older, newer)}
    except ValueError:
        raise Conflict("Open the page again.") from None
    with transaction.atomic():
        lead = merge_leads(
            organization=keep.organization,
            actor=actor_of(request),
            keep=keep.pk,
            merge=other.pk,
            values=[name for name in names if request.POST.get(name) == str(other.pk)],
            versions=versions,
        )
        page.log_change(request, lead, "Merged with another lead.")
    undo_url = reverse("admin:leads_lead_duplicates", args=[lead.pk])
    text = 'Leads merged. <a class="underline" href="{}">Undo</a> (for {} days)'
    messages.success(request, format_html(text, undo_url, UNDO_DAYS))
    return lead


@admin.register(PossibleDuplicate)
class PossibleDuplicateAdmin(TenantAdmin):
    """Pairs of leads that may be the same person. A user may change a pair if they may change both leads."""

    empty_text = "They appear when two leads share a mailbox, a phone number or a name."
    area = Area.WORK
    can_add = False
    is_read_only = True
    list_display = ("older", "newer", "in_common")
    older = column("Lead", lambda pair: contact(pair.first, row_url(pair.first)))
    newer = column("Possible duplicate", lambda pair: contact(pair.second, row_url(pair.second)))
    list_display_links = None
    select_related = ("first", "second")
    actions = (
        selected_action(
            "dismiss_selected",
            "Not duplicates",
            lambda request, pair, _: dismiss(organization=pair.organization, leads=(pair.first_id, pair.second_id)),
            title="Not duplicates",
            question="Are these different people? They are not shown as possible duplicates again.",
        ),
    )
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

    @property
    def lead_page(self) -> Any:  # a LeadAdmin, whose module imports this one
        return self.admin_site.get_model_admin(Lead)

    def has_write_permission(self, request: HttpRequest, obj: PossibleDuplicate | None = None) -> bool:
        leads = [obj.first, obj.second] if obj else [None]
        return all(self.lead_page.has_write_permission(request, lead) for lead in leads)

    def writable_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        leads = self.lead_page.writable_rows(request, Lead.unscoped.all()).values("pk")
        return rows.filter(first__in=leads, second__in=leads)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        changelist = super().get_changelist_instance(request)
        writable = self.writable_ids(request, [pair.pk for pair in changelist.result_list])
        for pair in changelist.result_list:
            pair.is_writable = pair.pk in writable
        return changelist

    def log_change(self, request: HttpRequest, obj: PossibleDuplicate, message: Any) -> None:
        """Log it at both leads: an entry of the pair would keep their names when they are merged and erased."""
        for lead in (obj.first, obj.second):
            self.lead_page.log_change(request, lead, "Not a duplicate.")

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        pair = self.get_object(request, unquote(object_id))
        if pair is None:
            raise Http404
        return redirect(compare_url(pair.first_id, pair.second_id))

    @admin.display(description="In common", ordering="reasons")
    def in_common(self, pair: PossibleDuplicate) -> SafeString:
        reasons = describe_reasons(pair.reasons) or "–"
        if not getattr(pair, "is_writable", False):
            return format_html("{}", reasons)
        url, label = compare_url(pair.first_id, pair.second_id), f"Compare {pair.first} and {pair.second}"
        link = format_html('<a class="text-link underline" href="{}" aria-label="{}">Compare</a>', url, label)
        return two_lines(link, reasons)
