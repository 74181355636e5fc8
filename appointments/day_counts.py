"""Stored numbers of past days: with them, reports of years cost about as much as those of a month.

A task stores the numbers of an organization's appointments on each day (UTC) that ended more than two days ago: by
quarter of an hour, at which days begin in every time zone, and by each value that reports group by. They are exact:

1. Whatever changes a number of a past day marks the day in the same transaction (triggers, migration 0030). A booking
   is about today and the future, so it marks nothing, and no two transactions wait for each other.
2. The rows of a marked day are read, as are those of a day that isn't stored. A single statement decides and reads.
3. The task reads the marks, then counts the rows, and then deletes the marks that it has read. A change that the count
   misses has a mark that it has not read.
4. No organization sees newer events while a transaction that has written is open. So the task counts before it writes,
   writes few rows at once, and leaves out days of too many appointments, whose rows are read.

A change of what counts (`conditions.has_result`) needs a migration that deletes all stored days.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Count, DateTimeField, F, Func, IntegerField, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast, Left

from appointments.conditions import Result, has_result
from appointments.models import Appointment
from organizations.models import Organization, RowCount

FEWEST_APPOINTMENTS = 10_000  # of an organization whose days are stored; the rows of others are read as fast
BATCH_DAYS, BATCH_APPOINTMENTS = 30, 20_000  # that are counted at once, but at least a day
MAX_APPOINTMENTS = 100_000  # of a day that is stored
MAX_KEYS = 5_001  # of a day and dimension: a report that has more than 5,000 groups shows none of them
BATCH_DELETED = 20_000  # rows that a statement deletes
MAX_KEY = 201  # characters: a campaign's name can have 8,192, and a report reads thousands of them
QUARTER, MARKER = "quarter", ""  # dimensions: a quarter of an hour of a day, and the row of each stored day
DIMENSIONS = ["host", "setter", "triager", "last_source", "event_type", "utm_campaign"]
RESULTS = [result for result in Result if result not in (Result.EXPECTED, Result.BOOKED)]
# The numbers by the time at which they count.
NAMES = {"schedule_time": ["appointments", *map(str, RESULTS)], "created_at": ["booked"]}

READ = """
WITH period AS (
    SELECT %s::timestamptz AS starts_at, %s::timestamptz AS ends_at
), stored AS MATERIALIZED (
    SELECT day FROM appointments_daycount AS counted
    WHERE organization_id = %s AND dimension = '' AND day >= %s AND day < %s AND NOT EXISTS (
        SELECT FROM appointments_changedday AS changed
        WHERE changed.organization_id = counted.organization_id AND (changed.day = counted.day OR changed.day IS NULL)
    )
), span AS MATERIALIZED (
    SELECT
        greatest(day::timestamp AT TIME ZONE 'UTC', starts_at) AS starts_at,
        least((day::timestamp + interval '1 day') AT TIME ZONE 'UTC', ends_at) AS ends_at
    FROM period CROSS JOIN LATERAL generate_series(
        (starts_at AT TIME ZONE 'UTC')::date, (ends_at AT TIME ZONE 'UTC')::date, interval '1 day'
    ) AS day
    WHERE day::date NOT IN (SELECT day FROM stored)
), counted AS MATERIALIZED (
    SELECT counted.* FROM span CROSS JOIN LATERAL ({rows}) AS counted
)
SELECT step, key, {sums}
FROM (
    SELECT step, NULL AS key, {names} FROM counted
    UNION ALL
    SELECT NULL, key, {names} FROM counted
    UNION ALL
    SELECT width_bucket(day::timestamp AT TIME ZONE 'UTC' + key::integer * interval '15 minutes', %s), NULL, {names}
    FROM appointments_daycount WHERE organization_id = %s AND dimension = 'quarter' AND day IN (SELECT day FROM stored)
    UNION ALL
    SELECT NULL, key, {names}
    FROM appointments_daycount WHERE organization_id = %s AND dimension = %s AND day IN (SELECT day FROM stored)
) AS counts
GROUP BY step, key
ORDER BY step, 3 DESC
LIMIT %s
"""
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('day counts ' || %s, 0))"
# Of three years, and of those with which they are compared.
OLDEST_DAY = """
SELECT greatest(
    (least(min(created_at), min(schedule_time)) AT TIME ZONE 'UTC')::date, (now() AT TIME ZONE 'UTC')::date - 2196
)
FROM appointments_appointment WHERE organization_id = %s
"""
DAYS_TO_STORE = """
WITH stored AS (
    SELECT day FROM appointments_daycount WHERE organization_id = %s AND dimension = ''
), changed AS (
    SELECT day FROM appointments_changedday WHERE organization_id = %s
)
SELECT day FROM stored WHERE day IN (SELECT day FROM changed)
UNION
SELECT day::date FROM generate_series(%s::date, (now() AT TIME ZONE 'UTC')::date - 3, interval '1 day') AS day
WHERE day::date NOT IN (SELECT day FROM stored)
ORDER BY day DESC
LIMIT %s
"""
SIZES = """
SELECT day, count_of_schedule_time + count_of_created_at
FROM unnest(%(days)s::date[]) WITH ORDINALITY AS candidate (day, place)
CROSS JOIN LATERAL (
    SELECT day::timestamp AT TIME ZONE 'UTC' AS starts_at, (day + 1)::timestamp AT TIME ZONE 'UTC' AS ends_at
) AS span
{counts}
ORDER BY place
"""
SIZE = """
CROSS JOIN LATERAL (
    SELECT count(*) AS count_of_{time} FROM (
        SELECT FROM appointments_appointment
        WHERE organization_id = %(organization)s AND {time} >= starts_at AND {time} < ends_at LIMIT %(limit)s
    ) AS few
) AS size_by_{time}
"""
# What is left of many marks makes the task count the day once more.
MARKS = "SELECT id FROM appointments_changedday WHERE organization_id = %s AND day = ANY(%s) LIMIT %s"
MARKS_OF_EVERY_DAY = "SELECT id FROM appointments_changedday WHERE organization_id = %s AND day IS NULL"
DELETE_MARKS = "DELETE FROM appointments_changedday WHERE id = ANY(%s)"
# Marks of days that aren't stored are of no use.
DELETE_USELESS_MARKS = """
DELETE FROM appointments_changedday WHERE id IN (
    SELECT id FROM appointments_changedday AS changed
    WHERE organization_id = %s AND day IS NOT NULL AND NOT EXISTS (
        SELECT FROM appointments_daycount AS counted
        WHERE counted.organization_id = changed.organization_id AND dimension = '' AND counted.day = changed.day
    )
    LIMIT %s
)
"""
DELETE_SOME = """
DELETE FROM appointments_daycount
WHERE id IN (SELECT id FROM appointments_daycount WHERE organization_id = %s LIMIT %s)
"""
DELETE_DAYS = "DELETE FROM appointments_daycount WHERE organization_id = %s AND day = ANY(%s)"
LAST_ID = "SELECT coalesce(max(id), 0) FROM appointments_daycount WHERE organization_id = %s AND day = ANY(%s)"
DELETE_FORMER = f"{DELETE_DAYS} AND id <= %s"
# Sorted, so that all is counted before the first row is inserted.
STORE = """
WITH span AS (
    SELECT day, day::timestamp AT TIME ZONE 'UTC' AS starts_at, (day + 1)::timestamp AT TIME ZONE 'UTC' AS ends_at
    FROM unnest(%s::date[]) AS day
), counted AS (
    SELECT day, {keys}, {names_of_schedule_time}, 0 AS booked
    FROM span CROSS JOIN LATERAL ({rows_of_schedule_time}) AS counted
    UNION ALL
    SELECT day, {keys}, {zeros}, booked
    FROM span CROSS JOIN LATERAL ({rows_of_created_at}) AS counted
    UNION ALL
    SELECT day, {nulls}, {zeros}, 0 FROM span
), numbered AS (
    SELECT day, dimension, key, {sums}, row_number() OVER (PARTITION BY day, dimension) AS place
    FROM counted CROSS JOIN LATERAL (VALUES {values}) AS value (dimension, key)
    WHERE (quarter IS NULL) = (dimension = '')
    GROUP BY day, dimension, key
)
INSERT INTO appointments_daycount (created_at, organization_id, day, dimension, key, {names})
SELECT now(), %s, day, dimension, key, {names} FROM numbered WHERE place <= %s
ORDER BY dimension, day
"""


def numbers(column: str, at: datetime) -> dict[str, Count]:
    """Return what is counted by this time of appointments."""
    if column == "created_at":
        return {"booked": Count("pk", filter=has_result(Result.BOOKED, at))}
    return {"appointments": Count("*"), **{str(name): Count("pk", filter=has_result(name, at)) for name in RESULTS}}


def text_of(column: str) -> Left:
    """Return the column's value as a key: of a longer campaign's name only the beginning."""
    return Left(Cast(column, TextField()), MAX_KEY)


def compile_rows(rows: QuerySet[Appointment], column: str, at: datetime, **groups: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that counts the rows of a `span` of time by these groups."""
    time = f"appointments_appointment.{column}"
    in_span = rows.order_by().extra(where=[f"{time} >= span.starts_at AND {time} < span.ends_at"])  # noqa: S610
    sql, parameters = in_span.values(**groups).annotate(**numbers(column, at)).query.sql_with_params()
    return sql, tuple(parameters)


