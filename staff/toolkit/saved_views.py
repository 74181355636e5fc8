"""Saved views of a list: which ones a user sees, and the forms that save, rename and delete them.

Everybody who may see a list may save views of their own, and those of the back office may share them with everybody in
the organization. Operators have none, unless they are members themselves.
"""

from typing import Any, NamedTuple, TypeAlias

from django import forms
from django.contrib import messages
from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse

from foundation.api.exceptions import DomainError
from organizations.models import Membership, Organization, SavedView
from organizations.permissions import ALL_ROLES, BACK_OFFICE, current_user, has_role, organization_ids
from organizations.saved_views import MAX_QUERY, change_view, delete_view, save_view

SAVED_VAR = "saved"
SHARERS = BACK_OFFICE

AnyList: TypeAlias = Any  # a ListWithViews, or its ChangeList; their module imports this one


class Saving(NamedTuple):
    """What the forms of a list need: the address to save, and what the user may do."""

    query: str
    save_url: str
    change_url: str
    organizations: list[Organization]
    may_share: bool
    may_change: bool  # the view that is open


class SaveForm(forms.Form):
    """A new view."""

    organization = forms.ModelChoiceField(Organization.objects.none(), required=False)
    name = forms.CharField(max_length=60)
    query = forms.CharField(max_length=MAX_QUERY, required=False)
    is_shared = forms.BooleanField(required=False)
    replace = forms.BooleanField(required=False)


class ChangeForm(forms.Form):
    """What to do with a view."""

    id = forms.UUIDField()
    act = forms.ChoiceField(choices=[(name, name) for name in ("rename", "save", "delete")])
    name = forms.CharField(max_length=60)
    query = forms.CharField(max_length=MAX_QUERY, required=False)


def visible_views(request: HttpRequest, page: AnyList) -> dict[str, SavedView]:
    """Return the user's own views of the list and then the shared ones, by id. They are read once in a request."""
    known: dict[str, dict[str, SavedView]] = request.__dict__.setdefault("saved_views", {})
    label = page.opts.label_lower
    if label not in known:
        organizations = organization_ids(request, ALL_ROLES) if page.views else []
        rows: QuerySet[SavedView] = SavedView.unscoped.filter(page=label, organization_id__in=organizations)
        rows = rows.filter(Q(owner=None) | Q(owner__user=current_user(request)))
        known[label] = {str(view.pk): view for view in rows.order_by(F("owner").asc(nulls_last=True), "name", "pk")}
    return known[label]


def may_change(request: HttpRequest, view: SavedView) -> bool:
    """Return whether the user may change a view that they see."""
    return view.owner_id is not None or has_role(request, SHARERS, view.organization_id)


def saving(cl: AnyList) -> Saving | None:
    """Return what the list's forms need; None for a user without membership."""
    request, opened = cl.request, cl.saved_view
    organizations = list(Organization.objects.filter(pk__in=organization_ids(request, ALL_ROLES)).order_by("name"))
    prefix = f"admin:{cl.opts.app_label}_{cl.opts.model_name}"
    if not organizations:
        return None
    return Saving(
        query=query_of(cl),
        save_url=reverse(f"{prefix}_save_view"),
        change_url=reverse(f"{prefix}_change_view"),
        organizations=organizations,
        may_share=bool(organization_ids(request, SHARERS)),
        may_change=opened is not None and may_change(request, opened),
    )


def query_of(cl: AnyList) -> str:
    """Return the list's address with its view, filters, search, order and layout, without the place in it."""
    query: QueryDict = cl.request.GET.copy()
    query["view"] = cl.view.name
    return clean_query(cl.model_admin, query)


def clean_query(page: AnyList, query: QueryDict) -> str:
    """Return what of a list's address can be saved: without the place in the list, and with a built-in view."""
    query = query.copy()
    places = [name for layout in page.layouts for name in layout.places]
    for name in (SAVED_VAR, PAGE_VAR, ERROR_FLAG, *places):
        query.pop(name, None)
    if query.get("view") not in {view.name for view in page.all_views}:
        query["view"] = "all"
    return query.urlencode()


