"""Tables and charts of figures.

A `Column` says which number a figure is, and which filters its link has, so that the list shows exactly the rows that
were counted. `appointments.reports` counts them by the conditions that the lists' filters use.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Model
from django.utils.formats import date_format

from appointments.conditions import Result, Stage
from appointments.models import Appointment, EventType
from appointments.reports import Key, Numbers, Period, StatusTime
from leads.models import Source
from optins.models import OptIn
from organizations.models import Membership
from staff.figures.page import BY, BY_TITLES, CALENDAR, DAYS, Figure, FiguresPage
from staff.toolkit.views import Link

MAX_OPTIONS = 500  # of a select
MAX_GROUPS = 50  # rows of a table
CHART_HEIGHT = 40
NO_OTHER_PERIOD = {"from": None, "to": None, "period": None}  # in the address
MODELS: dict[str, type[Model]] = {
    "host": Membership,
    "setter": Membership,
    "triager": Membership,
    "last_source": Source,
    "event_type": EventType,
}


class Column(NamedTuple):
    """A number of `Numbers`, and the filters of the list that its figures link to.

    `rows` names the number of the listed rows, if the figure itself is a rate or a median of those.
    """

    label: str
    name: str
    filters: Mapping[str, str] = {}
    model: type[Model] = Appointment
    time: str = "schedule_time"  # the filter by the period
    rows: str = ""
    is_rate: bool = False
    decimals: int = 0  # that the figure has, unless it is a rate

    def figure(
        self, page: FiguresPage, numbers: Numbers | StatusTime, period: Period, group: Mapping[str, object]
    ) -> Figure:
        """Return the figure of a row of the period. Zero has no link."""
        value: float | None = getattr(numbers, self.name)
        if value is None:
            return Figure("–", is_rate=self.is_rate)
        rows: int = getattr(numbers, self.rows or self.name)
        text = f"{100 * value:.0f} %" if self.is_rate else f"{value:,.{self.decimals}f}"
        days = {f"{self.time}_from": period.first, f"{self.time}_to": period.last}
        url = page.rows_url(self.model, **days, **group, **self.filters) if rows else ""
        return Figure(text, url, rows, value, self.is_rate)


BOOKED = Column("Booked", "booked", {"result": Result.BOOKED.value}, time="created_at")
SHOW_RATE = Column("Show rate", "show_rate", {"result": Result.EXPECTED.value}, rows="expected", is_rate=True)
CLOSE_RATE = Column("Close rate", "close_rate", {"result": Result.SHOWN.value}, rows="shown", is_rate=True)
CANCELED = Column("Canceled", "canceled", {"result": Result.CANCELED.value})
RESULTS = [
    Column("Shown", "shown", {"result": Result.SHOWN.value}),
    Column("No-show", "no_show", {"result": Result.NO_SHOW.value}),
    CANCELED,
    Column("Won", "won", {"result": Result.WON.value}),
    Column("Lost", "lost", {"result": Result.LOST.value}),
    SHOW_RATE,
    CLOSE_RATE,
]
APPOINTMENTS = Column("Appointments", "appointments")
OPT_INS = Column("Opt-ins", "opt_ins", model=OptIn, time="created_at")
HOURS_TO_BOOKING = Column(
    "Median hours to booking",
    "hours_to_booking",
    {"stage": Stage.BOOKED.value},
    OptIn,
    "created_at",
    "opt_ins_booked",
    decimals=1,
)
CHARTS = [BOOKED, SHOW_RATE, CLOSE_RATE, CANCELED]


class Table(NamedTuple):
    heading: str
    columns: Sequence[Column]
    rows: Sequence[tuple[str, Sequence[Figure]]]
    total: Sequence[Figure] = ()
    empty: str = ""


class Chart(NamedTuple):
    """A bar for each row, and the figure of all rows.

    `highest` is the figure of the tallest bar, empty for rates, whose scale ends at 100 %. `width` has the SVG's unit.
    """

    title: str
    total: Figure
    bars: list[dict[str, object]]
    width: int
    highest: str


def charts(table: Table) -> list[Chart]:
    """Draw the columns in `CHARTS`: rates as shares of 100 %, numbers as shares of the greatest."""
    drawn = []
    for column in CHARTS:
        place = table.columns.index(column)
        greatest = max((cells[place] for _, cells in table.rows), key=lambda figure: figure.value or 0)
        full, highest = (1, "") if column.is_rate else (greatest.value or 1, greatest.text if greatest.value else "")
        bars: list[dict[str, object]] = []
        for position, (name, cells) in enumerate(table.rows):
            figure = cells[place]
            height = round(CHART_HEIGHT * (figure.value or 0) / full, 2)
            place_of_bar = {"x": 4 * position, "y": CHART_HEIGHT - height, "height": height}
            bars.append({**place_of_bar, "label": f"{name}: {figure.text}", "url": figure.url})
        drawn.append(Chart(column.label, table.total[place], bars, 4 * len(bars), highest))
    return drawn


def figures(
    page: FiguresPage,
    columns: Sequence[Column],
    numbers: Numbers,
    group: Mapping[str, object] | None = None,
    period: Period | None = None,
) -> list[Figure]:
    """Return the figures of a row: of the group with these filters or of all, by default in the page's period."""
    return [column.figure(page, numbers, period or page.period, group or {}) for column in columns]


