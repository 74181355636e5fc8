"""The Reports page: a period's numbers by people, source or campaign, beside those of the period before.

Numbers, links, period and charts are the home page's (`staff.home`), always of the whole team.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from tempfile import TemporaryFile
from typing import NamedTuple, TypeAlias

from django.contrib import admin
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse

from appointments import reports
from appointments.conditions import Stage
from appointments.reports import Key, Numbers, OptIns, Period
from optins.models import OptIn
from staff.home.numbers import (
    MAX_GROUPS,
    by_choices,
    count,
    days_context,
    group_names,
    group_parameters,
    number_cells,
    period_choices,
    period_parameters,
    sum_of,
)
from staff.home.page import BY, Figure, HomePage, read_page
from staff.toolkit.export import Cell, download, write_csv

CAMPAIGN = "utm_campaign"
REPORT_BY = {**BY, CAMPAIGN: "Campaign"}
COLUMNS = [
    *("Opt-ins", "Booked", "Shown", "No-show", "Canceled", "Won", "Lost"),
    *("Show rate", "Close rate", "Median hours to booking"),
]
MAX_LINKED_NAME = 200  # characters; the name of a campaign can have thousands, too many for an address

Value: TypeAlias = float | None


class Row(NamedTuple):
    """What a group, or all, have in a period. `opt_ins` is None where opt-ins don't belong to groups."""

    numbers: Numbers
    booked: int
    opt_ins: OptIns | None

    @property
    def values(self) -> list[Value]:
        """The values of `COLUMNS`: numbers, shares from 0 to 1, and hours; None where there is none."""
        numbers, number, median = self.numbers, None, None
        if self.opt_ins:
            number, median = self.opt_ins.number, hours(self.opt_ins)
        return [
            *(number, self.booked, numbers.shown, numbers.no_show, numbers.canceled, numbers.won, numbers.lost),
            *(numbers.show_rate, numbers.close_rate, median),
        ]

    @property
    def size(self) -> tuple[int, int, int]:
        """By what rows are sorted: bookings, appointments and opt-ins."""
        return self.booked, self.numbers.appointments, self.opt_ins.number if self.opt_ins else 0


@dataclass(frozen=True)
class Report:
    """The rows of a period by group, those of all and of a group without anything, and the numbers of each day."""

    groups: dict[Key, Row]
    total: Row
    nothing: Row
    by_day: dict[date, Numbers]
    booked_by_day: dict[date, int]

    def row(self, key: Key) -> Row:
        """Return the row of a group, which may have nothing in the period."""
        return self.groups.get(key, self.nothing)


Line: TypeAlias = tuple[Key, Row, Row]  # a group with its rows of the period and of the one before


def reports_page(request: HttpRequest, *, is_csv: bool = False) -> HttpResponseBase:
    """Show the report that the address asks for, or return its table as CSV. Raises BadRequest for unknown values."""
    page = read_page(request, REPORT_BY)
    context: dict[str, object] = {**admin.site.each_context(request), "title": "Reports", "page": page}
    if page is None:
        return TemplateResponse(request, "admin/reports.html", context)
    page = replace(page, is_mine=False, narrowing={})
    period = period_before(page.period)
    # Opt-ins of both periods have had the same time for a booking.
    at_that_time = page.at - timedelta(days=len(period.days))
    report, before = read_report(page, page.at), read_report(replace(page, period=period), at_that_time)
    lines = compare(report, before)
    if is_csv and lines is not None:
        return csv_file(page, lines, report.total, before.total)
    shown = (lines or [])[:MAX_GROUPS]
    names = group_names(page, [key for key, _, _ in shown])
    context |= {
        "page": page,
        "before": period,
        "periods": period_choices(page),
        "by": by_choices(page, REPORT_BY),
        "by_label": REPORT_BY[page.by],
        "columns": COLUMNS,
        **days_context(page, report.by_day, report.booked_by_day, report.total.numbers),
        "rows": [(names[key], cells(page, row, earlier, group_parameters(page, key))) for key, row, earlier in shown],
        "total": cells(page, report.total, before.total, {}),
        "more": len(lines or []) - len(shown),
        "too_many": reports.MAX_GROUPS if lines is None else None,
        "csv_url": reverse("admin:reports_csv") + page.url(),
    }
    return TemplateResponse(request, "admin/reports.html", context)


