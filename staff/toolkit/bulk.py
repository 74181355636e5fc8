"""Actions on selected rows that ask for a value: a status, or a member."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget

from organizations.models import CAN_BE_NAMED, Membership, Organization
from staff.toolkit.actions import AnyPage, change_selected


class ValueForm(forms.Form):
    """Asks for one of an organization's rows."""

    value = forms.ModelChoiceField(Membership.unscoped.none(), widget=UnfoldAdminSelectWidget)

    def __init__(self, data: Any, *, label: str, choices: QuerySet[Any]) -> None:
        super().__init__(data)
        field: Any = self.fields["value"]
        field.label, field.queryset = label, choices


def set_for_selected(
    page: AnyPage,
    request: HttpRequest,
    rows: QuerySet[Any],
    change: Callable[[Any, Any], object],
    *,
    action: str,
    label: str,
    choices: Callable[[Organization], QuerySet[Any]],
    question: str,
) -> HttpResponse | None:
    """Ask for one of the organization's `choices`, then call `change` with each row that the user may change, and it.

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
