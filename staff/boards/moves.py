"""A move of a card: a POST with the card, the status in which the user saw it, and the new status.

The board's script gets JSON: `state` is moved, overtaken, refused or asks; a move that asks is confirmed at `url`. A
browser without the script gets a page that asks where to move the card, and then the board again.
"""

from typing import Any, TypeAlias
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from foundation.api.exceptions import DomainError
from staff.boards.cards import Card, board_order
from staff.toolkit.actions import AnyPage, AnyRow, actor_of, page_context
from staff.toolkit.fields import SelectField
from staff.toolkit.lists import MAX_QUERY, to_uuid
from staff.toolkit.timeline import full_time
from statuses.models import Status

AnyBoard: TypeAlias = Any  # a BoardLayout, whose module imports this one

JSON = "application/json"
HTTP_STATUS = {"moved": 200, "asks": 200, "overtaken": 409, "refused": 403}


def move_view(page: AnyPage, board: AnyBoard, request: HttpRequest) -> HttpResponse:
    """Move a card; before that, ask for confirmation if the move needs it, and for the status if it is missing."""
    data = sent_data(request)
    id, _, seen = data.get("card", "").partition(":")
    row = page.get_queryset(request).filter(pk=to_uuid(id)).first()
    if row is None:
        return answer(page, request, "refused", f"There is no such {page.opts.verbose_name} any more.")
    title = board.card_title(row)
    if not page.has_write_permission(request, row):
        return answer(page, request, "refused", f"You may not move {title}: only your own and unassigned ones.")
    if f"to-{id}" not in data and request.headers.get("Accept") != JSON:
        return ask_target(page, board, request, row)
    status = Status.objects.of(row.organization).filter(pk=to_uuid(data.get(f"to-{id}", ""))).first()
    if status is None:
        return answer(page, request, "refused", f"{title} was not moved: choose a column of the board.")
    if "confirmed" not in request.POST and status.pk != getattr(row, f"{board.status_field}_id"):
        url, question = board.confirmation(row, status)
        if url:
            return answer(page, request, "asks", url=f"{url}?{urlencode({'board': data.get('query', '')})}")
        if question:
            if request.method != "POST":
                context = {"question": question, "hidden": [*data.items(), ("confirmed", "yes")]}
                return move_page(page, request, row, f"Move to {status}", context)
            values = {name: data.get(name, "") for name in ("card", f"to-{row.pk}", "query")}
            return answer(page, request, "asks", url=f"{request.path}?{urlencode(values)}")
    if request.method != "POST":
        return answer(page, request, "refused", f"{title} was not moved.")
    return move(page, board, request, row, status, seen)


def move(page: AnyPage, board: AnyBoard, request: HttpRequest, row: AnyRow, status: Status, seen: str) -> HttpResponse:
    """Lock the row, and move it unless it has left the status in which the user saw it."""
    title = board.card_title(row)
    try:
        with transaction.atomic():
            locked = page.model.objects.of(row.organization).for_update().filter(pk=row.pk).first()
            if locked is None:
                return answer(page, request, "refused", f"There is no such {page.opts.verbose_name} any more.")
            present, undo = getattr(locked, f"{board.status_field}_id"), ""
            if str(present or "") != seen and present != status.pk:
                card = board.read_card(page, request, row.pk)
                return answer(page, request, "overtaken", last_change(board, locked, title), card)
            if present != status.pk:
                stored = board.change_status(actor_of(request), row, status)
                undo = board.undo_button(request, row, stored)
                page.log_change(request, row, f"Moved to {status} on the board.")
            card = board.read_card(page, request, row.pk)
    except DomainError as error:
        return answer(page, request, "refused", f"{title} was not moved. {error.reason}")
    return answer(page, request, "moved", f"{title} moved to {status}.", card, undo=undo)


def answer(
    page: AnyPage,
    request: HttpRequest,
    state: str,
    message: str = "",
    card: Card | None = None,
    url: str = "",
    undo: SafeString | str = "",
) -> HttpResponse:
    """Return the result of a move: JSON for the board's script, else a redirect to the board or to `url`."""
    if request.headers.get("Accept") == JSON:
        result = {"state": state, "message": message, "url": url, "undo": undo}
        if card:
            html = render_to_string("staff/board_card.html", {"card": card}, request)
            result |= {"column": card.position.rpartition(":")[2], "card": html}
        return JsonResponse(result, status=HTTP_STATUS[state])
    if state == "asks":
        return redirect(url)
    (messages.success if state == "moved" else messages.warning)(
        request, format_html("{} {}", message, undo) if undo else message
    )
    return redirect(layout_url(page.model, "board", sent_data(request).get("query", "")))


def ask_target(page: AnyPage, board: AnyBoard, request: HttpRequest, row: AnyRow) -> HttpResponse:
    data, present = sent_data(request), getattr(row, f"{board.status_field}_id")
    statuses = Status.objects.of(row.organization).choices(board.board, current=present)
    choices, form = [(status.pk, status.name) for status in sorted(statuses, key=board_order)], forms.Form()
    form.fields[f"to-{row.pk}"] = SelectField(label="Move to", choices=choices, initial=present)
    hidden = [(name, data.get(name, "")) for name in ("card", "query")]
    return move_page(page, request, row, "Move", {"form": form, "hidden": hidden})


def move_page(
    page: AnyPage, request: HttpRequest, row: AnyRow, title: str, context: dict[str, object]
) -> TemplateResponse:
    back_url = layout_url(page.model, "board", sent_data(request).get("query", ""))
    context |= page_context(page, request, row, title) | {"back_url": back_url}
    return TemplateResponse(request, "admin/confirm_action.html", context)


def sent_data(request: HttpRequest) -> QueryDict:
    return request.POST if request.method == "POST" else request.GET


def last_change(board: AnyBoard, row: AnyRow, title: str) -> str:
    changes = getattr(row, f"{board.status_field}_changes").select_related("to_status")
    change = changes.order_by("-created_at", "-id").first()
    if change is None:
        return f"{title} has been moved by someone else meanwhile. Nothing was changed."
    actor, at = change.actor_name or "Someone", full_time(change.created_at)
    return f"{actor} has moved {title} to {change.to_status} meanwhile ({at}). Nothing was changed."


def layout_url(model: type[Model], layout: str, query_string: str) -> str:
    """Return the address of a list in this layout; without the rest of the query if it is too long to redirect to."""
    query = QueryDict(query_string if len(query_string) <= MAX_QUERY else "", mutable=True)
    query["layout"] = layout
    return f"{reverse(f'admin:{model._meta.app_label}_{model._meta.model_name}_changelist')}?{query.urlencode()}"
