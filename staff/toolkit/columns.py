"""Which columns a list shows: those in its address (`?columns=time,host`), else the member's own, else the page's.

A member's own columns are a saved view without a name. An address with an order but no columns shows the page's,
because an order refers to columns by their position.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib.admin.utils import label_for_field
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.text import capfirst

from organizations.models import Membership
from organizations.permissions import current_user
from organizations.saved_views import save_view
from staff.toolkit.actions import AnyPage
from staff.toolkit.saved_views import COLUMNS_VAR, SAVED_VAR, forget_columns, member_organizations, own_columns

MAX_COLUMNS = 20

Column = str | Callable[..., object]


class ColumnChoice(NamedTuple):
    key: str
    label: str
    is_shown: bool


def key_of(column: Column) -> str:
    return column if isinstance(column, str) else getattr(column, "key", column.__name__)


def standard_keys(page: AnyPage) -> list[str]:
    return [key_of(column) for column in page.list_display]


def offered_columns(page: AnyPage, request: HttpRequest) -> dict[str, Column]:
    return {key_of(column): column for column in (*page.list_display, *page.get_more_columns(request))}


def chosen_columns(page: AnyPage, request: HttpRequest) -> list[Column]:
    """Return the columns to show. The page's first is always the first; unknown ones are left out."""
    if COLUMNS_VAR in request.GET:
        keys = request.GET[COLUMNS_VAR].split(",")
    elif ORDER_VAR in request.GET:
        keys = []
    else:
        keys = own_columns(request, page)
    offered, first = offered_columns(page, request), standard_keys(page)[0]
    known = [key for key in dict.fromkeys([first, *keys[: MAX_COLUMNS * 2]]) if key in offered][:MAX_COLUMNS]
    return [offered[key] for key in (known if len(known) > 1 else standard_keys(page))]


def column_choices(cl: Any) -> list[ColumnChoice]:  # a ViewChangeList, whose module imports this one
    """Return the columns after the first: those that the list shows in their order, then the others."""
    page, offered = cl.model_admin, offered_columns(cl.model_admin, cl.request)
    keys = [*cl.column_keys, *(key for key in offered if key not in cl.column_keys)][1:]
    return [
        ColumnChoice(key, capfirst(str(label_for_field(offered[key], page.model, page))), key in cl.column_keys)
        for key in keys
    ]


def urls(page: AnyPage) -> list[URLPattern]:
    view = page.admin_site.admin_view(partial(respond, page))
    return [path("columns/", view, name=f"{page.opts.app_label}_{page.opts.model_name}_columns")]


def respond(page: AnyPage, request: HttpRequest) -> HttpResponse:
    """Remember the user's columns, or put them into the address of the open saved view, and show the list."""
    url = reverse(f"admin:{page.list_name}")
    if request.method != "POST":
        return redirect(f"{url}?")
    if not page.has_view_permission(request):
        raise PermissionDenied
    query = request.GET.copy()  # the list's address, which also says whose custom fields are offered
    for name in (COLUMNS_VAR, ORDER_VAR, PAGE_VAR):
        query.pop(name, None)
    offered = offered_columns(page, request)
    keys = [key for key in request.POST.getlist("column") if key in offered][:MAX_COLUMNS]
    standard, is_standard = standard_keys(page), "standard" in request.POST
    chosen = ",".join(standard if is_standard else [standard[0], *keys])
    organization = member_organizations(request).first()
    if organization is None or SAVED_VAR in query:
        query[COLUMNS_VAR] = chosen
        return redirect(f"{url}?{query.urlencode()}")
    forget_columns(request, page)
    if not is_standard:
        owner = Membership.objects.of(organization).get(user=current_user(request))
        values = {"page": page.opts.label_lower, "name": "", "query": urlencode({COLUMNS_VAR: chosen})}
        save_view(organization=organization, owner=owner, replace=True, **values)
    return redirect(f"{url}?{query.urlencode()}")
