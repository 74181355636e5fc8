"""Export of the rows that a list shows, as CSV or XLSX.

The file has all rows of the list's filters, search and view, in the list's order. The database sends them in batches,
and they are written to a temporary file without a name, so memory doesn't grow with their number, and nothing is left
when the client disconnects. The file is complete before it is sent: an error gives an ordinary page.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date, datetime, tzinfo
from functools import partial, reduce
from operator import add
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, TypeAlias
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.db.models import Case, CharField, F, Func, IntegerField, Max, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat, Trim
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from leads.imports.values import guarded
from organizations.isolation.row_level_security import lift_page_deadline
from organizations.models import Organization, SecurityEventKind
from organizations.permissions import BACK_OFFICE, filter_by_role, has_role
from organizations.security_log import record_security_event
from staff.toolkit.actions import AnyPage
from staff.toolkit.saved_views import VIEW_VAR
from staff.toolkit.tenant import has_several_organizations
from staff.toolkit.views import Link, ListButton, chosen_view
from staff.toolkit.xlsx import write_xlsx

EXPORTERS = BACK_OFFICE
MAX_ROWS = 200_000
BATCH, BATCH_SIZE = 2_000, 1_000_000  # rows that are read at once, and bytes of their cells; one row may have more

Cell: TypeAlias = str | int | float | date | datetime | UUID | None


class Column(NamedTuple):
    """A column of the file: its header, the value (a lookup or an expression), and its conversion for people."""

    header: str
    value: str | Combinable
    show: Callable[[Any], Cell] = lambda value: value
    is_time: bool = False


def member_columns(name: str, header: str) -> tuple[Column, Column]:
    user = f"{name}__user__"
    full_name = Trim(Concat(F(f"{user}first_name"), Value(" "), F(f"{user}last_name"), output_field=CharField()))
    return (
        Column(header, Case(When(**{f"{name}__isnull": False}, then=full_name))),
        Column(f"{header} e-mail", f"{user}email"),
    )


def labels(choices: Iterable[tuple[str, Any]]) -> Callable[[Any], Cell]:
    names = {value: str(label) for value, label in choices}
    return lambda value: names.get(value, value)


def yes_or_no(value: bool | None) -> Cell:
    return None if value is None else "Yes" if value else "No"


class Export(ListButton):
    def __init__(self, *columns: Column) -> None:
        self.columns = columns

    def is_allowed(self, page: AnyPage, request: HttpRequest) -> bool:
        return page.has_view_permission(request) and has_role(request, EXPORTERS)

    def columns_for(self, page: AnyPage, request: HttpRequest) -> list[Column]:
        organization = [Column("Organization of the row", "organization__name")]  # as imports name it
        return [*self.columns, *(organization if has_several_organizations(request) else [])]

    def urls(self, page: AnyPage) -> list[URLPattern]:
        prefix = f"{page.opts.app_label}_{page.opts.model_name}_export"
        view = page.admin_site.admin_view(partial(self.respond, page))
        return [path(f"export.{kind}", view, {"kind": kind}, name=f"{prefix}_{kind}") for kind in WRITERS]

    def links(self, page: AnyPage, request: HttpRequest) -> list[Link]:
        if not self.is_allowed(page, request):
            return []
        prefix, query = f"admin:{page.opts.app_label}_{page.opts.model_name}_export", request.GET.copy()
        if view := chosen_view(page, request):
            query[VIEW_VAR] = view.name
        return [
            Link(
                kind.upper(),
                f"{reverse(f'{prefix}_{kind}')}?{query.urlencode()}",
                "download",
                title=f"Download all rows of this list as {kind.upper()}",
            )
            for kind in WRITERS
        ]

    def respond(self, page: AnyPage, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Return the file with the list's rows, and record in the security log who exported how many.

        Raises PermissionDenied. With more than MAX_ROWS rows it returns to the list with a message.
        """
        if not self.is_allowed(page, request):
            raise PermissionDenied
        lift_page_deadline()
        rows = filter_by_role(request, EXPORTERS, page.get_changelist_instance(request).queryset)
        if rows.order_by()[: MAX_ROWS + 1].count() > MAX_ROWS:
            messages.error(request, f"A file can have {MAX_ROWS:,} rows. Choose filters, and export again.")
            return redirect(f"../?{request.GET.urlencode()}")
        columns, name = self.columns_for(page, request), str(page.opts.verbose_name_plural)
        zone = timezone.get_current_timezone_name()
        header = [f"{column.header} ({zone})" if column.is_time else column.header for column in columns]
        with ExitStack() as stack, transaction.atomic():
            file = stack.enter_context(TemporaryFile())
            counts: Counter[UUID] = Counter()
            WRITERS[kind](file, name, header, counted(rows, columns, counts))
            for organization in Organization.objects.filter(pk__in=counts):
                details = f"{counts[organization.pk]:,} {name} as {kind.upper()}"
                record_security_event(SecurityEventKind.EXPORTED, organization=organization, details=details)
            stack.pop_all()  # from here on the response closes it
        return download(file, f"{name}-{timezone.localdate():%Y-%m-%d}", kind)


