"""The home page's numbers of a period."""

from datetime import timedelta
from uuid import UUID

from appointments import reports
from appointments.conditions import Stage
from leads.models import Lead
from optins.models import OptIn
from staff.configuration.statuses import status_label
from staff.figures.page import BY, Figure, HomePage
from staff.figures.tables import (
    APPOINTMENTS,
    BOOKED,
    MAX_GROUPS,
    OPT_INS,
    RESULTS,
    Column,
    Table,
    days_table,
    figures,
    group_filters,
    group_names,
    selects,
    switches,
)
from statuses.models import Status

COLUMNS = [APPOINTMENTS, *RESULTS]
FUNNEL = [
    OPT_INS,
    *(
        Column(str(stage.label), f"opt_ins_{stage.value}", {"stage": stage.value}, OptIn, "created_at")
        for stage in (Stage.BOOKED, Stage.SHOWN, Stage.WON)
    ),
]
LEFT_STATUS = Column("Leads that left it", "leads", model=Lead, time="left")


def numbers_context(page: HomePage) -> dict[str, object]:
    """Return the numbers of the chosen period, with what they can be narrowed by."""
    by_day, by_group = reports.appointment_numbers(page.selection, page.period, page.at, by=page.by)
    total = reports.sum_appointments(by_day.values())
    # Also groups with bookings only have been counted.
    groups = {key: numbers for key, numbers in by_group.items() if numbers.appointments}
    keys = sorted(groups, key=lambda key: (-groups[key].appointments, str(key)))[:MAX_GROUPS]
    names = group_names(page, keys)
    rows = [(names[key], figures(page, COLUMNS, groups[key], group_filters(page, key))) for key in keys]
    days = days_table(page, [BOOKED, *COLUMNS], by_day, total)
    return {
        **switches(page, BY),
        "selects": selects(page),
        "by_label": BY[page.by],
        "days": days,
        "charts": days.charts,
        "groups": Table(BY[page.by], COLUMNS, rows, figures(page, COLUMNS, total)),
        "more": len(groups) - len(keys),
        **funnel_context(page),
        "status_times": status_times(page),
    }


def funnel_context(page: HomePage) -> dict[str, object]:
    """Return the stages of the period's opt-ins with their share of all, and the median time to the booking."""
    numbers = reports.funnel(page.organization, page.period, page.at)
    stages = figures(page, FUNNEL, numbers)
    median, booked = numbers.time_to_booking, stages[1]
    return {
        "funnel": [
            (column.label, figure, round(100 * figure.rows / (numbers.opt_ins or 1)))
            for column, figure in zip(FUNNEL, stages, strict=True)
        ],
        "time_to_booking": Figure("–") if median is None else Figure(duration(median), booked.url, booked.rows),
    }


def status_times(page: HomePage) -> Table:
    """Return the median time in each status that leads left in the period, and how many leads."""
    times = reports.times_in_status(page.organization, page.period)
    statuses: dict[UUID, Status] = Status.objects.of(page.organization).in_bulk([row.status_id for row in times])
    rows = []
    for row in times:
        leads = LEFT_STATUS.figure(page, row, page.period, {"left_status": row.status_id})
        rows.append((str(status_label(statuses[row.status_id])), [Figure(duration(row.median)), leads]))
    return Table("Status", [Column("Median", "median"), LEFT_STATUS], rows)


def duration(time: timedelta) -> str:
    """Return a duration in its two greatest units, such as 3 d 4 h."""
    minutes = round(time.total_seconds() / 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