def read_counts(
    rows: QuerySet[Appointment],
    column: str,
    at: datetime,
    *,
    starts: list[datetime],
    end: datetime,
    by: str,
    stored_of: Organization | None,
    limit: int,
) -> Iterator[tuple[int | None, UUID | str | None, dict[str, int]]]:
    """Yield the numbers of each step, and then of each group, by this time of the rows; at most `limit`.

    Stored days are those of the organization `stored_of`: None if `rows` are only some of its appointments.
    """
    # Faster than converting each time to the zone, and a step begins exactly at its start.
    array = Value(starts, output_field=ArrayField(DateTimeField()))
    step = Func(F(column), array, function="width_bucket", output_field=IntegerField())
    sql, parameters = compile_rows(rows, column, at, step=step, key=text_of(by))
    first, last = utc_day(starts[0] + timedelta(days=1, microseconds=-1)), utc_day(min(end, at))
    # In a zone whose days begin between two quarters, as some did long ago, nothing that is stored fits.
    fits = all(start.timestamp() % 900 == 0 for start in starts)
    organization = stored_of.pk if stored_of and fits else None
    statement = READ.format(
        rows=sql,
        names=", ".join(NAMES[column]),
        sums=", ".join(f"sum({name})::integer" for name in NAMES[column]),
    )
    values = [starts[0], end, organization, first, last, *parameters, starts, organization, organization, by, limit]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        for number, key, *counts in cursor.fetchall():
            is_text = key is None or by == "utm_campaign"
            yield number, key if is_text else UUID(key), dict(zip(NAMES[column], counts, strict=True))


