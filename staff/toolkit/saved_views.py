"""Saved views of a list: which ones a user sees, and the form that saves, renames and deletes them.

All who may see a list may save views of their own; the back office may share views with the whole organization.
Operators have none, unless they are members themselves.
"""

from contextlib import suppress
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR, SEARCH_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse

from foundation.api.exceptions import Conflict, DomainError
from organizations.models import Membership, Organization, SavedView
from organizations.permissions import ALL_ROLES, BACK_OFFICE, current_user, has_role, organization_ids
from organizations.saved_views import change_view, delete_view, save_view
from staff.toolkit.actions import AnyPage

VIEW_VAR, SAVED_VAR, COLUMNS_VAR = "view", "saved", "columns"
ORGANIZATION_VAR = "organization__id__exact"  # the list's filter
SHARERS = BACK_OFFICE
MAX_ADDRESS = 16_000  # characters of a list's address; a saved view has fewer


class SavedViewForm(forms.Form):
    """A new view, or with `id` and `act` a change of a stored one."""

    id = forms.UUIDField()
    act = forms.ChoiceField(choices=[(name, name) for name in ("rename", "save", "delete")])
    version = forms.CharField(required=False)
    organization = forms.ModelChoiceField(Organization.objects.none(), required=False)
    name = forms.CharField(max_length=60)
    query = forms.CharField(max_length=MAX_ADDRESS, required=False)
    is_shared = forms.BooleanField(required=False)
    replace = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict, organizations: QuerySet[Organization], *, is_new: bool) -> None:
        super().__init__(data)
        field: Any = self.fields["organization"]
        field.queryset = organizations
        if is_new:
            del self.fields["id"], self.fields["act"], self.fields["version"]


def visible_views(request: HttpRequest, page: AnyPage) -> dict[str, SavedView]:
    """Return the user's own views of the list and then the shared ones, by id."""
    return {str(view.pk): view for view in stored_views(request, page) if view.name}


def own_columns(request: HttpRequest, page: AnyPage) -> list[str]:
    """Return the columns that the user has chosen for the list, or none."""
    queries = [QueryDict(view.query) for view in stored_views(request, page) if not view.name]
    return queries[0].get(COLUMNS_VAR, "").split(",") if queries else []


def forget_columns(request: HttpRequest, page: AnyPage) -> None:
    for view in stored_views(request, page):
        if not view.name:
            with suppress(Conflict):  # the same form, sent twice
                delete_view(organization=view.organization, view_id=view.pk)


def stored_views(request: HttpRequest, page: AnyPage) -> list[SavedView]:
    if not page.views:
        return []
    # Kept for the request, because a page asks several times.
    known: dict[str, list[SavedView]] = request.__dict__.setdefault("stored_views", {})
    if page.opts.label_lower in known:
        return known[page.opts.label_lower]
    rows: QuerySet[SavedView] = SavedView.unscoped.filter(
        Q(owner=None) | Q(owner__user=current_user(request)),
        page=page.opts.label_lower,
        organization_id__in=organization_ids(request, ALL_ROLES),
    )
    known[page.opts.label_lower] = list(rows.order_by(F("owner").asc(nulls_last=True), "name", "pk"))
    return known[page.opts.label_lower]


def may_change(request: HttpRequest, view: SavedView) -> bool:
    return view.owner_id is not None or has_role(request, SHARERS, view.organization_id)


def form_values(cl: Any) -> dict[str, object] | None:  # a ViewChangeList, whose module imports this one
    """Return the values of the list's forms; None for a user without membership."""
    request, organizations = cl.request, list(member_organizations(cl.request))
    if not organizations:
        return None
    filtered = [row for row in organizations if request.GET.getlist(ORGANIZATION_VAR) == [str(row.pk)]]
    query = request.GET.copy()
    query[VIEW_VAR] = cl.view.name
    if cl.has_own_columns:
        query[COLUMNS_VAR] = ",".join(cl.column_keys)
    prefix = f"admin:{cl.opts.app_label}_{cl.opts.model_name}"
    return {
        "query": clean_query(cl.model_admin, query),
        "save_url": reverse(f"{prefix}_save_view"),
        "change_url": reverse(f"{prefix}_change_view"),
        "organizations": filtered or organizations,
        "may_share": bool(organization_ids(request, SHARERS)),
        "may_change": cl.saved_view is not None and may_change(request, cl.saved_view),
    }


def member_organizations(request: HttpRequest) -> QuerySet[Organization]:
    return Organization.objects.filter(pk__in=organization_ids(request, ALL_ROLES)).order_by("name")


