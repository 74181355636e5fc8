"""Views of a list: its named selections of rows (tabs), and its layouts (table, board, calendar).

A list's address says what it shows: `?view=<name of a built-in view>`, `?layout=<name>`, filters, search and order.
`?view=<id of a saved view>` leads to the address that is saved; `saved=<id>` in it says which view is open.

Another app adds a view with `register_view`, and a layout with `register_layout`. A layout's `render` gets the list
with filters, search and view applied: `cl.queryset` has the rows, and `cl.get_query_string(...)` keeps the parameters.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern
from django.utils.functional import cached_property
from django.utils.text import capfirst

from organizations.models import SavedView
from staff.toolkit import saved_views
from staff.toolkit.base import ServiceAdmin
from staff.toolkit.lists import OfferedLookupsChangeList
from staff.toolkit.saved_views import SAVED_VAR

VIEW_VAR, LAYOUT_VAR = "view", "layout"
TABLE = "table"


class View(NamedTuple):
    """A built-in selection of a list's rows: `rows` filters them, and `ordering` is their order if nobody sorts.

    `empty` is what the page says, and advises, when there are none.
    """

    name: str
    label: str
    rows: Callable[[HttpRequest, QuerySet[Any]], QuerySet[Any]] | None = None
    ordering: tuple[str, ...] = ()
    empty: str = ""


# The last view of each list that has views.
ALL = View("all", "All")


class Layout(NamedTuple):
    """Another form of a list than the table. `parameters` are those of the address that it reads itself.

    Of them `places` say where in the rows one is; a saved view doesn't keep these.
    """

    name: str
    label: str
    icon: str
    render: Callable[[Any, HttpRequest, "ViewChangeList"], HttpResponse]  # with the admin page as the first argument
    parameters: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


class Choice(NamedTuple):
    """A link of the tabs or of the switch between layouts."""

    label: str
    url: str
    is_active: bool
    icon: str = ""


class ViewChangeList(OfferedLookupsChangeList):
    """A list that shows the view and the layout of its address."""

    model_admin: "ListWithViews"
    view: View | None
    layout: Layout | None
    queryset: QuerySet[Any]
    request: HttpRequest

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str] | None = None) -> QuerySet[Any]:
        """Return the rows that match the filters, the search and the view, in the view's order."""
        self.request = request
        self.view, self.layout = self.model_admin.chosen_view(request), self.model_admin.chosen_layout(request)
        if self.view is None and self.model_admin.views:
            raise IncorrectLookupParameters
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        rows = rows.annotate(**self.model_admin.column_values)
        return self.view.rows(request, rows) if self.view and self.view.rows else rows

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the parameters that belong to filters."""
        # Search looks among all rows: its form keeps these parameters, and must not keep the view.
        self.filter_params.pop(VIEW_VAR, None)
        others = {LAYOUT_VAR, SAVED_VAR, *(name for layout in self.model_admin.layouts for name in layout.parameters)}
        parameters: dict[str, Any] = super().get_filters_params(params)
        return {name: value for name, value in parameters.items() if name not in others}

    def get_query_string(self, new_params: dict[str, Any] | None = None, remove: list[str] | None = None) -> str:
        """Return the list's address with some parameters changed; the view stays unless it is one of them."""
        view = getattr(self, "view", None)
        kept = {VIEW_VAR: view.name} if view else {}
        address: str = super().get_query_string(kept | (new_params or {}), remove)
        return address

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Return the order that the address names, or the view's, or the list's."""
        if self.view and self.view.ordering and ORDER_VAR not in self.params:
            return list(self.view.ordering)
        ordering: list[Any] = super().get_ordering(request, queryset)
        return ordering

    def _get_default_ordering(self) -> Any:
        """Return the order that the column headings show if the address names none."""
        return (self.view and self.view.ordering) or super()._get_default_ordering()

    def get_results(self, request: HttpRequest) -> None:
        """Read a page of the table; another layout reads the rows itself."""
        self.drop_slow_order(request)
        rows = self.queryset
        if self.layout:
            self.queryset = rows.none()
        super().get_results(request)
        if self.model_admin.views or self.layout:
            self.full_result_count = self.result_count  # so that the heading has no number: tabs lead to all rows
        self.queryset = rows
        self.title = capfirst(self.opts.verbose_name_plural)

    @property
    def tabs(self) -> list[Choice]:
        """The list's views: the built-in ones, then the user's own, then the shared ones."""
        opened = self.saved_view
        built_in = [
            Choice(
                view.label,
                # What a saved view looks for stays with it.
                f"?{VIEW_VAR}={view.name}" if opened else self.get_query_string({VIEW_VAR: view.name, ORDER_VAR: None}),
                view == self.view and not opened,
            )
            for view in self.model_admin.all_views
        ]
        saved = saved_views.visible_views(self.request, self.model_admin)
        others = [
            Choice(view.name, f"?{VIEW_VAR}={view.pk}", view == opened, "" if view.owner_id else "group")
            for view in saved.values()
        ]
        return built_in + others

    @cached_property
    def saved_view(self) -> SavedView | None:
        """Return the saved view that is open."""
        views = saved_views.visible_views(self.request, self.model_admin)
        return views.get(self.request.GET.get(SAVED_VAR, ""))

    @property
    def saving(self) -> saved_views.Saving | None:
        """What the forms that save views need; None if the user can't save any here."""
        return saved_views.saving(self) if self.model_admin.views else None

    @property
    def layout_links(self) -> list[Choice]:
        """The list's layouts, with the table first; none if there is only the table."""
        layouts = self.model_admin.layouts
        if not layouts:
            return []
        table = Choice("Table", self.get_query_string({LAYOUT_VAR: None}), self.layout is None, "list")
        others = [
            Choice(layout.label, self.get_query_string({LAYOUT_VAR: layout.name}), layout == self.layout, layout.icon)
            for layout in layouts
        ]
        return [table, *others]


