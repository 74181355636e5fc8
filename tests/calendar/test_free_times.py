"""Free times: pure functions of working hours, calls and clocks."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from appointments.free_times import free_spans, free_starts, next_quarter
from organizations.working_hours import DEFAULT_WEEK, Span, WorkingWeek, format_week, parse_hours

BERLIN = ZoneInfo("Europe/Berlin")
NIGHT = [[["00:30", "04:00"]]] * 7
HALF_HOUR = timedelta(minutes=30)


def utc(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def spans_of(week: WorkingWeek, day: date) -> list[Span]:
    """Return the working hours of a day in the week's zone."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=week.zone)
    return week.spans(midnight.astimezone(UTC), (midnight + timedelta(days=1)).astimezone(UTC))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("9-18", [["09:00", "18:00"]]),
        ("9:00–12:30, 1pm - 6.30pm", [["09:00", "12:30"], ["13:00", "18:30"]]),
        ("12am to 12pm; 22-24", [["00:00", "12:00"], ["22:00", "24:00"]]),
    ],
)
def test_hours_are_read_as_people_write_them(text: str, expected: list[list[str]]):
    assert parse_hours(text) == expected


@pytest.mark.parametrize(
    "text",
    ["x", "9", "18-9", "9-12, 11-13", "9-12, 12-13", "9-25", "9:61-10", "0-1,2-3,4-5,6-7,8-9", "13pm-14pm", "0am-9"],
)
def test_other_hours_are_refused_with_an_example(text: str):
    with pytest.raises(ValueError, match=r"such as 9"):
        parse_hours(text)


def test_a_week_is_described_in_few_words():
    assert format_week(DEFAULT_WEEK) == "Mon to Fri 09:00–18:00"
    assert format_week([[["09:00", "12:00"]], [], *([[["13:00", "18:00"]]] * 2), [], [], []]) == (
        "Mon 09:00–12:00; Wed to Thu 13:00–18:00"
    )


def test_working_hours_are_those_of_the_members_clock():
    week = WorkingWeek(BERLIN, DEFAULT_WEEK, days_off=[["2026-11-25", "2026-11-26"]])

    summer, winter = spans_of(week, date(2026, 10, 23)), spans_of(week, date(2026, 10, 26))
    off = [spans_of(week, date(2026, 11, day)) for day in (25, 26, 28)]  # the last is a Saturday

    assert summer == [Span(utc(23, 7, month=10), utc(23, 16, month=10))]
    assert winter == [Span(utc(26, 8, month=10), utc(26, 17, month=10))]
    assert off == [[], [], []]
    assert week.includes(utc(24, 8), utc(24, 17))
    assert not week.includes(utc(24, 16, 30), utc(24, 17, 30))


def test_hours_at_night_are_an_hour_longer_or_shorter_when_clocks_change():
    week = WorkingWeek(BERLIN, NIGHT)

    [longer], [shorter] = spans_of(week, date(2026, 10, 25)), spans_of(week, date(2027, 3, 28))

    assert longer.end - longer.start == timedelta(hours=4, minutes=30)
    assert shorter.end - shorter.start == timedelta(hours=2, minutes=30)


def test_hours_that_go_on_at_midnight_are_one_span():
    around_the_clock = WorkingWeek(BERLIN, [[["00:00", "24:00"]]] * 7)
    evenings = WorkingWeek(BERLIN, [[["20:00", "23:59"]]] * 7)
    night = Span(utc(26, 22, 30), utc(26, 23, 30))  # 23:30 to 00:30 in Berlin

    assert around_the_clock.spans(*night) == [night]
    assert (around_the_clock.includes(*night), evenings.includes(*night)) == (True, False)


def test_calls_and_the_pauses_around_them_are_not_free():
    working = [Span(utc(26, 9), utc(26, 12)), Span(utc(26, 13), utc(26, 15))]
    busy = [Span(utc(26, 14), utc(26, 16)), Span(utc(26, 10), utc(26, 10, 30)), Span(utc(26, 10, 15), utc(26, 10, 20))]

    spans = list(free_spans(working, busy, buffer=timedelta(minutes=10), earliest=utc(26, 9, 15)))

    assert spans == [
        Span(utc(26, 9, 15), utc(26, 9, 50)),
        Span(utc(26, 10, 40), utc(26, 12)),
        Span(utc(26, 13), utc(26, 13, 50)),
    ]
    assert list(free_starts(spans, duration=timedelta(minutes=45), step=HALF_HOUR)) == [
        utc(26, 11),
        utc(26, 13),
    ]


def test_the_past_is_not_free():
    assert list(free_spans([Span(utc(26, 9), utc(26, 12))], [], buffer=timedelta(), earliest=utc(26, 12))) == []
    assert [next_quarter(utc(26, 9, minute)) for minute in (0, 1, 46)] == [utc(26, 9), utc(26, 9, 15), utc(26, 10)]
