"""The home page's numbers of a period, as figures with links, and the bars of its charts."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeAlias
from uuid import UUID

from django.db.models import Model
from django.utils.formats import date_format

from appointments import reports
from appointments.conditions import Result, Stage
from appointments.models import EventType
from appointments.reports import Key, Numbers
from leads.models import Lead, Source
from optins.models import OptIn
from organizations.models import Membership
from staff.configuration.statuses import status_label
from staff.home.page import BY, DAYS, Figure, HomePage
from statuses.models import Status

MAX_OPTIONS = 500  # of a select
MAX_GROUPS = 50  # rows of the table
CHART_HEIGHT = 40
MODELS: dict[str, type[Model]] = {
    "host": Membership,
    "setter": Membership,
    "triager": Membership,
    "last_source": Source,
    "event_type": EventType,
}


# The charts and their columns: bookings, and the places of `number_cells` behind them.
CHARTS = [("Booked", 0), ("Show rate", 7), ("Close rate", 8), ("Canceled", 4)]

DayRow: TypeAlias = tuple[str, list[Figure]]


@dataclass(frozen=True)
class Choice:
    """An option of a switch or a select."""

    label: str
    value: str
    is_chosen: bool
    url: str = ""


@dataclass(frozen=True)
class Bar:
    """A day of a chart; `height` is from 0 to `CHART_HEIGHT`."""

    x: int
    height: float
    label: str
    url: str

    @property
    def y(self) -> float:
        """Where the bar begins, from the top."""
        return CHART_HEIGHT - self.height


@dataclass(frozen=True)
class Chart:
    """A chart of the days, with the number of the whole period, and the greatest of a day unless it is a rate."""

    title: str
    total: Figure
    bars: list[Bar]
    highest: str

    @property
    def width(self) -> int:
        """The width of all bars, in the chart's own units."""
        return 4 * len(self.bars)


def numbers_context(page: HomePage) -> dict[str, object]:
    """Return the numbers of the chosen period, with what they can be narrowed by."""
    numbers, groups = reports.appointment_numbers(page.selection, page.period, page.at, by=page.by)
    bookings, _ = reports.booking_numbers(page.selection, page.period, by=page.by)
    total = sum_of(numbers.values())
    return {
        "periods": period_choices(page),
        "selects": selects(page),
        "by": by_choices(page, BY),
        "by_label": BY[page.by],
        **days_context(page, numbers, bookings, total),
        "groups": group_rows(page, groups, total),
        **funnel_context(page),
        "status_times": status_times(page),
    }


def period_choices(page: HomePage) -> list[Choice]:
    """Return the switch between the periods that end today."""
    length, is_until_today = len(page.period.days), page.period.last == page.today.last
    return [
        Choice(
            f"{days} d",
            str(days),
            is_until_today and length == days,
            page.url(**{"days": days, "from": None, "to": None}),
        )
        for days in DAYS
    ]


def by_choices(page: HomePage, by: dict[str, str]) -> list[Choice]:
    """Return the switch between what the table is grouped by."""
    return [Choice(label, name, name == page.by, page.url(by=name)) for name, label in by.items()]


def selects(page: HomePage) -> list[tuple[str, str, list[Choice]]]:
    """Return what the appointments can be narrowed by: each label and name with its options."""
    rows = {
        model: [(str(row.pk), str(row)) for row in named_rows(page, model)[:MAX_OPTIONS]]
        for model in dict.fromkeys(MODELS.values())
    }
    return [
        (label, name, [Choice(text, pk, pk == str(page.narrowing.get(name))) for pk, text in rows[MODELS[name]]])
        for name, label in BY.items()
    ]


def named_rows(page: HomePage, model: Any) -> Any:  # rows of any of `MODELS`
    """Return the organization's rows of a model, with what their names need."""
    rows = model.objects.of(page.organization)
    return rows.select_related("user") if model is Membership else rows


def days_context(
    page: HomePage, numbers: dict[date, Numbers], bookings: dict[date, int], total: Numbers
) -> dict[str, object]:
    """Return the table of the period's days, and the charts of its columns in `CHARTS`."""
    days = [day_row(page, day, numbers.get(day, Numbers()), bookings.get(day, 0)) for day in page.period.days]
    booked = count(sum(bookings.values()), page.appointments_url(**period_parameters(page, "created_at")))
    totals = [booked, *number_cells(page, total, period_parameters(page))]
    charts = [draw(title, [(name, cells[place]) for name, cells in days], totals[place]) for title, place in CHARTS]
    return {"days": days, "charts": charts}


def draw(title: str, values: list[tuple[str, Figure]], total: Figure) -> Chart:
    """Return a chart of a column. Rates are drawn as shares of 100 %, numbers as shares of the greatest."""
    greatest = max((figure for _, figure in values), key=lambda figure: figure.value)
    full = 1 if total.is_rate else greatest.value or 1
    bars = [
        Bar(4 * position, round(CHART_HEIGHT * figure.value / full, 2), f"{name}: {figure.text}", figure.url)
        for position, (name, figure) in enumerate(values)
    ]
    return Chart(title, total, bars, greatest.text if greatest.value and not total.is_rate else "")


def sum_of(groups: Collection[Numbers]) -> Numbers:
    """Return the sum of all groups."""
    names = ("appointments", "shown", "no_show", "canceled", "won", "lost")
    return Numbers(*(sum(getattr(numbers, name) for numbers in groups) for name in names))


