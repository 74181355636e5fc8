"""The positions of appointments and free times in the calendar. Nothing here reads the database or the request.

The grid's rows are the hours that clocks show, so days of 23 and 25 hours are correct, too: an hour that a clock
repeats has two rows, and one that it skips has none that day. Positions are counted in steps of five minutes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from uuid import UUID

from appointments.models import Appointment
from appointments.reports import Period
from organizations.models import Membership
from organizations.working_hours import Span

STEP = timedelta(minutes=5)
STEPS_PER_HOUR = 12
SHORTEST_BLOCK = 6  # steps, so that a short call can be read
SHORTEST_GAP = timedelta(minutes=15)
COLORS = 8  # of hosts, in calendar.css
DEFAULT_HOURS = (9, 18)  # shown on days without working hours and appointments
HALF_HOUR = timedelta(minutes=30)  # clocks are moved by half an hour at least
MAX_LANES = 8  # beside each other; further blocks overlap


@dataclass
class Block:
    """An appointment in a column, or the part of it that is on the column's day."""

    appointment: Appointment
    span: Span
    is_match: bool  # whether it is one of the list's rows, or only shows that its host is busy
    begins_before: bool
    ends_after: bool
    may_be_changed: bool  # by the user
    state: str = ""  # as shown; a move is refused if it has changed since; "" if the block can't be moved here
    top: int = 0
    height: int = 0
    lane: int = 0
    lanes: int = 1

    @property
    def position(self) -> str:
        return f"{position_classes(self.top, self.height)} l{self.lane} w{self.lanes}"

    @property
    def title(self) -> str:
        row = self.appointment
        return ", ".join(
            str(fact) for fact in (row.lead, row.event_type or "Appointment", row.host, row.outcome) if fact
        )


@dataclass
class Slot:
    """A free time that can be booked; the first one of a gap shows the whole gap."""

    span: Span
    gap: Span
    url: str
    top: int = 0
    height: int = 0

    @property
    def position(self) -> str:
        return position_classes(self.top, self.height)

    @property
    def is_first(self) -> bool:
        return self.span.start == self.gap.start


@dataclass
class Column:
    """A day of a host: a column of the grid, or a row of it where hours go across."""

    day: date
    host: Membership | None  # None: the appointments without one
    blocks: list[Block]
    working: list[Span] = field(default_factory=list)  # the host's hours on this day
    slots: list[Slot] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # the positions of hours that don't exist on this day
    worked: list[str] = field(default_factory=list)  # the positions of the working hours
    color: str = ""  # the host's class in calendar.css
    more: int = 0  # appointments of the day that are not shown
    more_url: str = ""  # the list of all of them

    @property
    def items(self) -> list[Block | Slot]:
        return sorted([*self.blocks, *self.slots], key=lambda item: item.span)

    @property
    def lanes(self) -> int:
        return max((block.lanes for block in self.blocks), default=1)

    @property
    def is_empty(self) -> bool:
        """Whether nobody works and nothing is planned."""
        return not self.working and not self.blocks


@dataclass(frozen=True)
class Grid:
    """The rows of some days: the hours that their clocks show, each with 1 for an hour that is shown again."""

    zone: tzinfo
    hours: list[tuple[int, int]]

    def position(self, at: datetime) -> int:
        """Return the number of steps from the first row to this time; 0 before the first row."""
        local = at.astimezone(self.zone)
        row = (local.hour, local.fold)
        index = bisect_left(self.hours, row)
        if index == len(self.hours) or self.hours[index] != row:
            return index * STEPS_PER_HOUR
        return index * STEPS_PER_HOUR + local.minute // 5

    def place(self, span: Span) -> tuple[int, int]:
        """Return the first step of a time and the number of steps, at least one."""
        top = self.position(span.start)
        # The end may be the next day's midnight, or an hour that this day doesn't have.
        return top, max(self.position(span.end - STEP) + 1 - top, 1)

    @property
    def labels(self) -> list[str]:
        return [f"{hour:02}:00" + " again" * fold for hour, fold in self.hours]

    def starts(self, day: date) -> str:
        """Return when each row begins on this day, in seconds since 1970, for the script; 0 if the day skips it."""
        starts = hours_of(day, self.zone)
        return " ".join(str(int(starts[row].timestamp()) if row in starts else 0) for row in self.hours)

    def line(self, at: datetime) -> str:
        """Return the CSS classes of a line at this time, or an empty string if it is outside the grid."""
        is_inside = self.hours[0][0] <= at.astimezone(self.zone).hour <= self.hours[-1][0]
        return position_classes(self.position(at), 0) if is_inside else ""