def steps_table(page: FiguresPage, columns: Sequence[Column], by_step: Mapping[date, Numbers], total: Numbers) -> Table:
    unit, format = ("Month", "M Y") if page.period.is_by_month else ("Day", "D j M")
    rows = []
    for step in page.period.steps:
        cells = figures(page, columns, by_step.get(step.first, Numbers()), period=step)
        rows.append((date_format(step.first, format), cells))
    return Table(unit, columns, rows, figures(page, columns, total))


def group_names(page: FiguresPage, by_label: str, keys: Sequence[Key]) -> dict[Key, str]:
    without = f"Without {by_label.lower()}"
    if page.by not in MODELS:
        return {key: without if key is None else str(key) for key in keys}
    rows = named_rows(page, MODELS[page.by]).in_bulk([id for id in keys if id])
    return {id: str(rows[id]) if id else without for id in keys}


def group_filters(page: FiguresPage, key: Key) -> dict[str, object]:
    if key is None:
        return {f"{page.by}__isnull": True}
    return {f"{page.by}__id__exact" if page.by in MODELS else f"{page.by}__exact": key}


def named_rows(page: FiguresPage, model: Any) -> Any:  # rows of any of `MODELS`
    rows = model.objects.of(page.organization)
    return rows.select_related("user") if model is Membership else rows


def switches(page: FiguresPage, by: Mapping[str, str], calendar_periods: Sequence[str] = ()) -> dict[str, object]:
    """Return the links to other periods and groups. `calendar_periods` are months, quarters and years to offer."""
    period, is_until_today = page.period, page.period.last == page.today.last
    chosen = page.request.GET.get("period")
    links = [
        Link(
            f"{days} d",
            page.url(days=days, **NO_OTHER_PERIOD),
            is_active=is_until_today and period.length == days and not period.months,
        )
        for days in DAYS
    ]
    for name in calendar_periods:
        is_active = name == chosen and period.months > 0
        url = page.url(**{**NO_OTHER_PERIOD, "days": None, "period": name})
        links.append(Link(CALENDAR[name][0], url, is_active=is_active))
    return {
        "periods": links,
        "groupings": [
            Link(label, page.url(by=name), is_active=name == page.by, title=BY_TITLES.get(name, ""))
            for name, label in by.items()
        ],
    }


def selects(page: FiguresPage) -> list[tuple[str, str, list[Model], UUID | None]]:
    """Return the label, the parameter, the rows to choose from and the chosen one's id of each filter."""
    rows = {model: list(named_rows(page, model)[:MAX_OPTIONS]) for model in dict.fromkeys(MODELS.values())}
    for name, id in page.narrowing.items():
        options = rows[MODELS[name]]
        if len(options) == MAX_OPTIONS and id not in [row.pk for row in options]:
            options += named_rows(page, MODELS[name]).filter(pk=id)
    return [(label, name, rows[MODELS[name]], page.narrowing.get(name)) for name, label in BY.items()]