def period_parameters(page: HomePage, column: str = "schedule_time") -> dict[str, object]:
    """Return the filter of a list by the period."""
    return {f"{column}_from": page.period.first, f"{column}_to": page.period.last}


def day_parameters(column: str, day: date) -> dict[str, object]:
    """Return the filter of a list by a day."""
    return {f"{column}_from": day, f"{column}_to": day}


def count(number: int, url: str) -> Figure:
    """Return a count as a figure; zero has no link."""
    return Figure(f"{number:,}", url if number else "", number, number)


def rate(share: float | None, url: str, rows: int) -> Figure:
    """Return a share as a figure that links to the rows it is a share of."""
    if share is None:
        return Figure("–", is_rate=True)
    return Figure(f"{100 * share:.0f} %", url, rows, share, is_rate=True)


def show_rate(page: HomePage, numbers: Numbers, parameters: dict[str, object]) -> Figure:
    """Return the show rate, with a link to the appointments that were shown or no-show."""
    url = page.appointments_url(**parameters, result=Result.EXPECTED.value)
    return rate(numbers.show_rate, url, numbers.expected)


def close_rate(page: HomePage, numbers: Numbers, parameters: dict[str, object]) -> Figure:
    """Return the close rate, with a link to the appointments that were shown."""
    return rate(numbers.close_rate, page.appointments_url(**parameters, result=Result.SHOWN.value), numbers.shown)


def number_cells(page: HomePage, numbers: Numbers, parameters: dict[str, object]) -> list[Figure]:
    """Return the columns of a table row that counts appointments."""

    def result(number: int, result: Result) -> Figure:
        return count(number, page.appointments_url(**parameters, result=result.value))

    return [
        count(numbers.appointments, page.appointments_url(**parameters)),
        result(numbers.shown, Result.SHOWN),
        result(numbers.no_show, Result.NO_SHOW),
        result(numbers.canceled, Result.CANCELED),
        result(numbers.won, Result.WON),
        result(numbers.lost, Result.LOST),
        show_rate(page, numbers, parameters),
        close_rate(page, numbers, parameters),
    ]


def day_row(page: HomePage, day: date, numbers: Numbers, booked: int) -> DayRow:
    """Return the table row of a day: its name, and the numbers with the bookings first."""
    bookings = count(booked, page.appointments_url(**day_parameters("created_at", day)))
    return date_format(day, "D j M"), [bookings, *number_cells(page, numbers, day_parameters("schedule_time", day))]


def group_rows(page: HomePage, groups: dict[Key, Numbers], total: Numbers) -> dict[str, Any]:
    """Return the table by closer, setter, triager, source or event type: the most appointments first, and the total."""
    ids = sorted(groups, key=lambda id: (-groups[id].appointments, str(id)))
    shown = ids[:MAX_GROUPS]
    names, parameters = group_names(page, shown), period_parameters(page)
    rows = [(names[id], number_cells(page, groups[id], {**parameters, **group_parameters(page, id)})) for id in shown]
    return {"rows": rows, "total": number_cells(page, total, parameters), "more": len(ids) - len(shown)}


def group_names(page: HomePage, keys: list[Key]) -> dict[Key, str]:
    """Return the name of each group."""
    if page.by not in MODELS:
        return {key: "None" if key is None else str(key) for key in keys}
    rows = named_rows(page, MODELS[page.by]).in_bulk([id for id in keys if id])
    return {id: str(rows[id]) if id else "None" for id in keys}


def group_parameters(page: HomePage, key: Key) -> dict[str, object]:
    """Return the filter of a list by a group."""
    if key is None:
        return {f"{page.by}__isnull": True}
    return {f"{page.by}__id__exact" if page.by in MODELS else f"{page.by}__exact": key}


def funnel_context(page: HomePage) -> dict[str, object]:
    """Return the stages of the period's opt-ins with their share of all, and the median time to the booking."""
    funnel, created = reports.funnel(page.organization, page.period, page.at), period_parameters(page, "created_at")

    def stage(number: int, stage: Stage) -> Figure:
        return count(number, page.list_url(OptIn, **created, stage=stage.value))

    booked = stage(funnel.booked, Stage.BOOKED)
    stages = [
        ("Opt-ins", count(funnel.opt_ins, page.list_url(OptIn, **created))),
        ("Booked", booked),
        ("Shown", stage(funnel.shown, Stage.SHOWN)),
        ("Won", stage(funnel.won, Stage.WON)),
    ]
    median = funnel.time_to_booking
    return {
        "funnel": [(name, figure, round(100 * figure.rows / (funnel.opt_ins or 1))) for name, figure in stages],
        "time_to_booking": Figure("–") if median is None else Figure(duration(median), booked.url, booked.rows),
    }


def status_times(page: HomePage) -> list[tuple[str, str, Figure]]:
    """Return the label of each status that leads left in the period, the median time, and how many leads."""
    times = reports.times_in_status(page.organization, page.period)
    statuses: dict[UUID, Status] = Status.objects.of(page.organization).in_bulk([row.status_id for row in times])
    days = {"left_from": page.period.first, "left_to": page.period.last}
    return [
        (
            str(status_label(statuses[row.status_id])),
            duration(row.median),
            count(row.leads, page.list_url(Lead, left_status=row.status_id, **days)),
        )
        for row in times
    ]


def duration(time: timedelta) -> str:
    """Return a duration in its two greatest units, such as 3 d 4 h."""
    minutes = round(time.total_seconds() / 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