@dataclass(frozen=True)
class Day:
    """The columns of a day, one for each host."""

    date: date
    grid: Grid
    columns: list[Column]

    @property
    def starts(self) -> str:
        return self.grid.starts(self.date)

    @property
    def is_empty(self) -> bool:
        return all(column.is_empty for column in self.columns)

    @property
    def has_items(self) -> bool:
        return any(column.blocks or column.slots for column in self.columns)


def build_grid(days: Sequence[date], zone: tzinfo, columns: Iterable[Column]) -> Grid:
    """Return the rows for these days: from the first to the last working hour and appointment."""
    columns = list(columns)
    working = [span for column in columns for span in column.working]
    needed = set() if working else set(range(*DEFAULT_HOURS))
    for span in [*working, *(block.span for column in columns for block in column.blocks)]:
        needed |= {at.astimezone(zone).hour for at in (span.start, span.end - STEP)}
    hours = {hour for day in days for hour in hours_of(day, zone)}
    shown = sorted(hour for hour in hours if min(needed) <= hour[0] <= max(needed))
    return Grid(zone, shown or [(hour, 0) for hour in range(*DEFAULT_HOURS)])  # a zone can have skipped a whole day


@lru_cache(maxsize=400)
def hours_of(day: date, zone: tzinfo) -> dict[tuple[int, int], datetime]:
    """Return when each hour of a clock begins on this day; the key has 1 if the hour is shown for the second time."""
    whole = day_span(day, zone)
    starts: dict[tuple[int, int], datetime] = {}
    for number in range((whole.end - whole.start) // HALF_HOUR):
        at = whole.start + number * HALF_HOUR
        local = at.astimezone(zone)
        starts.setdefault((local.hour, local.fold), at - timedelta(minutes=local.minute))
    return starts


def day_span(day: date, zone: tzinfo) -> Span:
    period = Period(day, day, zone)
    return Span(period.start.astimezone(UTC), period.end.astimezone(UTC))


def blocks_of(
    appointments: Iterable[Appointment], matching: set[UUID], changeable: set[UUID], day: Span
) -> list[Block]:
    blocks = []
    for row in appointments:
        start, end = row.schedule_time.astimezone(UTC), row.ends_at
        if start < day.end and day.start < end:
            span = Span(max(start, day.start), min(end, day.end))
            crosses = start < day.start, end > day.end
            blocks.append(Block(row, span, row.pk in matching, *crosses, may_be_changed=row.pk in changeable))
    return blocks


def lay_out(column: Column, grid: Grid) -> None:
    """Set the positions of the column's items: overlapping blocks get lanes side by side."""
    for item in column.items:
        item.top, item.height = grid.place(item.span)
    group: list[Block] = []
    lane_ends: list[int] = []
    for block in sorted(column.blocks, key=lambda block: (block.top, -block.height)):
        block.height = max(block.height, SHORTEST_BLOCK)
        if all(block.top >= end for end in lane_ends):
            share_width(group, len(lane_ends))
            group, lane_ends = [], []
        free = next((lane for lane, end in enumerate(lane_ends) if end <= block.top), len(lane_ends))
        lane_ends[free : free + 1] = [block.top + block.height]
        block.lane = min(free, MAX_LANES - 1)
        group.append(block)
    share_width(group, len(lane_ends))
    column.worked = [position_classes(*grid.place(span)) for span in column.working]
    hours = hours_of(column.day, grid.zone)
    skipped = [row for row, hour in enumerate(grid.hours) if hour not in hours]
    column.skipped = [position_classes(row * STEPS_PER_HOUR, STEPS_PER_HOUR) for row in skipped]


def share_width(group: Iterable[Block], lanes: int) -> None:
    for block in group:
        block.lanes = min(lanes, MAX_LANES)


def hourly(gap: Span, zone: tzinfo) -> Iterator[Span]:
    """Yield the parts of a gap, each until the next full hour; the last one may be shorter."""
    start = gap.start
    while start < gap.end:
        to_next_hour = timedelta(minutes=60 - start.astimezone(zone).minute)
        end = min(start + to_next_hour, gap.end)
        if end - start >= SHORTEST_GAP:
            yield Span(start, end)
        start = end


def position_classes(top: int, height: int) -> str:
    """Return classes of calendar.css for a position and a height in steps: the pages have no inline styles.

    `h9 m6` is the top, 9 rows and 6 steps; `d1 e0` the height, 1 row. (`l0 w2` is the lane and the number of lanes.)
    """
    (top_rows, top_steps), (rows, steps) = divmod(top, STEPS_PER_HOUR), divmod(height, STEPS_PER_HOUR)
    return f"h{top_rows} m{top_steps} d{rows} e{steps}"