def counted(rows: QuerySet[Any], columns: list[Column], counts: Counter[UUID]) -> Iterator[list[Cell]]:
    """Yield the cells of each row, read in batches, and count the rows of each organization. Needs a transaction."""
    values = dict.fromkeys(column.value for column in columns if isinstance(column.value, str))
    expressions = [column.value for column in columns if not isinstance(column.value, str)]
    position = {value: number for number, value in enumerate([*values, *expressions], start=1)}
    picks = [(position[column.value], column.show, column.is_time) for column in columns]
    zone = timezone.get_current_timezone()
    query = rows.values_list("organization_id", *values, *expressions).query
    with connection.cursor() as cursor:
        # The plan is for all rows, not for the first tenth. The separate statement also applies the request's scope,
        # whose limit of a transaction's time is for those that write.
        cursor.execute(
            "SELECT set_config('cursor_tuple_fraction', '1', true), set_config('transaction_timeout', '0', true)"
        )
    # `iterator()` would read everything at once behind a pooler, where a cursor works within a transaction only.
    for row in query.get_compiler(connection=connection).results_iter(
        tuple_expected=True, chunked_fetch=True, chunk_size=batch_length(rows, [*map(F, values), *expressions])
    ):
        counts[row[0]] += 1
        yield [
            local_time(row[place], zone) if is_time and row[place] else show(row[place])
            for place, show, is_time in picks
        ]


def local_time(at: datetime, zone: tzinfo) -> Cell:
    """Return the time without its zone, which the heading names; with the offset if clocks show it twice that day."""
    local = at.astimezone(zone)
    if local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        return local.isoformat(sep=" ", timespec="seconds")
    return local.replace(tzinfo=None)


def batch_length(rows: QuerySet[Any], cells: Iterable[Combinable]) -> int:
    """Return how many of the rows may be read at once, so that a batch has `BATCH_SIZE` bytes or is one row."""
    template = "COALESCE(octet_length((%(expressions)s)::text), 0)"
    sizes = [Func(cell, template=template, output_field=IntegerField()) for cell in cells]
    largest = rows.order_by().aggregate(largest=Max(reduce(add, sizes)))["largest"]
    return max(1, min(BATCH, BATCH_SIZE // (largest or 1)))


def download(file: IO[bytes], name: str, kind: str) -> FileResponse:
    file.seek(0)
    name = f"{name}.{kind}".replace(" ", "-")
    response = FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES[kind])
    response["Cache-Control"] = "no-store"
    if kind == "xlsx":
        response["Content-Encoding"] = "identity"  # it is compressed already
    return response


def write_csv(file: IO[bytes], title: str, header: list[str], rows: Iterable[list[Cell]], separator: str = ",") -> None:
    """Write the rows as UTF-8 with a byte order mark, which tells Excel the encoding.

    Text that could be a formula gets an apostrophe in front; so does a phone number, which keeps its + and all digits
    in a spreadsheet.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(map(csv_cell, header))
    for row in rows:
        writer.writerow([value and csv_cell(value) for value in row])  # many may be empty
    text.detach()  # which flushes it, and leaves the file open


def csv_cell(value: Cell) -> Cell:
    if isinstance(value, str):
        return guarded(value)
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return value


WRITERS: dict[str, Callable[[IO[bytes], str, list[str], Iterable[list[Cell]]], None]] = {
    "csv": write_csv,
    "xlsx": write_xlsx,
}
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
