"""Export of the rows that a list shows, as CSV or XLSX.

The file has all rows of the list's filters, search and view, in the list's order. The database sends them in batches,
and they are written to a temporary file without a name, so memory doesn't grow with their number, and nothing is left
when the client goes away. The file is complete before it is sent: an error gives an ordinary page.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date, datetime
from functools import reduce
from operator import add
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar, NamedTuple, TypeAlias
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

from leads.imports.values import FORMULA
from organizations.models import Organization, SecurityEventKind
from organizations.permissions import BACK_OFFICE, filter_by_role, has_role
from organizations.security_log import record_security_event
from staff.toolkit.tenant import TenantAdmin, has_several_organizations
from staff.toolkit.views import VIEW_VAR
from staff.toolkit.xlsx import write_xlsx

EXPORTERS = BACK_OFFICE
MAX_ROWS = 200_000
BATCH, BATCH_SIZE = 2_000, 1_000_000  # rows that are read at once, and bytes of their cells; one row may have more

Cell: TypeAlias = str | int | float | date | datetime | UUID | None


def as_is(value: Any) -> Cell:
    """Return a value that needs no conversion."""
    return value


class Column(NamedTuple):
    """A column of the file: a stable name and header, what it reads (a path or an expression), and how to show it."""

    name: str
    header: str
    value: str | Combinable
    show: Callable[[Any], Cell] = as_is
    is_time: bool = False


def member_columns(name: str, header: str) -> tuple[Column, Column]:
    """Return the columns of a member's name and e-mail; `name` is the row's field."""
    user = f"{name}__user__"
    full_name = Trim(Concat(F(f"{user}first_name"), Value(" "), F(f"{user}last_name"), output_field=CharField()))
    return (
        Column(name, header, Case(When(**{f"{name}__isnull": False}, then=full_name))),
        Column(f"{name}_email", f"{header} e-mail", f"{user}email"),
    )


def labels(choices: Iterable[tuple[str, Any]]) -> Callable[[Any], Cell]:
    """Return the conversion of a stored choice to its label."""
    names: Mapping[str, str] = {value: str(label) for value, label in choices}
    return lambda value: names.get(value, value)


def yes_or_no(value: bool | None) -> Cell:
    """Return a Boolean as people read it."""
    return None if value is None else "Yes" if value else "No"


def header_of(column: Column) -> str:
    """Return the column's header; of a time with the zone of all its values."""
    return f"{column.header} ({timezone.get_current_timezone_name()})" if column.is_time else column.header


class ListButton(NamedTuple):
    """A link beside a list's filters; `title` says more than `label`."""

    label: str
    url: str
    icon: str
    title: str


