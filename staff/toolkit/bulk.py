"""Actions on the selected rows of a list, after a page that asks for confirmation, or for a status or a member."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from foundation.api.exceptions import DomainError
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from staff.toolkit.actions import actor_of
from staff.toolkit.fields import RowField
from staff.toolkit.tenant import TenantAdmin

MAX_SELECTED = 200


def selected_action(
    name: str,
    description: str,
    change: Callable[..., object],
    *,
    title: str,
    question: str,
    choices: Callable[[Organization], QuerySet[Any]] | None = None,
    label: str = "",
    also: Callable[[], dict[str, forms.Field]] = dict,
) -> Callable[[TenantAdmin, HttpRequest, QuerySet[Any]], HttpResponse | None]:
    """Return an action on selected rows. It asks for confirmation, and for one of the organization's `choices`.

    `change(actor, row, choice)` is called with each row that the user may change, and with the values of the fields
    that `also` returns. With choices, the rows must be of one organization.
    """

    @admin.action(description=description, permissions=["change"])
    def action(page: TenantAdmin, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
        form, data = None, request.POST if "confirmed" in request.POST else None
        if choices:
            organizations = list(Organization.objects.filter(pk__in=rows.order_by().values("organization"))[:2])
            if len(organizations) != 1:
                messages.error(request, "Select rows of one organization.")
                return None
            form, rows_to_choose = forms.Form(data), choices(organizations[0])
            form.fields["value"] = RowField(rows_to_choose, label=label)
            form.fields |= also()
        if data is None or (form and not form.is_valid()):
            context = {"title": title, "opts": page.opts, "question": question, "action": name, "form": form}
            context |= {**page.admin_site.each_context(request), "rows": rows[:MAX_SELECTED]}
            return TemplateResponse(request, "admin/confirm_selected.html", context)
        actor, values = actor_of(request), dict(form.cleaned_data) if form else {}
        choice = values.pop("value", None)
        change_rows(page, request, rows, lambda row: change(actor, row, choice, **values))
        return None

    action.__name__ = name
    return action


def change_rows(page: TenantAdmin, request: HttpRequest, rows: QuerySet[Any], change: Callable[[Any], object]) -> None:
    selected = rows.count()
    if selected > MAX_SELECTED:
        messages.error(request, f"Select at most {MAX_SELECTED} at a time.")
        return
    writable = list(page.writable_rows(request, rows))
    if selected > len(writable):
        messages.warning(request, f"Skipped {selected - len(writable)}: you may not change them.")
    count = 0
    for row in writable:
        try:
            change(row)
        except DomainError as error:
            messages.error(request, f"{row}: {error}")
        else:
            page.log_change(request, row, "Changed from the list.")
            count += 1
    if count:
        messages.success(request, f"{count} changed.")


def members(organization: Organization) -> QuerySet[Membership]:
    rows: QuerySet[Membership] = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED).select_related("user")
    return rows
