"""When members can have calls: hours of each weekday in their time zone, days off, and a pause around each call.

Pure functions of stored values, days and zones; `Membership.working_week` has the values of a member.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple, TypeAlias

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Of a day, in order: the first and the last minute, such as ("09:00", "12:30"). The end of a day is "24:00".
Hours: TypeAlias = Sequence[Sequence[str]]
WEEKDAY_HOURS: Hours = [["09:00", "18:00"]]
DEFAULT_WEEK: Sequence[Hours] = [WEEKDAY_HOURS] * 5 + [[], []]
MAX_SPANS = 4  # of a day
MAX_DAYS_OFF = 60  # ranges

TIME = r"(\d{1,2})(?:[:.]?(\d{2}))?\s*([ap]m)?"
HOURS = re.compile(rf"{TIME}\s*(?:-|–|—|to)\s*{TIME}", re.IGNORECASE)


class Span(NamedTuple):
    start: datetime
    end: datetime


@dataclass(frozen=True)
class WorkingWeek:
    zone: tzinfo
    hours: Sequence[Hours]  # by weekday
    days_off: Sequence[Sequence[str]] = ()  # the first and the last day, such as ("2026-12-24", "2027-01-01")
    buffer: timedelta = timedelta()  # kept free before and after each call

    def is_off(self, day: date) -> bool:
        return any(first <= day.isoformat() <= last for first, last in self.days_off)

    def spans(self, start: datetime, end: datetime) -> list[Span]:
        """Return the working times between two times, in UTC and in order. Their lengths are those of the clock.

        Hours that go on at midnight are one span.
        """
        day, last = start.astimezone(self.zone).date(), end.astimezone(self.zone).date()
        spans: list[Span] = []
        while day <= last:
            for first, second in [] if self.is_off(day) else self.hours[day.weekday()]:
                span = Span(max(self.at(day, first), start), min(self.at(day, second), end))
                if spans and spans[-1].end == span.start:
                    span = Span(spans.pop().start, span.end)
                spans += [span] if span.start < span.end else []
            day += timedelta(days=1)
        return spans

    def at(self, day: date, text: str) -> datetime:
        hour, minute = map(int, text.split(":"))
        local = datetime.combine(day + timedelta(days=hour // 24), time(hour % 24, minute), self.zone)
        return local.astimezone(UTC)

    def includes(self, start: datetime, end: datetime) -> bool:
        """Return whether all of this time is within one span of working hours."""
        return any(span == Span(start, end) for span in self.spans(start, end))


def parse_hours(text: str) -> list[list[str]]:
    """Return the hours of a day from text such as "9-12:30, 1pm-6pm"; none for an empty one.

    Raises ValueError with a sentence that says what to enter.
    """
    spans = []
    for part in filter(None, (part.strip() for part in re.split("[,;]", text))):
        match = HOURS.fullmatch(part)
        if match is None:
            raise ValueError("Enter hours such as 9:00-18:00, or 9-12, 13-18. Leave a day off empty.")
        spans.append([minute_of(*match.groups()[:3]), minute_of(*match.groups()[3:])])
    minutes = [minute for span in spans for minute in span]
    if len(spans) > MAX_SPANS or sorted(set(minutes)) != minutes:
        raise ValueError(f"Enter up to {MAX_SPANS} times in order, each ending after it begins, such as 9-12, 13-18.")
    return spans


def minute_of(hour_text: str, minute_text: str | None, half: str | None) -> str:
    """Return the time as it is stored. Raises ValueError with a sentence if there is no such time."""
    hour, minute = int(hour_text), int(minute_text or 0)
    if half and not 1 <= hour <= 12:
        raise ValueError(f"{hour}{half.lower()} is no time. Enter times such as 9am-6pm, or 9:00-18:00.")
    if half:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    if hour * 60 + minute > 24 * 60 or minute > 59:
        raise ValueError("Enter times from 0:00 to 24:00, such as 9:00-18:00.")
    return f"{hour:02}:{minute:02}"


def format_hours(hours: Hours) -> str:
    return ", ".join(f"{start}–{end}" for start, end in hours)


def format_week(week: Sequence[Hours]) -> str:
    """Return the week in words, such as "Mon to Fri" and its hours, days with the same hours together."""
    parts: list[tuple[int, int, str]] = []
    for number, hours in enumerate(week):
        text = format_hours(hours)
        if parts and parts[-1][2] == text:
            parts[-1] = (parts[-1][0], number, text)
        else:
            parts.append((number, number, text))
    names = [(WEEKDAYS[first][:3], WEEKDAYS[last][:3], text) for first, last, text in parts if text]
    return "; ".join(f"{first}{'' if first == last else f' to {last}'} {text}" for first, last, text in names)
