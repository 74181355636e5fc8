"""The numbers of the admin's home page and of its reports.

All numbers are of one organization and of whole days; docs/staff.md defines each of them, and `conditions` what counts.
Large organizations' numbers of past days are stored (`day_counts`). The other queries read ranges of indexes: opt-ins
of the period, appointments booked since its beginning, and the latest 500 changes of each status.
"""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from appointments import day_counts
from appointments.first_bookings import BOOKED, FIRST_BOOKING
from appointments.models import Appointment
from organizations.models import Organization

LONGEST_BY_DAY = 92  # days of a period that is counted by day; a longer one is counted by month
LATEST_MOVES = 500  # per status, for the median time
MAX_GROUPS = 5_000  # one more is read, to see that there are more. A campaign can have a name for each visitor.

Key: TypeAlias = UUID | str | None  # of a group of rows
OptInCounts: TypeAlias = dict[str, Any]  # the fields of `Numbers` about opt-ins


def add_months(day: date, months: int) -> date:
    """Return the same day of another month; its last day if `day` is the last of its month, or the other is shorter."""
    year, month = divmod(12 * day.year + day.month - 1 + months, 12)
    length = monthrange(year, month + 1)[1]
    is_last = day.day == monthrange(day.year, day.month)[1]
    return date(year, month + 1, length if is_last else min(day.day, length))


