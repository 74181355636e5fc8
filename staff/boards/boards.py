"""Boards: the layout of a list with a column for each status and a card for each row, which people move.

A board is a list: it shows the rows of the list's view, filters and search, in the list's order. A move is a POST with
the card and the status in which the user saw it. It goes through the model's service, as any other change of a status.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import Model, OuterRef
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminSelectWidget

from foundation.api.exceptions import DomainError
from organizations.actors import Actor, staff_actor
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, current_user, organizations_with_role
from staff.boards import cards
from staff.boards.cards import Card, Column, board_order
from staff.toolkit.actions import AnyRow, page_context, row_url
from staff.toolkit.export import ExportAdmin
from staff.toolkit.tenant import has_several_organizations
from staff.toolkit.views import Layout, ViewChangeList
from statuses.models import Board, Status

JSON = "application/json"


@dataclass(frozen=True)
class Move:
    """What became of a move: `state` is moved, overtaken, refused or asks; a move that asks goes on at `url`."""

    state: str
    message: str
    card: Any = None
    url: str = ""

    @property
    def http_status(self) -> int:
        return {"moved": 200, "asks": 200, "overtaken": 409}.get(self.state, 403)


def render_board(admin: "BoardAdmin", request: HttpRequest, cl: ViewChangeList) -> HttpResponse:
    """Return the board, or more cards of the column that the address names. Raises BadRequest."""
    if "column" in request.GET:
        return admin.more_cards(request, cl)
    columns = admin.columns(request, cl)
    organization = admin.board_organization(request)
    several = has_several_organizations(request)
    context = {
        "board": columns,
        "board_organization": organization,
        "board_organizations": organizations_with_role(request, PERMISSIONS[admin.area].view) if several else (),
        "list_buttons": admin.list_buttons(request),
        "move_url": reverse(f"admin:{admin.opts.app_label}_{admin.opts.model_name}_move"),
        "is_empty": not any(column.row_count for column in columns),
    }
    return admin.layout_response(request, cl, "statuses/board_list.html", **context)


class BoardAdmin(ExportAdmin):
    """An admin page whose list has the layout `board`."""

    board: ClassVar[Board]
    status_field: ClassVar[str]
    history: ClassVar[str]  # the relation with the changes of the status
    card_related: ClassVar[tuple[str, ...]] = ()  # relations that cards show and the list doesn't
    layouts: ClassVar[tuple[Layout, ...]] = (Layout("board", "Board", "dataset", render_board, ("column", "offset")),)
    list_after_template = "statuses/board.html"

    def card_lines(self, row: AnyRow) -> list[str]:
        """Return what a card says below the name."""
        raise NotImplementedError

    def card_title(self, row: AnyRow) -> str:
        """Return the first line of a card."""
        return str(row)

    def move(self, actor: Actor, row: AnyRow, status: Status) -> None:
        """Give the row the status, with the model's service. Raises DomainError."""
        raise NotImplementedError

    def move_page(self, row: AnyRow, status: Status) -> str:
        """Return the address of the page that asks for confirmation of this move, or an empty text."""
        return ""

    def move_question(self, row: AnyRow, status: Status) -> str:
        """Return what has to be confirmed before the move, or an empty text."""
        return ""

    def get_urls(self) -> list[URLPattern]:
        """Return the page's URLs with that of the moves."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_move"
        view = require_http_methods(["GET", "POST"])(self.admin_site.admin_view(self.move_view))
        return [path("move/", view, name=name), *super().get_urls()]

    def board_organization(self, request: HttpRequest) -> Organization | None:
        """Return the organization of the board: the one that the list is filtered by, or else the first."""
        organizations = organizations_with_role(request, PERMISSIONS[self.area].view).order_by("name", "id")
        chosen = request.GET.get("organization__id__exact")
        return organizations.filter(pk=to_uuid(chosen)).first() if chosen else organizations.first()

    def columns(self, request: HttpRequest, cl: ViewChangeList) -> list[Column]:
        """Return the columns in the board's order, each with its first cards: in two or three statements."""
        organization = self.board_organization(request)
        if organization is None:
            return []
        rows = cl.queryset.filter(organization=organization)
        of_status = rows.filter(**{self.status_field: OuterRef("pk")})
        statuses = Status.objects.of(organization).annotate(
            row_count=cards.CountOf(of_status.order_by().values("pk")[: cards.MAX_COUNT + 1]),
            card_ids=ArraySubquery(of_status.values("pk")[: cards.PAGE_SIZE + 1]),
        )
        columns = [
            Column(status, status.row_count, status.card_ids, self.list_url(cl, status), request.GET)
            for status in statuses
            if status.row_count or (status.is_active and status.is_on_board(self.board))
        ]
        columns.sort(key=lambda column: board_order(column.status))
        if self.opts.get_field(self.status_field).null:
            without = rows.filter(**{self.status_field: None})
            ids = list(without.values_list("pk", flat=True)[: cards.MAX_COUNT + 1])
            if ids:
                first = ids[: cards.PAGE_SIZE + 1]
                columns.insert(0, Column(None, len(ids), first, self.list_url(cl, None), request.GET))
        self.fill(request, columns)
        return columns

    def fill(self, request: HttpRequest, columns: list[Column]) -> None:
        """Read the rows of the columns' first cards, and since when each is in its column."""
        ids = [id for column in columns for id in column.ids[: cards.PAGE_SIZE]]
        changes: Any = self.model._meta.get_field(self.history)
        history = changes.related_model.objects.of(OuterRef("organization")).filter(
            **{changes.field.name: OuterRef("pk")}
        )
        since = history.order_by("-created_at").values("created_at")[:1]
        shown = self.get_queryset(request).select_related(self.status_field, *self.card_related)
        rows = {row.pk: row for row in shown.filter(pk__in=ids).annotate(status_since=since)}
        own = self.writable_rows(request, self.model._default_manager.filter(pk__in=ids))
        movable = set(own.values_list("pk", flat=True)) if self.has_write_permission(request) else set()
        for column in columns:
            # A row that has been moved since the ids were read is shown the next time.
            found = [rows[id] for id in column.ids[: cards.PAGE_SIZE] if id in rows]
            column.cards = [self.card(row, column.status, is_movable=row.pk in movable) for row in found]

    def card(self, row: AnyRow, status: Status | None, *, is_movable: bool) -> Card:
        """Return the row's card. The row has `status_since`."""
        return Card(
            id=row.pk,
            row=self.card_title(row),
            url=row_url(row),
            lines=[line for line in self.card_lines(row) if line],
            since=row.status_since or row.created_at,
            limit=status.days_limit if status else None,
            version=f"{row.pk}:{status.pk if status else ''}",
            is_movable=is_movable,
        )

    def list_url(self, cl: ViewChangeList, status: Status | None) -> str:
        """Return the address of the table with a column's rows."""
        names = [f"{self.status_field}__id__exact", f"{self.status_field}__isnull"]
        chosen = {names[0]: str(status.pk), names[1]: None} if status else {names[0]: None, names[1]: "True"}
        address: str = cl.get_query_string({**chosen, "layout": None})
        return address

    def more_cards(self, request: HttpRequest, cl: ViewChangeList) -> HttpResponse:
        """Return further cards of a column as HTML. Raises BadRequest."""
        organization, key = self.board_organization(request), request.GET["column"]
        offset = request.GET.get("offset", "0")
        if organization is None or not offset.isdecimal() or int(offset) >= cards.MAX_COUNT:
            raise BadRequest("The board has no such cards.")
        status = Status.objects.of(organization).filter(pk=to_uuid(key)).first() if key else None
        rows = cl.queryset.filter(organization=organization, **{self.status_field: status})
        ids = list(rows.values_list("pk", flat=True)[int(offset) : int(offset) + cards.PAGE_SIZE + 1])
        column = Column(status, 0, ids, self.list_url(cl, status), request.GET, int(offset))
        self.fill(request, [column])
        return TemplateResponse(request, "statuses/board_cards.html", {"column": column, "cl": cl})

    def move_view(self, request: HttpRequest) -> HttpResponse:
        """Move a card, or ask for confirmation. Answers the board's script in JSON, and a form with the board."""
        data = request.POST if request.method == "POST" else request.GET
        move = self.try_move(request, data)
        if isinstance(move, HttpResponse):
            return move
        if request.headers.get("Accept") == JSON:
            answer = {"state": move.state, "message": move.message, "url": move.url}
            if move.card:
                answer |= {"column": move.card.version.rpartition(":")[2], "card": self.card_html(request, move.card)}
            return JsonResponse(answer, status=move.http_status)
        if move.state == "asks":
            return redirect(move.url)
        (messages.success if move.state == "moved" else messages.warning)(request, move.message)
        return redirect(board_url(self.model, data.get("query", "")))

    def card_html(self, request: HttpRequest, card: Card) -> str:
        """Return the card as HTML."""
        return render_to_string("statuses/board_card.html", {"card": card}, request)

    def try_move(self, request: HttpRequest, data: QueryDict) -> Move | HttpResponse:
        """Move the card if it can be moved, or return the page that asks; return what became of it."""
        id, _, seen = data.get("card", "").partition(":")
        row = self.get_queryset(request).filter(pk=to_uuid(id)).first()
        if row is None:
            return Move("refused", f"There is no such {self.opts.verbose_name} any more.")
        name = self.card_title(row)
        if not self.has_write_permission(request, row):
            return Move("refused", f"You may not move {name}: only your own and unassigned ones.")
        if f"to-{id}" not in data and request.headers.get("Accept") != JSON:
            return self.choose(request, data, row)
        status = Status.objects.of(row.organization).filter(pk=to_uuid(data.get(f"to-{id}", ""))).first()
        if status is None:
            return Move("refused", f"{name} was not moved: choose a column of the board.")
        if "confirmed" not in request.POST and status.pk != getattr(row, f"{self.status_field}_id"):
            if url := self.move_page(row, status):
                return Move("asks", "", url=f"{url}?{encode({'board': data.get('query', '')})}")
            if question := self.move_question(row, status):
                return self.ask(request, data, row, status, question)
        if request.method != "POST":
            return Move("refused", f"{name} was not moved.")
        try:
            return self.move_locked(request, row, status, seen)
        except DomainError as error:
            return Move("refused", f"{name} was not moved. {error}")

    def choose(self, request: HttpRequest, data: QueryDict, row: AnyRow) -> HttpResponse:
        """Return the page that asks where to move the card, for a browser without the board's script."""
        present = getattr(row, f"{self.status_field}_id")
        targets = Status.objects.of(row.organization).choices(self.board, current=present)
        select = UnfoldAdminSelectWidget(choices=[(row.pk, row.name) for row in sorted(targets, key=board_order)])
        context = page_context(self, request, row, "Move") | {
            "fields": [(name, data.get(name, "")) for name in ("card", "query")],
            "target": select.render(f"to-{row.pk}", present, {"id": "move-to"}),
            "back_url": board_url(self.model, data.get("query", "")),
        }
        return TemplateResponse(request, "statuses/board_move.html", context)

    def ask(
        self, request: HttpRequest, data: QueryDict, row: AnyRow, status: Status, question: str
    ) -> Move | HttpResponse:
        """Return the page that asks whether to move the card; first its address."""
        if request.method == "POST":
            names = ("card", f"to-{row.pk}", "query")
            return Move("asks", "", url=f"{request.path}?{encode({name: data.get(name, '') for name in names})}")
        context = page_context(self, request, row, f"Move to {status}")
        context |= {
            "question": question,
            "fields": list(data.items()),
            "back_url": board_url(self.model, data.get("query", "")),
        }
        return TemplateResponse(request, "statuses/board_move.html", context)

    @transaction.atomic
    def move_locked(self, request: HttpRequest, row: AnyRow, status: Status, seen: str) -> Move:
        """Lock the row, and move it unless somebody else has. Raises DomainError."""
        name, user = self.card_title(row), current_user(request)
        locked = self.model.objects.of(row.organization).for_update().filter(pk=row.pk).first()
        if locked is None:
            return Move("refused", f"There is no such {self.opts.verbose_name} any more.")
        present = getattr(locked, f"{self.status_field}_id")
        if str(present or "") != seen and present != status.pk:
            return Move("overtaken", self.last_change(locked, name), self.read_card(request, row.pk))
        if present != status.pk:
            self.move(staff_actor(user), row, status)
            self.log_change(request, row, f"Moved to {status} on the board.")
        return Move("moved", f"{name} moved to {status}.", self.read_card(request, row.pk))

    def last_change(self, row: AnyRow, name: str) -> str:
        """Return the sentence that says who has moved the row where, and when."""
        change = getattr(row, self.history).select_related("to_status").order_by("-created_at", "-id").first()
        if change is None:
            return f"{name} has been moved by somebody else meanwhile. Nothing was changed."
        at = date_format(timezone.localtime(change.created_at), "DATETIME_FORMAT")
        actor = change.actor_name or "Somebody"
        return f"{actor} has moved {name} to {change.to_status} meanwhile ({at}). Nothing was changed."

    def read_card(self, request: HttpRequest, id: UUID) -> Card:
        """Return the present card of a row that the user may move."""
        status = getattr(self.get_queryset(request).get(pk=id), self.status_field)
        column = Column(status, 1, [id], "", request.GET)
        self.fill(request, [column])
        return column.cards[0]


def board_url(model: type[Model], query_string: str) -> str:
    """Return the address of the board with these parameters."""
    query = QueryDict(query_string, mutable=True)
    query["layout"] = "board"
    return f"{reverse(f'admin:{model._meta.app_label}_{model._meta.model_name}_changelist')}?{query.urlencode()}"


def short_time(at: datetime) -> str:
    """Return the time as a card shows it: with weekday, and with the year unless it is this one."""
    local = timezone.localtime(at)
    return date_format(local, "D j M, H:i" if local.year == timezone.localdate().year else "DATETIME_FORMAT")


def to_uuid(text: str) -> UUID:
    """Return the id; for a text that is none, the nil UUID, which no row has."""
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)


def encode(values: dict[str, str]) -> str:
    """Return the values as a query string."""
    query = QueryDict(mutable=True)
    query.update(values)
    return query.urlencode()