def compare(report: Report, before: Report) -> list[Line] | None:
    """Return the groups of both periods, the most bookings first; None if there are too many to read them all."""
    if max(len(report.groups), len(before.groups)) > reports.MAX_GROUPS:
        return None
    keys = sorted({*report.groups, *before.groups}, key=str)
    lines: list[Line] = [(key, report.row(key), before.row(key)) for key in keys]
    return sorted(lines, key=lambda line: (line[1].size, line[2].size), reverse=True)


def period_before(period: Period) -> Period:
    """Return the period with as many days that ends the day before."""
    days = timedelta(days=len(period.days))
    return replace(period, first=period.first - days, last=period.last - days)


def read_report(page: HomePage, booked_by: datetime) -> Report:
    """Count the period of the page. `booked_by` is the time until which opt-ins could book."""
    by_day, numbers = reports.appointment_numbers(page.selection, page.period, page.at, by=page.by)
    booked_by_day, booked = reports.booking_numbers(page.selection, page.period, by=page.by)
    opt_ins, opt_ins_by_key = reports.opt_in_numbers(page.organization, page.period, booked_by, by=page.by)
    nothing = Row(Numbers(), 0, OptIns() if page.by == CAMPAIGN else None)
    groups = {
        key: Row(numbers.get(key, nothing.numbers), booked.get(key, 0), opt_ins_by_key.get(key, nothing.opt_ins))
        for key in {*numbers, *booked, *opt_ins_by_key}
    }
    total = Row(sum_of(by_day.values()), sum(booked_by_day.values()), opt_ins)
    return Report(groups, total, nothing, by_day, booked_by_day)


def cells(page: HomePage, row: Row, before: Row, own: dict[str, object]) -> list[Figure]:
    """Return the columns of a group, or of all, with their changes since the period before."""
    return [
        replace(figure, change=change(value, earlier, is_rate=figure.is_rate))
        for figure, value, earlier in zip(figures(page, row, own), row.values, before.values, strict=True)
    ]


def figures(page: HomePage, row: Row, own: dict[str, object]) -> list[Figure]:
    """Return the columns of a group as figures with links to lists, which `own` filters by the group."""
    created = {**period_parameters(page, "created_at"), **own}
    opt_ins = median = Figure("–")
    if row.opt_ins:
        opt_ins = count(row.opt_ins.number, page.list_url(OptIn, **created))
        if (number := hours(row.opt_ins)) is not None:
            url = page.list_url(OptIn, **created, stage=Stage.BOOKED.value)
            median = Figure(f"{number:,.1f}", url, row.opt_ins.booked, number)
    booked = count(row.booked, page.appointments_url(**created))
    numbers = number_cells(page, row.numbers, {**period_parameters(page), **own})[1:]
    row_figures = [opt_ins, booked, *numbers, median]
    if len(str(own.get(f"{CAMPAIGN}__exact", ""))) > MAX_LINKED_NAME:
        return [replace(figure, url="") for figure in row_figures]
    return row_figures


def hours(opt_ins: OptIns) -> float | None:
    """Return the median time from the opt-in to the booking."""
    return None if opt_ins.time_to_booking is None else opt_ins.time_to_booking / timedelta(hours=1)


def change(value: Value, before: Value, *, is_rate: bool) -> str:
    """Return how much a value has changed, as the difference of the numbers that both periods show.

    Nothing if one of them has none, or both have zero.
    """
    if value is None or before is None or not (value or before):
        return ""
    factor, digits, unit = (100, 0, " points") if is_rate else (1, 0 if isinstance(value, int) else 1, "")
    difference = round(round(factor * value, digits) - round(factor * before, digits), digits)
    return f"{difference:+,.{digits}f}{unit}".replace("-", "−") if difference else "±0"


def csv_file(page: HomePage, lines: list[Line], total: Row, total_before: Row) -> FileResponse:
    """Return the table with all groups as CSV: each value beside that of the period before."""
    names = group_names(page, [key for key, _, _ in lines])
    rows = [(names[key], row, before) for key, row, before in lines]
    header = [REPORT_BY[page.by], *(f"{column}{when}" for column in COLUMNS for when in ("", ", before"))]
    file = TemporaryFile()  # noqa: SIM115  # the response closes it
    write_csv(file, "Report", header, csv_rows([*rows, ("All", total, total_before)]))
    return download(file, f"report-{page.by.replace('_', '-')}-{page.period.first}-{page.period.last}", "csv")


def csv_rows(rows: Iterable[tuple[str, Row, Row]]) -> Iterable[list[Cell]]:
    """Yield the cells of each row."""
    for name, row, before in rows:
        pairs = zip(row.values, before.values, strict=True)
        yield [name, *(None if value is None else round(value, 4) for pair in pairs for value in pair)]