def urls(page: AnyList) -> list[URLPattern]:
    """Return the URLs to which the list's forms are sent; opened as pages, they lead to the list."""
    prefix = f"{page.opts.app_label}_{page.opts.model_name}"

    def save(request: HttpRequest) -> HttpResponse:
        return respond_to_save(page, request) if request.method == "POST" else open_list(page, "")

    def change(request: HttpRequest) -> HttpResponse:
        return respond_to_change(page, request) if request.method == "POST" else open_list(page, "")

    wrap = page.admin_site.admin_view
    return [
        path("views/save/", wrap(save), name=f"{prefix}_save_view"),
        path("views/change/", wrap(change), name=f"{prefix}_change_view"),
    ]


def respond_to_save(page: AnyList, request: HttpRequest) -> HttpResponse:
    """Save a new view and open it. Raises PermissionDenied."""
    organizations = Organization.objects.filter(pk__in=organization_ids(request, ALL_ROLES)).order_by("name")
    if not page.has_view_permission(request) or not organizations:
        raise PermissionDenied
    form = SaveForm(request.POST)
    field: Any = form.fields["organization"]
    field.queryset = organizations
    if not form.is_valid():
        return refuse(page, request, first_error(form))
    data = form.cleaned_data
    organization = data["organization"] or organizations[0]
    if data["is_shared"] and not has_role(request, SHARERS, organization.pk):
        return refuse(page, request, f"You may not share views with everybody at {organization}.")
    owner = None if data["is_shared"] else Membership.objects.of(organization).get(user=current_user(request))
    try:
        view = save_view(
            organization=organization,
            owner=owner,
            page=page.opts.label_lower,
            name=data["name"],
            query=clean_query(page, QueryDict(data["query"])),
            replace=data["replace"],
        )
    except DomainError as error:
        return refuse(page, request, str(error))
    messages.success(request, f"View “{view.name}” saved.")
    return open_list(page, f"view={view.pk}")


def respond_to_change(page: AnyList, request: HttpRequest) -> HttpResponse:
    """Rename, change or delete a view, and show the list. Raises PermissionDenied."""
    if not page.has_view_permission(request):
        raise PermissionDenied
    form = ChangeForm(request.POST)
    if not form.is_valid():
        return refuse(page, request, first_error(form))
    data = form.cleaned_data
    view = visible_views(request, page).get(str(data["id"]))
    if view is None:
        return refuse(page, request, "The list has no such view any more.")
    if not may_change(request, view):
        raise PermissionDenied
    organization, view_id = view.organization, view.pk
    if data["act"] == "delete":
        delete_view(organization=organization, view_id=view_id)
        messages.success(request, f"View “{view.name}” deleted.")
        return open_list(page, "")
    changes = (
        {"name": data["name"]} if data["act"] == "rename" else {"query": clean_query(page, QueryDict(data["query"]))}
    )
    try:
        change_view(organization=organization, view_id=view_id, **changes)
    except DomainError as error:
        return refuse(page, request, str(error))
    messages.success(request, "View saved.")
    return open_list(page, f"view={view_id}")


def first_error(form: forms.Form) -> str:
    """Return the first error of a form, with the name of its field."""
    name, errors = next(iter(form.errors.items()))
    return f"{name.replace('_', ' ').capitalize()}: {errors[0]}"


def refuse(page: AnyList, request: HttpRequest, message: str) -> HttpResponse:
    """Show the list again as it was, with the message."""
    messages.error(request, message)
    return open_list(page, QueryDict(request.POST.get("query", "")[:MAX_QUERY]).urlencode())


def open_list(page: AnyList, query: str) -> HttpResponse:
    """Return a redirect to the list with this query."""
    return redirect(f"{reverse(f'admin:{page.list_name}')}?{query}")