def utc_day(at: datetime) -> date:
    return at.astimezone(UTC).date()


@transaction.atomic
def store_days(*, organization: Organization) -> int:
    """Count the appointments of the latest days that aren't stored or have been changed, as far as a batch goes.

    Returns how many days were stored or rows were deleted. Does nothing while another process does the same.
    """
    with connection.cursor() as cursor:
        cursor.execute(TRY_LOCK, [str(organization.pk)])
        if cursor.fetchone() != (True,):
            return 0
        if every_day := read_ids(cursor, MARKS_OF_EVERY_DAY, organization.pk):
            cursor.execute(DELETE_SOME, [organization.pk, BATCH_DELETED])
            if not cursor.rowcount:
                cursor.execute(DELETE_MARKS, [every_day])
            return int(cursor.rowcount)
        days, too_large = choose_days(cursor, organization)
        marks = read_ids(cursor, MARKS, organization.pk, days, BATCH_DELETED)
        if days:
            (last,) = read_ids(cursor, LAST_ID, organization.pk, days)
            store(cursor, organization, days)
            cursor.execute(DELETE_FORMER, [organization.pk, days, last])
        cursor.execute(DELETE_DAYS, [organization.pk, too_large])
        cursor.execute(DELETE_MARKS, [marks])
        cursor.execute(DELETE_USELESS_MARKS, [organization.pk, BATCH_DELETED])
    return len(days)


