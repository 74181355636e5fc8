"""What a list shows: its views (named selections of rows, the tabs), its layouts, and the buttons beside its filters.

A page lists them as objects in `views`, `layouts` and `buttons`. The list's address says which it shows:
`?view=<name of a built-in view>`, `?layout=<name>`, filters, search and order. `?view=<id of a saved view>` leads to
the address that is saved; `saved=<id>` in it names the open view.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.functional import cached_property
from django.utils.text import capfirst
from unfold.views import ChangeList

from organizations.models import Organization, SavedView
from organizations.permissions import PERMISSIONS, is_operator, organizations_with_role, roles_by_organization
from staff.toolkit import lists
from staff.toolkit.actions import AnyPage
from staff.toolkit.columns import ColumnChoice, column_choices, key_of, offered_columns, standard_keys
from staff.toolkit.filters import Chip, chips
from staff.toolkit.saved_views import COLUMNS_VAR, ORGANIZATION_VAR, SAVED_VAR, VIEW_VAR, form_values, visible_views

LAYOUT_VAR = "layout"


class View(NamedTuple):
    """A built-in selection of a list's rows."""

    name: str
    label: str
    rows: Callable[[HttpRequest, QuerySet[Any]], QuerySet[Any]] = lambda request, rows: rows
    ordering: tuple[str, ...] = ()  # unless the user sorts
    empty: str = ""  # the page's text if there are none


ALL = View("all", "All")  # the last view of each list that has views


class Link(NamedTuple):
    """A tab, a link to a layout, or a button beside a list's filters; `title` says more than `label`."""

    label: str
    url: str
    icon: str = ""
    is_active: bool = False
    title: str = ""


class ListPart:
    """A part that a page lists; `urls` are added to the page's."""

    def urls(self, page: AnyPage) -> list[URLPattern]:
        return []


class ListButton(ListPart):
    def links(self, page: AnyPage, request: HttpRequest) -> list[Link]:
        """Return the links beside the list's filters; none for a user who may not open them."""
        raise NotImplementedError


class Layout(ListPart):
    """A way to show the rows; this one is the table, which Django shows."""

    name, label, icon = "table", "Table", "list"
    parameters: tuple[str, ...] = ()  # the query parameters that it reads itself
    places: tuple[str, ...] = ()  # those that say where in the rows the user is; a saved view drops them

    def render(self, page: AnyPage, request: HttpRequest, cl: "ViewChangeList") -> HttpResponse:
        """Return the page with the rows of `cl.queryset`; `cl.get_query_string(...)` keeps the list's parameters."""
        raise NotImplementedError


TABLE = Layout()  # the first layout of each list


