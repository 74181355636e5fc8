"""When a host can have a call: their working hours without their other calls and the pauses around these."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from uuid import UUID

from appointments.conditions import ENDS_AT, LONGEST
from appointments.models import Appointment
from organizations.models import Membership
from organizations.working_hours import Span

QUARTER = timedelta(minutes=15)
HALF_HOUR = timedelta(minutes=30)
MAX_DAYS = 14  # that are searched for a free time
MAX_BUSY = 3_000  # appointments of a host in these days: one every ten minutes, and more that overlap


def free_spans(
    working: Iterable[Span], busy: Iterable[Span], *, buffer: timedelta, earliest: datetime
) -> Iterator[Span]:
    """Yield the parts of the working hours, from `earliest` on, that are neither busy nor within a pause of it."""
    taken = sorted(Span(span.start - buffer, span.end + buffer) for span in busy)
    for hours in working:
        start = max(hours.start, earliest)
        for span in [*taken, Span(hours.end, hours.end)]:
            end = min(span.start, hours.end)
            if start < end:
                yield Span(start, end)
            start = max(start, span.end)


def free_starts(spans: Iterable[Span], *, duration: timedelta, step: timedelta) -> Iterator[datetime]:
    """Yield when calls of this duration can begin: at multiples of the step since the full hour in UTC."""
    for span in spans:
        start = span.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        while start + duration <= span.end:
            if start >= span.start:
                yield start
            start += step


def next_quarter(at: datetime) -> datetime:
    """Return the time itself if it is a quarter of an hour, or else the next one."""
    quarter = at.astimezone(UTC).replace(minute=at.minute // 15 * 15, second=0, microsecond=0)
    return quarter if quarter == at else quarter + QUARTER


def busy_spans(host: Membership, start: datetime, end: datetime, *, without: UUID | None = None) -> list[Span]:
    """Return when the host has calls between two times. Leaves out canceled ones and the one with the id `without`."""
    rows = (
        Appointment.objects.of(host.organization)
        .filter(host=host, is_called_off=False, schedule_time__gt=start - LONGEST, schedule_time__lt=end)
        .exclude(pk=without)
        .order_by("schedule_time")
        .values_list("schedule_time", ENDS_AT)
    )
    return [Span(*row) for row in rows[:MAX_BUSY]]


def first_free_times(
    host: Membership, day: date, zone: tzinfo, *, duration: timedelta, now: datetime, without: UUID | None = None
) -> list[datetime]:
    """Return when a call can begin on the first day from `day` on that has free times; at most two weeks are searched.

    A day is one of `zone`. Takes one statement.
    """
    midnights = (datetime.combine(day + timedelta(days=number), time(), zone) for number in range(MAX_DAYS + 1))
    days = [midnight.astimezone(UTC) for midnight in midnights]
    week, step = host.working_week, HALF_HOUR if duration >= HALF_HOUR else QUARTER
    busy = busy_spans(host, days[0] - week.buffer, days[-1] + duration + week.buffer, without=without)
    for start, end in pairwise(days):
        working = week.spans(start, end + duration)  # a call that begins before midnight may end after it
        spans = free_spans(working, busy, buffer=week.buffer, earliest=next_quarter(now))
        starts = [at for at in free_starts(spans, duration=duration, step=step) if at < end]
        if starts:
            return starts
    return []