class ListWithViews(ServiceAdmin):
    """An admin page whose list can have views and layouts. A list that is opened plainly shows the first view."""

    views: ClassVar[tuple[View, ...]] = ()
    layouts: ClassVar[tuple[Layout, ...]] = ()
    column_values: ClassVar[Mapping[str, Any]] = {}  # annotations that columns show
    list_before_template = "admin/list_views.html"

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["organizations/lists.css"]}

    @classmethod
    def register_view(cls, *views: View) -> None:
        """Offer another app's views before those of this list."""
        cls.views = (*views, *cls.views)

    @classmethod
    def register_layout(cls, *layouts: Layout) -> None:
        """Offer another app's layouts after those of this list."""
        cls.layouts = (*cls.layouts, *layouts)

    @classmethod
    def register_column(cls, column: Callable[[Any], object], **values: object) -> None:
        """Show another app's column after the first, with annotations that it reads."""
        cls.list_display = (cls.list_display[0], column, *cls.list_display[1:])
        cls.column_values = {**cls.column_values, **values}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ViewChangeList]:
        return ViewChangeList

    def get_urls(self) -> list[URLPattern]:
        """Return the page's URLs, with those of the forms that save views."""
        return [*(saved_views.urls(self) if self.views else ()), *super().get_urls()]

    @property
    def list_name(self) -> str:
        """The name of the list's URL."""
        return f"{self.opts.app_label}_{self.opts.model_name}_changelist"

    @property
    def all_views(self) -> tuple[View, ...]:
        """The views with that of all rows, which comes last; none if the list has none."""
        return (*self.views, ALL) if self.views else ()

    def chosen_view(self, request: HttpRequest) -> View | None:
        """Return the view that the address names; by default the first, or all rows if the address says anything."""
        name = request.GET.get(VIEW_VAR)
        is_list = request.resolver_match and request.resolver_match.url_name == self.list_name
        # Rows that somebody has selected are meant, whatever view they were in.
        is_plain = is_list and not request.GET and (request.method == "GET" or request.POST.get("select_across") == "1")
        if name is None and self.views:
            return self.views[0] if is_plain else ALL
        return next((view for view in self.all_views if view.name == name), None)

    def chosen_layout(self, request: HttpRequest) -> Layout | None:
        """Return the layout that the address names, or None for the table."""
        return next((layout for layout in self.layouts if layout.name == request.GET.get(LAYOUT_VAR)), None)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponseBase:
        """Show the list in the layout and the view of the address; without those that don't exist."""
        views = saved_views.visible_views(request, self)
        if saved := views.get(request.GET.get(VIEW_VAR, "")):
            return redirect(f"{request.path}?{saved.query}&{SAVED_VAR}={saved.pk}")
        if unknown := self.unknown_choices(request):
            parameters: QueryDict = request.GET.copy()
            for name in unknown:
                del parameters[name]
            if self.views:
                parameters.setdefault(VIEW_VAR, ALL.name)
            messages.warning(request, f"The list has no such {' or '.join(unknown)} any more.")
            return redirect(f"{request.path}?{parameters.urlencode()}")
        try:
            return self.list_response(request, extra_context)
        except BadRequest:
            saved = views.get(request.GET.get(SAVED_VAR, ""))
            if saved is None or request.GET.keys() == {VIEW_VAR, SAVED_VAR}:
                raise
            messages.warning(request, "What this view looked for no longer exists. These are all rows.")
            return redirect(f"{request.path}?{VIEW_VAR}={ALL.name}&{SAVED_VAR}={saved.pk}")

    def list_response(self, request: HttpRequest, extra_context: dict[str, Any] | None) -> HttpResponseBase:
        """Return the list's page in its layout. Raises BadRequest for what no filter offers."""
        layout = self.chosen_layout(request)
        if layout is None:
            response: HttpResponseBase = super().changelist_view(request, extra_context)
            return response
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return layout.render(self, request, self.get_changelist_instance(request))

    def unknown_choices(self, request: HttpRequest) -> list[str]:
        """Return the names of the parameters that name a view or a layout which the list doesn't have."""
        views = {ALL.name, *(view.name for view in self.views)}
        layouts = {TABLE, *(layout.name for layout in self.layouts)}
        known = {VIEW_VAR: views, LAYOUT_VAR: layouts}
        return [name for name, names in known.items() if name in request.GET and request.GET[name] not in names]

    def layout_response(
        self, request: HttpRequest, cl: ViewChangeList, template: str, **context: object
    ) -> TemplateResponse:
        """Return a layout's page. The template extends `admin/change_list.html`, and replaces `result_list`."""
        request.current_app = self.admin_site.name
        cl.formset = None
        whole: dict[str, object] = {
            **self.admin_site.each_context(request),
            "title": cl.title,
            "is_popup": False,
            "cl": cl,
            "media": self.media,
            "opts": self.opts,
            "has_add_permission": self.has_add_permission(request),
            "actions_on_top": False,
            "actions_on_bottom": False,
        }
        return TemplateResponse(request, template, whole | context)
