"""The Reports page: the whole team's numbers of a period by people, source or campaign, beside an earlier period."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from tempfile import TemporaryFile
from typing import NamedTuple

from django.contrib import admin
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse

from appointments import reports
from appointments.day_counts import MAX_KEY
from appointments.reports import Key, Numbers
from staff.figures import tables
from staff.figures.page import BY, CALENDAR, Figure, FiguresPage, read_choice, read_page
from staff.toolkit.export import Cell, download, write_csv
from staff.toolkit.views import Link

CAMPAIGN = "utm_campaign"
REPORT_BY = {**BY, CAMPAIGN: "Campaign"}
COLUMNS = [tables.OPT_INS, tables.BOOKED, *tables.RESULTS, tables.HOURS_TO_BOOKING]
AGAINST = {"before": "Period before", "year": "A year ago"}
MAX_DAYS = 3 * 366
MAX_LINKED_NAME = MAX_KEY - 1  # of the others, only the beginning is known, and they would be too long for an address


class Report(NamedTuple):
    groups: dict[Key, Numbers]
    total: Numbers
    by_step: dict[date, Numbers]


class Row(NamedTuple):
    """The numbers of a group, or of all, in the period and in the one it is compared with."""

    key: Key
    numbers: Numbers
    before: Numbers


def reports_page(request: HttpRequest, *, is_csv: bool = False) -> HttpResponseBase:
    """Show the report that the address asks for, or return its table as CSV. Raises BadRequest for unknown values."""
    page = read_page(request, REPORT_BY, max_days=MAX_DAYS)
    context: dict[str, object] = {**admin.site.each_context(request), "title": "Reports", "page": page}
    if page is None:
        return TemplateResponse(request, "admin/reports.html", context)
    page = replace(page, is_mine=False, narrowing={})
    against = read_choice(request, "against", {name: name for name in AGAINST}, "before")
    earlier = page.period.months_ago(12) if against == "year" else page.period.before
    # Opt-ins of both periods have had the same time for a booking.
    at_that_time = page.at - (page.period.first - earlier.first)
    report, before = read_report(page, page.at), read_report(replace(page, period=earlier), at_that_time)
    rows, total = compare(page, report, before), Row(None, report.total, before.total)
    if is_csv and rows is not None:
        return csv_file(page, rows, total, "before" if earlier == page.period.before else "a year ago")
    shown = (rows or [])[: tables.MAX_GROUPS]
    names = tables.group_names(page, REPORT_BY[page.by], [row.key for row in shown])
    cells = [(names[row.key], compared_figures(page, row, tables.group_filters(page, row.key))) for row in shown]
    empty = "No appointment in this period or the one it is compared with. Choose another period above."
    if rows is None:
        empty = f"There are more than {reports.MAX_GROUPS:,} groups. Choose fewer days, or another grouping."
    context |= {
        "page": page,
        "earlier": earlier,
        "against_name": against,
        "against": [Link(label, page.url(against=name), is_active=name == against) for name, label in AGAINST.items()],
        **tables.switches(page, REPORT_BY, calendar_periods=list(CALENDAR)),
        "by_label": REPORT_BY[page.by],
        "charts": tables.charts(tables.steps_table(page, tables.CHARTS, report.by_step, report.total)),
        "groups": tables.Table(REPORT_BY[page.by], COLUMNS, cells, compared_figures(page, total, {}), empty),
        "more": len(rows or []) - len(shown),
        "csv_url": "" if rows is None else reverse("admin:reports_csv") + page.url(),
    }
    return TemplateResponse(request, "admin/reports.html", context)


def read_report(page: FiguresPage, booked_by: datetime) -> Report:
    """Count the period of the page. `booked_by` is the time until which opt-ins could book."""
    by_step, groups = reports.appointment_numbers(
        page.appointments(), page.period, page.at, by=page.by, stored_of=page.organization
    )
    opt_ins, opt_ins_by_campaign = reports.opt_in_numbers(
        page.organization, page.period, booked_by, by_campaign=page.by == CAMPAIGN
    )
    if page.by == CAMPAIGN:
        keys = {*groups, *opt_ins_by_campaign}
        groups = {
            key: replace(groups.get(key, Numbers()), **opt_ins_by_campaign.get(key, {"opt_ins": 0})) for key in keys
        }
    return Report(groups, replace(reports.sum_appointments(by_step.values()), **opt_ins), by_step)


def compare(page: FiguresPage, report: Report, before: Report) -> list[Row] | None:
    """Return the groups of both periods, the most bookings first; None if there are too many to read them all."""
    if max(len(report.groups), len(before.groups)) > reports.MAX_GROUPS:
        return None
    # Of all groups, only campaigns have opt-ins.
    none = Numbers(opt_ins=0 if page.by == CAMPAIGN else None)
    keys = sorted({*report.groups, *before.groups}, key=str)
    rows = [Row(key, report.groups.get(key, none), before.groups.get(key, none)) for key in keys]
    return sorted(rows, key=lambda row: (size(row.numbers), size(row.before)), reverse=True)


def size(numbers: Numbers) -> tuple[int, int, int]:
    return numbers.booked, numbers.appointments, numbers.opt_ins or 0


def compared_figures(page: FiguresPage, row: Row, group: dict[str, object]) -> Sequence[Figure]:
    is_linked = len(str(group.get(f"{CAMPAIGN}__exact", ""))) <= MAX_LINKED_NAME
    return [
        replace(figure, url=figure.url if is_linked else "", change=change(figure, getattr(row.before, column.name)))
        for column, figure in zip(COLUMNS, tables.figures(page, COLUMNS, row.numbers, group), strict=True)
    ]


def change(figure: Figure, before: float | None) -> str:
    """Return how much a figure has changed, as the difference of the numbers that both periods show.

    Nothing if one of them has none, or both have zero.
    """
    value = figure.value
    if value is None or before is None or not (value or before):
        return ""
    factor, digits, unit = (100, 0, " points") if figure.is_rate else (1, 0 if isinstance(value, int) else 1, "")
    difference = round(round(factor * value, digits) - round(factor * before, digits), digits)
    return f"{difference:+,.{digits}f}{unit}".replace("-", "−") if difference else "±0"


def csv_file(page: FiguresPage, rows: list[Row], total: Row, against: str) -> FileResponse:
    names = tables.group_names(page, REPORT_BY[page.by], [row.key for row in rows])
    header = [REPORT_BY[page.by], *(f"{column.label}{when}" for column in COLUMNS for when in ("", f", {against}"))]
    file = TemporaryFile()  # noqa: SIM115  # the response closes it
    lines = [csv_line(names[row.key], row) for row in rows]
    write_csv(file, "Report", header, [*lines, csv_line("All", total)])
    return download(file, f"report-{page.by.replace('_', '-')}-{page.period.first}-{page.period.last}", "csv")


def csv_line(name: str, row: Row) -> list[Cell]:
    values = [getattr(numbers, column.name) for column in COLUMNS for numbers in (row.numbers, row.before)]
    return [name, *(None if value is None else round(value, 4) for value in values)]