class ViewChangeList(ChangeList):
    """A list that shows the view and the layout of its address.

    It executes only the lookups that its filters offer, and the orders that are fast. Django's own list executes any
    lookup on the table's columns, such as a regular expression that takes minutes, and sorts any number of rows.
    """

    model_admin: AnyPage
    request: HttpRequest
    queryset: QuerySet[Any]
    view: View | None = None
    layout: Layout
    is_too_large_to_sort = False

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        self.request = request
        super().__init__(request, *args, **kwargs)

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str] | None = None) -> QuerySet[Any]:
        page = self.model_admin
        self.view, self.layout = chosen_view(page, request), chosen_layout(page, request)
        if self.view is None and page.views:
            raise IncorrectLookupParameters
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters).annotate(**page.column_values)
        if related := [page.related_of_columns[key] for key in self.column_keys if key in page.related_of_columns]:
            rows = rows.select_related(*related)
        return self.view.rows(request, rows) if self.view else rows

    def url_for_result(self, result: Any) -> str:
        return self.model_admin.row_link(result) or str(super().url_for_result(result))

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        # Search looks among all rows: its form keeps these parameters, and must not keep the view.
        self.filter_params.pop(VIEW_VAR, None)
        others = {
            LAYOUT_VAR,
            SAVED_VAR,
            COLUMNS_VAR,
            *(name for layout in self.model_admin.layouts for name in layout.parameters),
        }
        parameters: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in parameters.items() if name not in others}

    def get_query_string(self, new_params: dict[str, Any] | None = None, remove: list[str] | None = None) -> str:
        """Return the list's address with some parameters changed; the view stays unless it is one of them."""
        params = ({VIEW_VAR: self.view.name} if self.view else {}) | (new_params or {})
        if params.get(ORDER_VAR, self.params.get(ORDER_VAR)) and self.has_own_columns:
            params.setdefault(COLUMNS_VAR, ",".join(self.column_keys))  # the order counts them
        return str(super().get_query_string(params, remove))

    @property
    def column_keys(self) -> list[str]:
        """The keys of the shown columns that the user can choose."""
        offered = offered_columns(self.model_admin, self.request)
        return [key for key in map(key_of, self.list_display) if key in offered]

    @property
    def has_own_columns(self) -> bool:
        return bool(self.model_admin.views) and self.column_keys != standard_keys(self.model_admin)

    @property
    def column_choices(self) -> list[ColumnChoice]:
        is_table = self.layout is TABLE and not self.is_popup
        return column_choices(self) if self.model_admin.views and is_table else []

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        if self.view and self.view.ordering and ORDER_VAR not in self.params:
            return list(self.view.ordering)
        return list(super().get_ordering(request, queryset))

    def _get_default_ordering(self) -> Any:
        """Return the order that the column headings show if the address names none."""
        return (self.view and self.view.ordering) or super()._get_default_ordering()

    def get_results(self, request: HttpRequest) -> None:
        """Read a page of the table; another layout reads the rows itself."""
        self.drop_slow_order(request)
        rows = self.queryset
        if self.layout is not TABLE:
            self.queryset = rows.none()
        super().get_results(request)
        if not self.multi_page:
            # As of several pages, ids first: few rows among many could be looked for in a join, which takes seconds.
            self.result_list = self.paginator.page(1).object_list
        self.queryset = rows
        # The heading has the number of all rows only beside that of those which a search or filters have left.
        is_filtered = self.query or self.has_active_filters
        if not is_filtered or self.model_admin.views or self.layout is not TABLE:
            self.full_result_count = self.result_count

    def get_filters(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return Django's parse of the filters. Raises BadRequest if a parameter belongs to none of them."""
        filters: tuple[Any, ...] = super().get_filters(request)
        if not filters[2].keys() <= set(self.model_admin.lookups_of_links):  # the remaining parameters
            raise BadRequest("The list has no such filter.")
        return filters

    def drop_slow_order(self, request: HttpRequest) -> None:
        """Return to the list's own order if too many rows are to be sorted without an index."""
        if ORDER_VAR not in self.params or self.is_sorted_by_index:
            return
        rows = self.queryset.order_by()
        if rows[: lists.MAX_COUNT + 1].count() > lists.MAX_COUNT:
            del self.params[ORDER_VAR], self.filter_params[ORDER_VAR]
            self.queryset = rows.order_by(*self.get_ordering(request, rows))
            self.is_too_large_to_sort = True

    @property
    def is_sorted_by_index(self) -> bool:
        """Whether an index of all rows of an organization begins with the chosen order."""
        first = self.queryset.query.order_by[0]
        indexes = [[name.lstrip("-") for name in index.fields] for index in self.opts.indexes if not index.condition]
        return isinstance(first, str) and ["organization", first.lstrip("-"), "id"] in indexes

    def empty(self) -> dict[str, object]:
        """Return the text of a list without rows. `is_new`: there are none that a filter, search or view hides."""
        name = self.opts.verbose_name_plural
        if not self.root_queryset.exists():
            return {"title": f"No {name} yet", "text": self.model_admin.empty_text, "is_new": True}
        if self.view and self.view.empty and not self.query and not self.has_active_filters:
            return {"title": f"No {name} here", "text": self.view.empty}
        return {"title": f"No {name} found", "text": "None match the filters and the search."}

    @property
    def tabs(self) -> list[Link]:
        links = []
        for view in self.model_admin.views:
            url = self.get_query_string({VIEW_VAR: view.name, ORDER_VAR: None})
            url = f"?{VIEW_VAR}={view.name}" if self.saved_view else url  # its filters stay with a saved view
            links.append(Link(view.label, url, is_active=view == self.view and not self.saved_view))
        for saved in self.saved_views.values():
            icon = "" if saved.owner_id else "group"
            links.append(Link(saved.name, f"?{VIEW_VAR}={saved.pk}", icon, saved == self.saved_view))
        return links

    @cached_property
    def saved_views(self) -> dict[str, SavedView]:
        return visible_views(self.request, self.model_admin)

    @property
    def saved_view(self) -> SavedView | None:
        return self.saved_views.get(self.request.GET.get(SAVED_VAR, ""))

    @cached_property
    def saving(self) -> dict[str, object] | None:
        return form_values(self) if self.model_admin.views else None

    @property
    def columns_query(self) -> str:
        query = self.request.GET.copy()
        query[VIEW_VAR] = self.view.name if self.view else ALL.name
        return query.urlencode()

    @cached_property
    def chips(self) -> list[Chip]:
        return chips(self)

    @property
    def url_without_filters(self) -> str:
        names = [name for chip in self.chips for name in chip.names]
        return self.get_query_string(dict.fromkeys(names))

    @cached_property
    def buttons(self) -> list[Link]:
        return [link for part in self.model_admin.buttons for link in part.links(self.model_admin, self.request)]

    @property
    def layout_links(self) -> list[Link]:
        layouts = self.model_admin.layouts if len(self.model_admin.layouts) > 1 else ()
        names = {layout: None if layout is TABLE else layout.name for layout in layouts}
        return [
            Link(layout.label, self.get_query_string({LAYOUT_VAR: name}), layout.icon, layout is self.layout)
            for layout, name in names.items()
        ]


def chosen_view(page: AnyPage, request: HttpRequest) -> View | None:
    """Return the view that the address names; by default the first, or all rows if the address says anything else."""
    if not page.views:
        return None
    if VIEW_VAR in request.GET:
        return next((view for view in page.views if view.name == request.GET[VIEW_VAR]), None)
    is_list = request.resolver_match and request.resolver_match.url_name == page.list_name
    # Selected rows are meant whatever view they were in.
    is_plain = is_list and not request.GET and (request.method == "GET" or request.POST.get("select_across") == "1")
    first: View = page.views[0]
    return first if is_plain else ALL


def chosen_layout(page: AnyPage, request: HttpRequest) -> Layout:
    return next((layout for layout in page.layouts if layout.name == request.GET.get(LAYOUT_VAR)), TABLE)


def show_list(page: AnyPage, request: HttpRequest, show_table: Callable[..., HttpResponseBase]) -> HttpResponseBase:
    """Show the list in the layout and the view of the address, or redirect to an address without unknown ones.

    Raises BadRequest for a filter that the list doesn't have, unless it comes from the open saved view.
    """
    choices = {VIEW_VAR: [ALL, *page.views], LAYOUT_VAR: page.layouts}
    unknown = [
        name
        for name, parts in choices.items()
        if name in request.GET and request.GET[name] not in {part.name for part in parts}
    ]
    saved = visible_views(request, page).get(request.GET[VIEW_VAR]) if VIEW_VAR in unknown else None
    address = query_of(saved, page, request) if saved else query_of_colleague(request)
    if address := address or query_after_search(page, request):
        return redirect(f"{request.path}?{address}")
    if unlisted := page.unlisted_filters(request):
        messages.warning(request, "Filters by custom fields that this list doesn't have were removed.")
    if unknown:
        messages.warning(request, f"The list has no such {' or '.join(unknown)} any more.")
    if unknown or unlisted:
        return redirect(f"{request.path}?{query_without([*unknown, *unlisted], page, request)}")
    try:
        layout = chosen_layout(page, request)
        if layout is TABLE:
            return show_table(request, {"title": capfirst(page.opts.verbose_name_plural)})
        if not page.has_view_or_change_permission(request):
            raise PermissionDenied
        if ORGANIZATION_VAR not in request.GET and (first := first_of_several(page, request)):
            query = request.GET.copy()
            query[ORGANIZATION_VAR] = str(first.pk)
            return redirect(f"{request.path}?{query.urlencode()}")
        return layout.render(page, request, page.get_changelist_instance(request))
    except BadRequest as error:
        opened = visible_views(request, page).get(request.GET.get(SAVED_VAR, ""))
        is_typed = isinstance(error, lists.Unreadable)
        if opened is None or is_typed or request.GET.keys() == {VIEW_VAR, SAVED_VAR}:
            raise
        messages.warning(request, "This view refers to something that no longer exists. These are all rows.")
        return redirect(f"{request.path}?{VIEW_VAR}={ALL.name}&{SAVED_VAR}={opened.pk}")


def query_without(names: list[str], page: AnyPage, request: HttpRequest) -> str:
    query = request.GET.copy()
    for name in names:
        del query[name]
    if page.views:
        query.setdefault(VIEW_VAR, ALL.name)
    return query.urlencode()


def first_of_several(page: AnyPage, request: HttpRequest) -> Organization | None:
    """Return the organization of a layout whose address names none; None for users of only one.

    The address must name it: the buttons of the page, and the views that are saved there, take it from there.
    """
    organizations = organizations_with_role(request, PERMISSIONS[page.area].view).order_by("name", "id")[:2]
    return organizations[0] if len(organizations) > 1 else None


def query_of(saved: SavedView, page: AnyPage, request: HttpRequest) -> str:
    """Return the query that opens a view: of several organizations, a shared one shows that which shares it."""
    query = f"{saved.query}&{SAVED_VAR}={saved.pk}"
    if saved.owner_id is None and ORGANIZATION_VAR not in saved.query and first_of_several(page, request):
        query += f"&{ORGANIZATION_VAR}={saved.organization_id}"
    return query


def query_after_search(page: AnyPage, request: HttpRequest) -> str:
    """Return the query with the view of the open saved view, which a search that is empty now has left, else ""."""
    saved = visible_views(request, page).get(request.GET.get(SAVED_VAR, ""))
    if saved is None or VIEW_VAR in request.GET or request.GET.get(SEARCH_VAR) != "":
        return ""
    query = request.GET.copy()
    query[VIEW_VAR] = QueryDict(saved.query).get(VIEW_VAR, ALL.name)
    return query.urlencode()


def query_of_colleague(request: HttpRequest) -> str:
    """Return the query without the organization if it names the only one of the user, else "".

    A colleague in several organizations has sent the address, or shares the view.
    """
    ids = [] if is_operator(request) else [str(id) for id in roles_by_organization(request)]
    if request.method != "GET" or len(ids) != 1 or request.GET.getlist(ORGANIZATION_VAR) != ids:
        return ""
    query = request.GET.copy()
    del query[ORGANIZATION_VAR]
    return query.urlencode() or f"{VIEW_VAR}={ALL.name}"


def layout_response(
    page: AnyPage, request: HttpRequest, cl: ViewChangeList, template: str, context: dict[str, object]
) -> TemplateResponse:
    """Return a layout's page. The template extends `admin/change_list.html`, and replaces `result_list`."""
    request.current_app = page.admin_site.name
    cl.formset = None
    list_context: dict[str, object] = {
        **page.admin_site.each_context(request),
        "title": capfirst(page.opts.verbose_name_plural),
        "is_popup": False,
        "cl": cl,
        "media": page.media,
        "opts": page.opts,
        "has_add_permission": page.has_add_permission(request),
        "preserved_filters": page.get_preserved_filters(request),
        "actions_on_top": False,
        "actions_on_bottom": False,
    }
    return TemplateResponse(request, template, list_context | context)
