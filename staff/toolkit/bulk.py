"""Actions on the selected rows of a list, after a page that asks for confirmation, or for a status or a member."""

import operator
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from foundation.api.exceptions import DomainError
from organizations.actors import Actor
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.permissions import PERMISSIONS, current_user, has_role
from staff.toolkit.actions import AnyPage, AnyRow, NotDone, actor_of
from staff.toolkit.fields import RowField

MAX_SELECTED, MAX_SECONDS = 200, 10
CHANGED = "changed since you opened the page"
VERSION = "version"  # a field of the page with the question, as often as there are rows
UNDO = "undo_selected"  # the name of the button, and the salt of its value
MAX_AGE = 600  # seconds; the button is shown for ten


class Undo(NamedTuple):
    """How a change of several rows is undone: `restore(actor, row, before, after)`, with what `values` returned.

    `values` is called with the locked row. A row for which `has_changed(values now, after)` stays. With `gives_away`,
    the change can have taken the right to change the row from the user, who may undo it nevertheless.
    """

    values: Callable[[AnyRow], list[Any]]
    restore: Callable[[Actor, AnyRow, list[Any], list[Any]], object]
    is_offered: Callable[[Any], bool] = lambda choice: True
    has_changed: Callable[[list[Any], list[Any]], bool] = operator.ne
    gives_away: bool = False


