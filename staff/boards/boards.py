"""Boards: the layout of a list with a column for each status and a card for each row, which users move (`moves`).

A board is a list: it shows the rows of the list's view, filters and search, in the list's order.
"""

from functools import partial
from typing import ClassVar
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import BadRequest
from django.db.models import IntegerField, OuterRef, Subquery
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from organizations.actors import Actor
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, organizations_with_role
from staff.boards import cards
from staff.boards.cards import Card, Column, board_order
from staff.boards.moves import move_view
from staff.toolkit.actions import AnyPage, AnyRow, row_url
from staff.toolkit.filters import NONE
from staff.toolkit.lists import to_uuid
from staff.toolkit.tenant import has_several_organizations
from staff.toolkit.views import Layout, ViewChangeList, layout_response
from statuses.models import Board, Status


class BoardLayout(Layout):
    name, label, icon = "board", "Board", "dataset"
    parameters = ("column", "offset")
    board: ClassVar[Board]
    status_field: ClassVar[str]
    since_field: ClassVar[str]  # since when a row has its status
    card_related: ClassVar[tuple[str, ...]] = ()  # relations that cards show and the list doesn't
    not_on_cards: ClassVar[tuple[str, ...]] = ("custom_values",)  # long columns

    def card_lines(self, row: AnyRow) -> list[str]:
        raise NotImplementedError

    def card_title(self, row: AnyRow) -> str:
        return str(row)

    def change_status(self, actor: Actor, row: AnyRow, status: Status) -> AnyRow:
        """Give the row the status, with the model's service, and return the stored row. Raises DomainError."""
        raise NotImplementedError

    def undo_button(self, request: HttpRequest, before: AnyRow, after: AnyRow) -> SafeString | str:
        """Return the button that undoes a move, or "" for none."""
        raise NotImplementedError

    def confirmation(self, row: AnyRow, status: Status) -> tuple[str, str]:
        """Return an address and a question, at most one of them non-empty.

        They are a page that asks for confirmation of the move, or what to ask before it.
        """
        return "", ""

    def urls(self, page: AnyPage) -> list[URLPattern]:
        view = require_http_methods(["GET", "POST"])(page.admin_site.admin_view(partial(move_view, page, self)))
        return [path("move/", view, name=f"{page.opts.app_label}_{page.opts.model_name}_move")]

    def render(self, page: AnyPage, request: HttpRequest, cl: ViewChangeList) -> HttpResponse:
        """Return the board, or more cards of the column that the address names. Raises BadRequest."""
        organization = self.organization(page, request)
        if "column" in request.GET:
            return self.more_cards(page, request, cl, organization)
        columns = self.columns(page, request, cl, organization) if organization else []
        several = has_several_organizations(request)
        context: dict[str, object] = {
            "board": columns,
            "board_organization": organization,
            "board_organizations": organizations_with_role(request, PERMISSIONS[page.area].view) if several else (),
            "move_url": reverse(f"admin:{page.opts.app_label}_{page.opts.model_name}_move"),
            "is_empty": not any(column.row_count for column in columns),
        }
        return layout_response(page, request, cl, "staff/board_list.html", context)

    def organization(self, page: AnyPage, request: HttpRequest) -> Organization | None:
        """Return the organization of the board: the one that the list is filtered by, or else the first."""
        organizations = organizations_with_role(request, PERMISSIONS[page.area].view).order_by("name", "id")
        chosen = request.GET.get("organization__id__exact")
        return organizations.filter(pk=to_uuid(chosen)).first() if chosen else organizations.first()

    def columns(
        self, page: AnyPage, request: HttpRequest, cl: ViewChangeList, organization: Organization
    ) -> list[Column]:
        """Return the columns in the board's order, each with its first cards: in at most four statements."""
        rows = cl.queryset.filter(organization=organization)
        of_status = rows.filter(**{self.status_field: OuterRef("pk")})
        statuses = Status.objects.of(organization).annotate(
            row_count=Subquery(
                of_status.order_by().values("pk")[: cards.MAX_COUNT + 1],
                template="(SELECT count(*) FROM (%(subquery)s) AS counted)",
                output_field=IntegerField(),
            ),
            card_ids=ArraySubquery(of_status.values("pk")[: cards.PAGE_SIZE + 1]),
        )
        shown = [row for row in statuses if row.row_count or (row.is_active and row.is_on_board(self.board))]
        count = len(shown) + 1
        columns = [
            Column(row, row.row_count, row.card_ids, self.column_list_url(cl, row), request.GET, column_count=count)
            for row in sorted(shown, key=board_order)
        ]
        if page.opts.get_field(self.status_field).null:
            ids = list(rows.filter(**{self.status_field: None}).values_list("pk", flat=True)[: cards.MAX_COUNT + 1])
            if ids:
                first = ids[: cards.PAGE_SIZE + 1]
                url = self.column_list_url(cl, None)
                columns.insert(0, Column(None, len(ids), first, url, request.GET, column_count=count))
        self.load_cards(page, request, columns)
        return columns

    def more_cards(
        self, page: AnyPage, request: HttpRequest, cl: ViewChangeList, organization: Organization | None
    ) -> HttpResponse:
        key, offset = request.GET["column"], request.GET.get("offset", "0")
        # Python refuses to read a number of more than 4,300 digits.
        if organization is None or not offset.isdecimal() or len(offset) > 9 or int(offset) >= cards.MAX_COUNT:
            raise BadRequest("The board has no such cards.")
        status = Status.objects.of(organization).filter(pk=to_uuid(key)).first() if key else None
        rows = cl.queryset.filter(organization=organization, **{self.status_field: status})
        ids = list(rows.values_list("pk", flat=True)[int(offset) : int(offset) + cards.PAGE_SIZE + 1])
        column = Column(status, 0, ids, self.column_list_url(cl, status), request.GET, int(offset))
        self.load_cards(page, request, [column])
        return TemplateResponse(request, "staff/board_cards.html", {"column": column, "cl": cl})

    def column_list_url(self, cl: ViewChangeList, status: Status | None) -> str:
        chosen = {f"{self.status_field}__id__exact": str(status.pk) if status else NONE}
        return cl.get_query_string({**chosen, f"{self.status_field}__isnull": None, "layout": None})

    def load_cards(self, page: AnyPage, request: HttpRequest, columns: list[Column]) -> None:
        """Load the cards of the columns' ids, and since when each is in its column."""
        ids = [id for column in columns for id in column.ids[: column.page_size]]
        rows = page.get_queryset(request).select_related(self.status_field, *self.card_related)
        rows = rows.defer(*self.not_on_cards)
        by_id = {row.pk: row for row in rows.filter(pk__in=ids)}
        movable = page.writable_ids(request, ids)
        for column in columns:
            # A row that has been moved since the ids were read is missing; it is shown the next time.
            present = [by_id[id] for id in column.ids[: column.page_size] if id in by_id]
            column.cards = [
                Card(
                    title=self.card_title(row),
                    url=row_url(row),
                    lines=[line for line in self.card_lines(row) if line],
                    since=getattr(row, self.since_field) or row.created_at,
                    limit=column.status.days_limit if column.status else None,
                    position=f"{row.pk}:{column.key}",
                    is_movable=row.pk in movable,
                )
                for row in present
            ]

    def read_card(self, page: AnyPage, request: HttpRequest, id: UUID) -> Card:
        status = getattr(page.get_queryset(request).get(pk=id), self.status_field)
        column = Column(status, 1, [id], "", request.GET)
        self.load_cards(page, request, [column])
        return column.cards[0]