class ExportAdmin(TenantAdmin):
    """An admin page whose list has buttons that download its rows."""

    export_columns: ClassVar[tuple[Column, ...]] = ()
    change_list_template = "admin/export_list.html"

    def has_export_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may download rows of any organization."""
        return self.has_view_permission(request) and has_role(request, EXPORTERS)

    def get_export_columns(self, request: HttpRequest) -> list[Column]:
        """Return the columns; with the organization's name for users of several organizations."""
        organization = [Column("organization", "Organization", "organization__name")]
        return [*self.export_columns, *(organization if has_several_organizations(request) else [])]

    def get_urls(self) -> list[URLPattern]:
        """Return the page's URLs with those of the two files."""
        prefix = f"{self.opts.app_label}_{self.opts.model_name}_export"
        view = self.admin_site.admin_view(self.export)
        files = [path(f"export.{kind}", view, {"kind": kind}, name=f"{prefix}_{kind}") for kind in WRITERS]
        return [*files, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponseBase:
        """Show the list with its buttons."""
        context = {"list_buttons": self.list_buttons(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def list_buttons(self, request: HttpRequest) -> list[ListButton]:
        """Return a button for each file with the rows of the present list; none if the user may not download them."""
        if not self.has_export_permission(request):
            return []
        prefix, query = f"admin:{self.opts.app_label}_{self.opts.model_name}_export", request.GET.copy()
        if view := self.chosen_view(request):
            query[VIEW_VAR] = view.name
        return [
            ListButton(
                kind.upper(),
                f"{reverse(f'{prefix}_{kind}')}?{query.urlencode()}",
                "download",
                f"Download all rows of this list as {kind.upper()}",
            )
            for kind in WRITERS
        ]

    def export(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Return the file with the list's rows, and record in the security log who got how many.

        Raises PermissionDenied. With more than MAX_ROWS rows it returns to the list with a message.
        """
        if not self.has_export_permission(request):
            raise PermissionDenied
        rows = filter_by_role(request, EXPORTERS, self.get_changelist_instance(request).queryset)
        if rows.order_by()[: MAX_ROWS + 1].count() > MAX_ROWS:
            messages.error(request, f"A file can have {MAX_ROWS:,} rows. Choose filters, and export again.")
            return redirect(f"../?{request.GET.urlencode()}")
        columns = self.get_export_columns(request)
        with ExitStack() as stack, transaction.atomic():
            file = stack.enter_context(TemporaryFile())
            counts: Counter[UUID] = Counter()
            header = [header_of(column) for column in columns]
            WRITERS[kind](file, str(self.opts.verbose_name_plural), header, counted(rows, columns, counts))
            self.record_export(kind, counts)
            stack.pop_all()  # from here on the response closes it
        return download(file, f"{self.opts.verbose_name_plural}-{timezone.localdate():%Y-%m-%d}", kind)

    def record_export(self, kind: str, counts: Mapping[UUID, int]) -> None:
        """Add an entry to the security log of each organization that the rows belong to."""
        for organization in Organization.objects.filter(pk__in=counts):
            details = f"{counts[organization.pk]:,} {self.opts.verbose_name_plural} as {kind.upper()}"
            record_security_event(SecurityEventKind.EXPORTED, organization=organization, details=details)


def counted(rows: QuerySet[Any], columns: list[Column], counts: Counter[UUID]) -> Iterator[list[Cell]]:
    """Yield the cells of each row, read in batches, and count the rows of each organization. Needs a transaction."""
    values = dict.fromkeys(column.value for column in columns if isinstance(column.value, str))
    expressions = [column.value for column in columns if not isinstance(column.value, str)]
    position = {value: number for number, value in enumerate([*values, *expressions], start=1)}
    picks = [(position[column.value], column.show, column.is_time) for column in columns]
    zone = timezone.get_current_timezone()
    query = rows.values_list("organization_id", *values, *expressions).query
    with connection.cursor() as cursor:
        # All rows are wanted, not the first tenth. As a statement of its own it also applies the request's scope.
        cursor.execute("SET LOCAL cursor_tuple_fraction = 1")
    # `iterator()` would read everything at once behind a pooler, where a cursor works within a transaction only.
    for row in query.get_compiler(connection=connection).results_iter(
        tuple_expected=True, chunked_fetch=True, chunk_size=batch_length(rows, [*map(F, values), *expressions])
    ):
        counts[row[0]] += 1
        yield [
            row[place].astimezone(zone).replace(tzinfo=None) if is_time and row[place] else show(row[place])
            for place, show, is_time in picks
        ]


class Size(Func):
    """The bytes of a value as text."""

    template = "COALESCE(octet_length((%(expressions)s)::text), 0)"
    output_field = IntegerField()


def batch_length(rows: QuerySet[Any], cells: Iterable[Combinable]) -> int:
    """Return how many of the rows may be read at once, so that a batch has `BATCH_SIZE` bytes or is one row."""
    largest = rows.order_by().aggregate(largest=Max(reduce(add, map(Size, cells))))["largest"]
    return max(1, min(BATCH, BATCH_SIZE // (largest or 1)))


def download(file: IO[bytes], name: str, kind: str) -> FileResponse:
    """Return the response with the file, which it closes."""
    file.seek(0)
    name = f"{name}.{kind}".replace(" ", "-")
    response = FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES[kind])
    response["Cache-Control"] = "no-store"
    if kind == "xlsx":
        response["Content-Encoding"] = "identity"  # it is compressed already
    return response


def write_csv(file: IO[bytes], title: str, header: list[str], rows: Iterable[list[Cell]]) -> None:
    """Write the rows as UTF-8 with a byte order mark, by which Excel recognizes it.

    Text that could be a formula gets an apostrophe in front; so does a phone number, which keeps its + and all digits
    in a spreadsheet.
    """
    with text_of(file) as text:
        writer = csv.writer(text)
        writer.writerow(map(csv_cell, header))
        for row in rows:
            writer.writerow([value and csv_cell(value) for value in row])  # many may be empty


def csv_cell(value: Cell) -> Cell:
    """Return the value as it is written to a CSV file."""
    if isinstance(value, str):
        return f"'{value}" if FORMULA.match(value) else value
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return value


@contextmanager
def text_of(file: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    """Return a text file that writes to the binary one, which stays open."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    yield text
    text.detach()


def write_sheet(file: IO[bytes], title: str, header: list[str], rows: Iterable[list[Cell]]) -> None:
    """Write the rows as an XLSX file. Its cells have types, so no text can become a formula."""
    write_xlsx(file, title.capitalize(), header, rows)


WRITERS = {"csv": write_csv, "xlsx": write_sheet}
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