def selected_action(
    name: str,
    description: str,
    change: Callable[..., object],
    *,
    title: str,
    question: str | Callable[[list[AnyRow]], str],
    choices: Callable[[Organization], QuerySet[Any]] | None = None,
    label: str = "",
    also: Callable[[], dict[str, forms.Field]] = dict,
    done: Callable[[int, Any], str] = lambda count, choice: f"{count} changed.",
    warning: Callable[[list[AnyRow], Any], str] | None = None,
    undo: Undo | None = None,
) -> Callable[[AnyPage, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    """Return an action on selected rows. It asks for confirmation, and for one of the organization's `choices`.

    `question` is the text of that page, or a function of the rows that the user may change; `change(request, row,
    choice)` is called with each of these, and with the values of the fields that `also` returns; it raises NotDone with
    the reason for a row that it leaves out. With choices, the rows must be of one organization. With `undo`, it returns
    the stored row. `warning` is called with the changed rows as they were before, and the choice.
    """

    @admin.action(description=description, permissions=["change"])
    def action(page: AnyPage, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
        form, data = None, request.POST if "confirmed" in request.POST else None
        if choices:
            organizations = list(Organization.objects.filter(pk__in=rows.order_by().values("organization"))[:2])
            if len(organizations) != 1:
                messages.error(request, "Select rows of one organization.")
                return None
            form, rows_to_choose = forms.Form(data), choices(organizations[0])
            form.fields["value"] = RowField(rows_to_choose, label=label)
            form.fields |= also()
        if (selected := rows.count()) > MAX_SELECTED:
            messages.error(request, f"{selected:,} rows are selected. Select at most {MAX_SELECTED} at a time.")
            return None
        if data is None or (form and not form.is_valid()):
            text = question
            if not isinstance(text, str):
                text = text(list(page.writable_rows(request, rows)))
            context = {"title": title, "opts": page.opts, "question": text, "form": form, "danger": form is None}
            context |= {"hidden": [("action", name), ("confirmed", "yes")], "rows": versions_shown(request, rows)}
            context |= {**page.admin_site.each_context(request), "back_url": request.get_full_path()}
            return TemplateResponse(request, "admin/confirm_action.html", context)
        values = dict(form.cleaned_data) if form else {}
        choice = values.pop("value", None)
        changed = change_rows(page, request, rows, lambda row: change(request, row, choice, **values), undo)
        if changed:
            if warning and (caution := warning([*changed], choice)):
                messages.warning(request, caution)
            button = undo_button(request, name, changed) if undo and undo.is_offered(choice) else ""
            text = done(len(changed), choice)
            messages.success(request, format_html("{} {}", text, button) if button else text)
        return None

    action.__name__ = name
    action.undo = undo  # type: ignore[attr-defined]
    return action


def change_rows(
    page: AnyPage, request: HttpRequest, rows: QuerySet[Any], change: Callable[[Any], Any], undo: Undo | None
) -> dict[AnyRow, list[Any]]:
    """Change the rows that the user may change; return them as they were, with the values before and after.

    Each row is a transaction. One that someone else has changed since the page with the question was shown is left as
    it is. After `MAX_SECONDS` the rest is left, too, because colleagues' pages may wait for this request.
    """
    selected = rows.count()
    if selected > MAX_SELECTED:
        messages.error(request, f"Select at most {MAX_SELECTED} at a time.")
        return {}
    writable = list(page.writable_rows(request, rows))
    if selected > len(writable):
        messages.warning(request, f"Skipped {selected - len(writable)}: you may not change them.")
    shown = versions_sent(request)
    changed: dict[AnyRow, list[Any]] = {}
    left, end = Counter({CHANGED: max(len(shown) - selected, 0)}), time.monotonic() + MAX_SECONDS
    for number, row in enumerate(writable):
        if time.monotonic() > end:
            text = f"Stopped after {MAX_SECONDS} seconds: {len(writable) - number} of {len(writable)} are unchanged."
            messages.warning(request, f"{text} Select them again.")
            break
        before: list[Any] = []
        after: list[Any] = []
        try:
            with transaction.atomic():
                stored = lock_row(page.writable_rows(request, type(row)._base_manager.all()), row)
                if stored is None or version_of(stored) != shown.get(str(row.pk), version_of(row)):
                    raise NotDone(CHANGED)
                before = undo.values(stored) if undo else []
                stored = change(row)
                after = undo.values(stored or row) if undo else []
                page.log_change(request, row, "Changed from the list.")
        except NotDone as reason:
            left[str(reason)] += 1
        except DomainError as error:
            messages.error(request, f"{row}: {error.reason}")
        else:
            changed[row] = [before, after]
    for text, number in (+left).items():
        messages.warning(request, f"Left out {number}: {text}.")
    return changed


def lock_row(rows: QuerySet[Any], row: AnyRow) -> AnyRow | None:
    """Return the row as it is now, locked; None if it is not among `rows` any more."""
    stored: AnyRow | None = rows.filter(pk=row.pk).select_for_update(of=["self"], no_key=True).first()
    return stored


def version_of(row: AnyRow) -> str:
    """Return what differs once the row has changed, such as a time; for rows that never change, their id."""
    return str(getattr(row, "updated_at", row.pk))


def versions_sent(request: HttpRequest) -> dict[str, str]:
    """Return the versions of the rows, by id, that the page with the question had; a list doesn't send them."""
    ids = request.POST.getlist(ACTION_CHECKBOX_NAME)
    return dict(zip(ids, request.POST.getlist(VERSION), strict=False))


def versions_shown(request: HttpRequest, rows: QuerySet[Any]) -> list[tuple[Any, str]]:
    """Return the rows, each with its version when the page was first shown."""
    sent = versions_sent(request)
    return [(row, sent.get(str(row.pk), version_of(row))) for row in rows]


def undo_button(request: HttpRequest, name: str, changed: dict[AnyRow, list[Any]], url: str = "") -> SafeString:
    """Return the button that undoes the action of this name, which is sent to the list at `url`, or of this page."""
    rows = {str(row.pk): values for row, values in changed.items()}
    token = {"user": current_user(request).pk, "action": name, "rows": rows}
    value = signing.dumps(token, salt=UNDO, compress=True)
    html = '<button class="undo" form="undo-form" formaction="{}" name="{}" value="{}">Undo</button>'
    return format_html(html, url or request.get_full_path(), UNDO, value)


def undo_selected(page: AnyPage, request: HttpRequest) -> HttpResponse:
    """Undo what an action on selected rows has changed. The token shows that the same user has done it just now."""
    try:
        token = signing.loads(request.POST[UNDO], salt=UNDO, max_age=MAX_AGE)
    except signing.BadSignature:
        token = {}
    own = {getattr(action, "__name__", ""): getattr(action, "undo", None) for action in page.actions}
    undo = own.get(token.get("action"))
    if undo is None or token["user"] != current_user(request).pk or not page.has_write_permission(request):
        raise PermissionDenied
    restored, refused, actor = 0, 0, actor_of(request)
    for row in page.get_queryset(request).filter(pk__in=token["rows"]):
        before, after = token["rows"][str(row.pk)]
        try:
            with transaction.atomic():
                rows = type(row)._base_manager.all()
                may_undo = undo.gives_away and has_role(request, PERMISSIONS[page.area].add, row.organization_id)
                stored = lock_row(rows if may_undo else page.writable_rows(request, rows), row)
                if stored is None or undo.has_changed(undo.values(stored), after):
                    continue
                undo.restore(actor, row, before, after)
                page.log_change(request, row, "Undone from the list.")
        except DomainError as error:
            messages.error(request, f"{row}: {error.reason}")
            refused += 1
        else:
            restored += 1
    kept = len(token["rows"]) - restored - refused
    also = f" {kept} had changed since and stay as they are." if kept else ""
    messages.success(request, f"Undone for {restored}.{also}")
    return redirect(request.get_full_path())


def members(organization: Organization) -> QuerySet[Membership]:
    rows: QuerySet[Membership] = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED).select_related("user")
    return rows
