"""Actions on the selected rows of a list, after a page that asks for confirmation, or for a status or a member."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget

from foundation.api.exceptions import DomainError
from organizations.models import CAN_BE_NAMED, Membership, Organization
from staff.toolkit.tenant import TenantAdmin

MAX_SELECTED = 200


class ValueForm(forms.Form):
    value = forms.ModelChoiceField(Membership.unscoped.none(), widget=UnfoldAdminSelectWidget)

    def __init__(self, data: Any, *, label: str, choices: QuerySet[Any]) -> None:
        super().__init__(data)
        field: Any = self.fields["value"]
        field.label, field.queryset = label, choices


def change_selected(
    page: TenantAdmin,
    request: HttpRequest,
    rows: QuerySet,
    change: Callable[[Any], object],
    *,
    action: str,
    title: str,
    question: str,
    form: forms.Form | None = None,
) -> HttpResponse | None:
    """Return the page that asks for confirmation and for the form's `value`; once confirmed, change the rows.

    Calls `change` with each selected row that the user may change, and reports the numbers and each service's error.
    """
    if "confirmed" not in request.POST or (form and not form.is_valid()):
        context = {"title": title, "opts": page.opts, "question": question, "action": action, "form": form}
        context |= {**page.admin_site.each_context(request), "rows": rows[:MAX_SELECTED]}
        return TemplateResponse(request, "admin/confirm_selected.html", context)
    selected = rows.count()
    if selected > MAX_SELECTED:
        messages.error(request, f"Select at most {MAX_SELECTED} at a time.")
        return None
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
    return None


def set_for_selected(
    page: TenantAdmin,
    request: HttpRequest,
    rows: QuerySet[Any],
    change: Callable[[Any, Any], object],
    *,
    action: str,
    label: str,
    choices: Callable[[Organization], QuerySet[Any]],
    question: str,
) -> HttpResponse | None:
    """Ask for one of the organization's `choices`, and call `change` with each row and the choice.

    The rows must be of one organization.
    """
    organizations = list(Organization.objects.filter(pk__in=rows.order_by().values("organization"))[:2])
    if len(organizations) != 1:
        messages.error(request, "Select rows of one organization.")
        return None
    data = request.POST if "confirmed" in request.POST else None
    form = ValueForm(data, label=label, choices=choices(organizations[0]))
    return change_selected(
        page,
        request,
        rows,
        lambda row: change(row, form.cleaned_data["value"]),
        action=action,
        title=f"Set the {label.lower()}",
        question=question,
        form=form,
    )


def members(organization: Organization) -> QuerySet[Membership]:
    """Return the members that can be a host or a setter."""
    rows: QuerySet[Membership] = Membership.objects.of(organization).filter(CAN_BE_NAMED).select_related("user")
    return rows