def clean_query(page: AnyPage, query: QueryDict) -> str:
    """Return the part of a list's address that can be saved: without the place in it, and with a built-in view."""
    query = query.copy()
    places = [name for layout in page.layouts for name in layout.places]
    for name in (SAVED_VAR, PAGE_VAR, ERROR_FLAG, *places):
        query.pop(name, None)
    for name in list(query):  # the filters' form sends all fields
        query.setlist(name, [value for value in query.getlist(name) if value])
    if query.get(VIEW_VAR) not in {view.name for view in page.views}:
        query[VIEW_VAR] = "all"
    return query.urlencode()


def urls(page: AnyPage) -> list[URLPattern]:
    """Return the URLs to which the list's forms are sent; opened as pages, they lead to the list."""
    prefix = f"{page.opts.app_label}_{page.opts.model_name}"
    view = page.admin_site.admin_view(partial(respond, page))
    return [
        path("views/save/", view, {"is_new": True}, name=f"{prefix}_save_view"),
        path("views/change/", view, {"is_new": False}, name=f"{prefix}_change_view"),
    ]


def respond(page: AnyPage, request: HttpRequest, *, is_new: bool) -> HttpResponse:
    """Add, rename, change or delete a view, and show the list. Raises PermissionDenied."""
    url = reverse(f"admin:{page.list_name}")
    if request.method != "POST":
        return redirect(f"{url}?")
    if not page.has_view_permission(request):
        raise PermissionDenied
    form = SavedViewForm(request.POST, member_organizations(request), is_new=is_new)
    try:
        if not form.is_valid():
            name, errors = next(iter(form.errors.items()))
            raise Conflict(f"{name.replace('_', ' ').capitalize()}: {errors[0]}")
        data = form.cleaned_data | {"query": clean_query(page, QueryDict(form.cleaned_data["query"]))}
        message, query = add(page, request, data) if is_new else change(page, request, data)
    except DomainError as error:
        messages.error(request, str(error))
        typed = request.POST.get("query", "")
        return redirect(f"{url}?{QueryDict(typed if len(typed) <= MAX_ADDRESS else '').urlencode()}")
    messages.success(request, message)
    return redirect(f"{url}?{query}")


def add(page: AnyPage, request: HttpRequest, data: dict[str, Any]) -> tuple[str, str]:
    """Save a new view; return the message, and the query that opens the view. Raises DomainError."""
    organization = organization_of(request, data)
    if data["is_shared"] and not has_role(request, SHARERS, organization.pk):
        raise Conflict(f"You may not share views with everybody at {organization}.")
    owner = None if data["is_shared"] else Membership.objects.of(organization).get(user=current_user(request))
    values = {name: data[name] for name in ("name", "query", "replace")}
    view = save_view(organization=organization, owner=owner, page=page.opts.label_lower, **values)
    return f"View “{view.name}” saved.", f"{VIEW_VAR}={view.pk}"


def organization_of(request: HttpRequest, data: dict[str, Any]) -> Organization:
    """Return the organization by which the view's list is filtered, else the one that was chosen, else the first.

    A search without this filter is no view for members of several: it can name a lead of any of them, and erasing a
    lead deletes what its own organization's views say about it. Raises Conflict and PermissionDenied.
    """
    organizations = list(member_organizations(request))
    if not organizations:
        raise PermissionDenied
    query = QueryDict(data["query"])
    if filtered := query.getlist(ORGANIZATION_VAR):
        organizations = [row for row in organizations if filtered == [str(row.pk)]]
    if not organizations or (SEARCH_VAR in query and len(organizations) > 1):
        raise Conflict("Filter the list by one of your organizations before you save it.")
    chosen: Organization | None = data["organization"]
    return chosen if chosen in organizations else organizations[0]


def change(page: AnyPage, request: HttpRequest, data: dict[str, Any]) -> tuple[str, str]:
    """Rename, change or delete a view; return as `add`. Raises DomainError."""
    view = visible_views(request, page).get(str(data["id"]))
    if view is None:
        raise Conflict("The list has no such view any more.")
    if not may_change(request, view):
        raise PermissionDenied
    if data["act"] == "delete":
        delete_view(organization=view.organization, view_id=view.pk, version=data["version"])
        return f"View “{view.name}” deleted.", ""
    field = "name" if data["act"] == "rename" else "query"
    if field == "query" and organization_of(request, {**data, "organization": view.organization}) != view.organization:
        raise Conflict(f"The view is for {view.organization}. Save the list as a new view.")
    change_view(organization=view.organization, view_id=view.pk, version=data["version"], **{field: data[field]})
    return "View saved.", f"{VIEW_VAR}={view.pk}"