@dataclass(frozen=True)
class Period:
    """A range of whole days in a time zone; the last day is included.

    `months` is 1, 3 or 12 if this is a calendar month, quarter or year, or its days until today; else 0.
    """

    first: date
    last: date
    zone: tzinfo
    months: int = 0

    @property
    def start(self) -> datetime:
        return datetime.combine(self.first, time.min, self.zone)

    @property
    def end(self) -> datetime:
        """The end of the last day; not part of the period."""
        return datetime.combine(self.last + timedelta(days=1), time.min, self.zone)

    @property
    def length(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "Period":
        """The same part of the calendar month, quarter or year before, or as many days that end the day before."""
        if self.months:
            return self.months_ago(self.months)
        length = timedelta(days=self.length)
        return replace(self, first=self.first - length, last=self.last - length)

    def months_ago(self, months: int) -> "Period":
        return replace(self, first=add_months(self.first, -months), last=add_months(self.last, -months))

    @property
    def is_by_month(self) -> bool:
        return self.length > LONGEST_BY_DAY

    @property
    def steps(self) -> list["Period"]:
        """The days, or the months of a long period; the first and the last month may be parts of one."""
        starts = [self.first]
        while (start := self.next_start(starts[-1])) <= self.last:
            starts.append(start)
        ends = [*(start - timedelta(days=1) for start in starts[1:]), self.last]
        return [Period(first, last, self.zone) for first, last in zip(starts, ends, strict=True)]

    def next_start(self, day: date) -> date:
        return add_months(day.replace(day=1), 1) if self.is_by_month else day + timedelta(days=1)

    def contains(self, column: str) -> Q:
        return Q(**{f"{column}__gte": self.start, f"{column}__lt": self.end})


@dataclass(frozen=True)
class Numbers:
    """The counts of a day, of a group or of all. `opt_ins` is None where opt-ins don't belong to groups."""

    appointments: int = 0
    shown: int = 0
    no_show: int = 0
    canceled: int = 0
    won: int = 0
    lost: int = 0
    booked: int = 0
    opt_ins: int | None = None
    opt_ins_booked: int = 0
    opt_ins_shown: int = 0
    opt_ins_won: int = 0
    time_to_booking: timedelta | None = None  # the median

    @property
    def expected(self) -> int:
        """Shown plus no-show: the denominator of the show rate."""
        return self.shown + self.no_show

    @property
    def show_rate(self) -> float | None:
        """From 0 to 1, or None if none are expected."""
        return self.shown / self.expected if self.expected else None

    @property
    def close_rate(self) -> float | None:
        """Won among shown, from 0 to 1, or None if none were shown."""
        return self.won / self.shown if self.shown else None

    @property
    def hours_to_booking(self) -> float | None:
        return None if self.time_to_booking is None else self.time_to_booking / timedelta(hours=1)


def sum_appointments(numbers: Collection[Numbers]) -> Numbers:
    names = ("appointments", "shown", "no_show", "canceled", "won", "lost", "booked")
    return Numbers(**{name: sum(getattr(group, name) for group in numbers) for name in names})


class StatusTime(NamedTuple):
    """The number of leads that left a status in a period, and the median time that they had it."""

    status_id: UUID
    leads: int
    median: timedelta


def appointment_numbers(
    appointments: QuerySet[Appointment], period: Period, at: datetime, *, by: str, stored_of: Organization | None
) -> tuple[dict[date, Numbers], dict[Key, Numbers]]:
    """Count the appointments of the period, and those booked in it, by step and by the values of the column `by`.

    A step's key is its first day. Empty steps are left out, and all but the `MAX_GROUPS` + 1 largest groups.
    `stored_of` is the organization if these are all its appointments: then the stored numbers of its days are used.
    """
    by_step: defaultdict[date, dict[str, Any]] = defaultdict(dict)
    by_key: defaultdict[Key, dict[str, Any]] = defaultdict(dict)
    steps = period.steps
    for column in day_counts.NAMES:
        counts = day_counts.read_counts(
            appointments,
            column,
            at,
            starts=[step.start for step in steps],
            end=period.end,
            by=by,
            stored_of=stored_of,
            limit=len(steps) + MAX_GROUPS + 1,
        )
        for step, key, values in counts:
            group = by_step[steps[step - 1].first] if step else by_key[key]
            group |= values
    return (
        {day: Numbers(**values) for day, values in by_step.items()},
        {key: Numbers(**values) for key, values in by_key.items()},
    )


# Leads whose opt-ins' `booked_at` is out of date (`appointments.first_bookings`), with the times of their bookings.
CHANGED = f"""
changed AS MATERIALIZED (
    SELECT lead_id, (
        SELECT array_agg({BOOKED} ORDER BY {BOOKED}) FROM appointments_appointment AS booking
        WHERE booking.lead_id = lead.lead_id
    ) AS times
    FROM (SELECT DISTINCT lead_id FROM appointments_changedlead WHERE organization_id = %(organization)s) AS lead
)
"""  # noqa: S608  # its own text
BOOKED_AT = f"CASE WHEN changed.lead_id IS NULL THEN opt_in.booked_at ELSE {FIRST_BOOKING} END"
# With 16 MB, 90 days of 500,000 opt-ins a year are sorted in memory: a third faster. Nested loops are off because
# PostgreSQL can't estimate how many leads have changed.
PLANNER_SETTINGS = "SET LOCAL work_mem = '16MB'; SET LOCAL enable_nestloop = off"
# An opt-in counts once, whatever was booked after it. An opt-in with the answers of a scheduler's booking has the time
# of the booking: it counts as booked, but not in the median. The conditions are those of `in_stage`.
FUNNEL = f"""
WITH {CHANGED}, bookings AS (
    SELECT
        booking.lead_id,
        max({BOOKED}) FILTER (
            WHERE schedule_time <= %(at)s AND (role IS NULL OR role NOT IN ('CANCELED', 'NO_SHOW', 'RESCHEDULED'))
        ) AS last_shown,
        max({BOOKED}) FILTER (
            WHERE schedule_time <= %(at)s AND role IN ('WON', 'PARTIAL_PAYMENT')
        ) AS last_won
    FROM appointments_appointment AS booking
    LEFT JOIN statuses_status AS outcome ON outcome.id = outcome_id
    WHERE booking.organization_id = %(organization)s AND booking.created_at >= %(start)s
    GROUP BY booking.lead_id
), submitted AS (
    SELECT
        opt_in.created_at, {BOOKED_AT} AS booked_at,
        last_shown >= opt_in.created_at AS is_shown, last_won >= opt_in.created_at AS is_won
    FROM optins_optin AS opt_in
    LEFT JOIN bookings ON bookings.lead_id = opt_in.lead_id
    LEFT JOIN changed ON changed.lead_id = opt_in.lead_id
    WHERE opt_in.organization_id = %(organization)s
        AND opt_in.created_at >= %(start)s AND opt_in.created_at < %(end)s
)
SELECT
    count(*), count(booked_at), count(*) FILTER (WHERE is_shown), count(*) FILTER (WHERE is_won),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY booked_at - created_at) FILTER (WHERE booked_at > created_at)
FROM submitted
"""  # noqa: S608  # its own text


def funnel(organization: Organization, period: Period, at: datetime) -> Numbers:
    parameters: dict[str, Any] = {"organization": organization.pk, "at": at, "start": period.start, "end": period.end}
    names = ["opt_ins", "opt_ins_booked", "opt_ins_shown", "opt_ins_won", "time_to_booking"]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PLANNER_SETTINGS)
        cursor.execute(FUNNEL, parameters)
        return Numbers(**dict(zip(names, cursor.fetchone(), strict=True)))


