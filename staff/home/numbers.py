"""The home page's numbers of a period."""

from datetime import timedelta
from uuid import UUID

from appointments import reports
from appointments.conditions import Stage
from leads.models import Lead
from optins.models import OptIn
from staff.configuration.statuses import status_label
from staff.figures import tables
from staff.figures.page import BY, Figure, FiguresPage
from statuses.models import Status

COLUMNS = [tables.APPOINTMENTS, *tables.RESULTS]
FUNNEL = [
    tables.OPT_INS,
    *(
        tables.Column(str(stage.label), f"opt_ins_{stage.value}", {"stage": stage.value}, OptIn, "created_at")
        for stage in (Stage.BOOKED, Stage.SHOWN, Stage.WON)
    ),
]
LEFT_STATUS = tables.Column("Leads that left it", "leads", model=Lead, time="left")


def numbers_context(page: FiguresPage) -> dict[str, object]:
    by_day, by_group = reports.appointment_numbers(
        page.appointments(**page.narrowing),
        page.period,
        page.at,
        by=page.by,
        stored_of=None if page.narrowing or page.member_id else page.organization,
    )
    total = reports.sum_appointments(by_day.values())
    # Without groups that have bookings in the period, but no appointment.
    groups = {key: numbers for key, numbers in by_group.items() if numbers.appointments}
    keys = sorted(groups, key=lambda key: (-groups[key].appointments, str(key)))[: tables.MAX_GROUPS]
    names = tables.group_names(page, BY[page.by], keys)
    rows = [(names[key], tables.figures(page, COLUMNS, groups[key], tables.group_filters(page, key))) for key in keys]
    days = tables.steps_table(page, [tables.BOOKED, *COLUMNS], by_day, total)
    return {
        **tables.switches(page, BY),
        "selects": tables.selects(page),
        "by_label": BY[page.by],
        "days": days,
        "charts": tables.charts(days),
        "groups": tables.Table(BY[page.by], COLUMNS, rows, tables.figures(page, COLUMNS, total)),
        "more": len(groups) - len(keys),
        **funnel_context(page),
        "status_times": status_times(page),
    }


def funnel_context(page: FiguresPage) -> dict[str, object]:
    numbers = reports.funnel(page.organization, page.period, page.at)
    stages = tables.figures(page, FUNNEL, numbers)
    median, booked = numbers.time_to_booking, stages[1]
    return {
        "funnel": [
            (column.label, figure, round(100 * figure.rows / (numbers.opt_ins or 1)))
            for column, figure in zip(FUNNEL, stages, strict=True)
        ],
        "time_to_booking": Figure("–") if median is None else Figure(duration(median), booked.url, booked.rows),
    }


def status_times(page: FiguresPage) -> tables.Table:
    times = reports.times_in_status(page.organization, page.period)
    statuses: dict[UUID, Status] = Status.objects.of(page.organization).in_bulk([row.status_id for row in times])
    rows = []
    for row in times:
        leads = LEFT_STATUS.figure(page, row, page.period, {"left_status": row.status_id})
        rows.append((str(status_label(statuses[row.status_id])), [Figure(duration(row.median)), leads]))
    return tables.Table("Status", [tables.Column("Median", "median"), LEFT_STATUS], rows)


def duration(time: timedelta) -> str:
    """Return a duration as `3 d 4 h`, `4 h 5 min` or `5 min`."""
    minutes = round(time.total_seconds() / 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