def read_ids(cursor: CursorWrapper, statement: str, *parameters: UUID | int | list[date]) -> list[int]:
    cursor.execute(statement, parameters)
    return [id for (id,) in cursor.fetchall()]


def choose_days(cursor: CursorWrapper, organization: Organization) -> tuple[list[date], list[date]]:
    """Return the days to store in this batch, and those of the latest that have too many appointments to be stored."""
    values = [organization.pk, organization.pk, oldest_day(cursor, organization), BATCH_DAYS]
    cursor.execute(DAYS_TO_STORE, values)
    candidates = [day for (day,) in cursor.fetchall()]
    sizes = SIZES.format(counts="".join(SIZE.format(time=time) for time in NAMES))
    cursor.execute(sizes, {"days": candidates, "organization": organization.pk, "limit": MAX_APPOINTMENTS + 1})
    days: list[date] = []
    too_large: list[date] = []
    total = 0
    for day, appointments in cursor.fetchall():
        if appointments > MAX_APPOINTMENTS:
            too_large.append(day)
        elif not days or total + appointments <= BATCH_APPOINTMENTS:
            days.append(day)
            total += appointments
    return days, too_large


def oldest_day(cursor: CursorWrapper, organization: Organization) -> date | None:
    """Return the first day to store, or None if the organization has few appointments."""
    counts = RowCount.objects.of(organization).filter(table_name=Appointment._meta.db_table)
    if (counts.aggregate(total=Sum("rows"))["total"] or 0) < FEWEST_APPOINTMENTS:
        return None
    cursor.execute(OLDEST_DAY, [organization.pk])
    first: date | None = cursor.fetchone()[0]
    return first


def store(cursor: CursorWrapper, organization: Organization, days: list[date]) -> None:
    rows, keys = Appointment.objects.of(organization), [QUARTER, *(f"{name}_key" for name in DIMENSIONS)]
    compiled = {}
    number = "mod(floor(extract(epoch FROM %(expressions)s) / 900), 96)::integer::text"
    for column in NAMES:
        quarter = Func(F(column), template=number, output_field=TextField())
        groups = {f"{name}_key": text_of(name) for name in DIMENSIONS}
        compiled[column] = compile_rows(rows, column, datetime.max.replace(tzinfo=UTC), quarter=quarter, **groups)
    names = NAMES["schedule_time"]
    statement = STORE.format(
        names=", ".join([*names, "booked"]),
        sums=", ".join(f"sum({name}) AS {name}" for name in [*names, "booked"]),
        keys=", ".join(keys),
        names_of_schedule_time=", ".join(names),
        rows_of_schedule_time=compiled["schedule_time"][0],
        rows_of_created_at=compiled["created_at"][0],
        zeros=", ".join("0" for _ in names),
        nulls=", ".join("NULL" for _ in keys),
        values=", ".join(["('', NULL)", *(f"('{key.removesuffix('_key')}', {key})" for key in keys)]),
    )
    rows_parameters = [*compiled["schedule_time"][1], *compiled["created_at"][1]]
    cursor.execute(statement, [days, *rows_parameters, organization.pk, MAX_KEYS])