OPT_INS = f"""
WITH {CHANGED}, submitted AS (
    SELECT opt_in.created_at, left(opt_in.utm_campaign, %(longest)s) AS campaign, {BOOKED_AT} AS booked_at
    FROM optins_optin AS opt_in LEFT JOIN changed ON changed.lead_id = opt_in.lead_id
    WHERE opt_in.organization_id = %(organization)s
        AND opt_in.created_at >= %(start)s AND opt_in.created_at < %(end)s
), timed AS (
    SELECT
        campaign, CASE WHEN booked_at <= %(booked_by)s THEN date_part('epoch', booked_at - created_at) END AS seconds
    FROM submitted
)
SELECT
    {{key}}, count(*), count(seconds), make_interval(
        secs => percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FILTER (WHERE seconds > 0)
    )
FROM timed
GROUP BY GROUPING SETS ({{groups}})
ORDER BY 1 DESC, 3 DESC
LIMIT %(limit)s
"""  # noqa: S608  # its own text


def opt_in_numbers(
    organization: Organization, period: Period, booked_by: datetime, *, by_campaign: bool
) -> tuple[OptInCounts, dict[Key, OptInCounts]]:
    """Count all opt-ins of the period, and by UTM campaign only if wanted. Bookings after `booked_by` don't count."""
    key, sets = ("grouping(campaign) = 1, campaign", "(), (campaign)") if by_campaign else ("true, NULL", "()")
    parameters: dict[str, Any] = {
        "organization": organization.pk,
        "start": period.start,
        "end": period.end,
        "booked_by": booked_by,
        "longest": day_counts.MAX_KEY,
        "limit": MAX_GROUPS + 2,  # with that of all
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PLANNER_SETTINGS)
        cursor.execute(OPT_INS.format(key=key, groups=sets), parameters)
        (_, total), *groups = [
            (campaign, {"opt_ins": number, "opt_ins_booked": booked, "time_to_booking": median})
            for _, campaign, number, booked, median in cursor.fetchall()
        ]
    return total, dict(groups)


# A lead that left a status several times counts once, with its latest stay; what was undone doesn't count.
# `LeftStatusFilter` finds the same leads.
TIMES_IN_STATUS = """
SELECT status.id, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY stay.duration)
FROM statuses_status AS status
CROSS JOIN LATERAL (
    SELECT DISTINCT ON (lead_id) left_at - entered_at AS duration
    FROM (
        SELECT id, lead_id, created_at AS left_at
        FROM leads_leadstatuschange
        WHERE from_status_id = status.id AND NOT is_undone AND created_at >= %(start)s AND created_at < %(end)s
        ORDER BY created_at DESC, id DESC
        LIMIT %(limit)s
    ) AS move
    LEFT JOIN LATERAL (
        SELECT created_at AS entered_at
        FROM leads_leadstatuschange AS earlier
        WHERE earlier.lead_id = move.lead_id AND NOT is_undone
            AND (earlier.created_at, earlier.id) < (move.left_at, move.id)
        ORDER BY created_at DESC, id DESC
        LIMIT 1
    ) AS entry ON true
    ORDER BY lead_id, left_at DESC
) AS stay
WHERE status.organization_id = %(organization)s
GROUP BY status.id
HAVING count(stay.duration) > 0
ORDER BY 3 DESC
"""


def times_in_status(organization: Organization, period: Period) -> list[StatusTime]:
    """Return the median time in each status that leads left in the period, the longest first."""
    parameters: dict[str, Any] = {
        "organization": organization.pk,
        "start": period.start,
        "end": period.end,
        "limit": LATEST_MOVES,
    }
    with connection.cursor() as cursor:
        cursor.execute(TIMES_IN_STATUS, parameters)
        return [StatusTime(*row) for row in cursor.fetchall()]
