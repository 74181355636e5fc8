"""The statements that read one page of a list: the total, and the ids of the page's rows, fast at any size.

Counting costs more the more rows match, and reading the page must not cost more than counting. Two strategies:

- *index order*: one index has the filter and the list's order. The page is a short scan of that index.
- *probe, then sort*: no index has both. Walk a bounded number of rows along the list's order; if the page isn't among
  them, or if few rows match anyway, sort what the filter's own index gives.

Why not leave this to the planner: given `ORDER BY created_at LIMIT 10`, it scans the index of the order and expects to
meet ten matching rows soon. It can't know that the values are correlated (old appointments were booked long ago), and
then it passes a million rows to find ten. docs/performance.md has the figures, and why there are no other strategies.

In both strategies:

- `limit`, `offset` and `end` (their sum) are literals: with parameters PostgreSQL would not see that they are small.
- The page is not read if the total shows that it lies past the end of the list.
- A query that one index can count is counted up to `FEW_ROWS` first: the plan for many rows has parallel workers, which
  take longer to start than a single process takes to count ten thousand index entries.
- While the web process has other requests, there are no parallel workers: they would take the processors from others.

A page of a cursor begins after a row: its index scan begins there, and costs the same anywhere in the list. It is read
without the total, which has a statement of its own. A page that isn't counted is read in the same way.
"""

from collections.abc import Callable
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from foundation.api.pagination import PageRow, Position
from foundation.db.compiled import Params

SQLWithParams = tuple[str, Params]

PROBE_ROWS = 2_000  # rows to walk along the list's order before what the filter's index gives is sorted
FEW_ROWS = 10_000  # rows that a single process counts faster than parallel workers, and sorts faster than it probes

# Whether this process has other requests. The web server sets it; elsewhere it is `bool`, which returns False.
is_busy: Callable[[], bool] = bool

# PostgreSQL plans no parallel workers for a statement that calls a parallel-unsafe function. It doesn't run a CTE to
# which nothing refers.
WITH_WORKERS = "WITH matching "
WITHOUT_WORKERS = "WITH unsafe AS (SELECT set_config('max_parallel_workers_per_gather', '0', true)), matching "

COUNT = "SELECT count(*) FROM matching"

# For rows that one index can count. Of many, the first ten thousand are counted twice.
COUNT_FEW_FIRST = """
    SELECT CASE WHEN few.total <= {few_rows} THEN few.total ELSE (SELECT count(*) FROM matching) END
    FROM (SELECT count(*) AS total FROM (SELECT FROM matching LIMIT {few_rows} + 1) AS first_rows) AS few
"""

# NOT MATERIALIZED, so that PostgreSQL plans each use of `matching` by itself.
INDEX_ORDER = """
WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}),
counted (total) AS MATERIALIZED ({count}),
page AS (
    SELECT id FROM matching ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
)
SELECT total, CASE WHEN total > {offset} THEN ARRAY(SELECT id FROM page) ELSE ARRAY[]::uuid[] END
FROM counted
"""

# `probed` has the first matching rows among the next PROBE_ROWS of the list's order. If these are as many as the page
# needs, the page is among them. The comparison with `boundary` must stay a bare subquery: under row-level security,
# PostgreSQL doesn't use an expression as an index condition if evaluating it could reveal something about a row.
# In `sorted_page`, `interval '0'` keeps PostgreSQL from scanning the index of the order.
PROBE_THEN_SORT = """
WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}),
counted (total) AS MATERIALIZED ({count}),
boundary AS (
    SELECT sort_key FROM ({in_order}) AS in_order (id, sort_key)
    ORDER BY sort_key {direction} LIMIT 1 OFFSET {probe_rows}
),
probed AS MATERIALIZED (
    SELECT id, sort_key FROM matching
    WHERE sort_key {not_after} (SELECT sort_key FROM boundary)
    ORDER BY sort_key {direction}, id {direction} LIMIT {end}
),
probed_page AS (
    SELECT id FROM probed
    ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
),
sorted_page AS (
    SELECT id FROM matching
    ORDER BY sort_key + interval '0' {direction}, id {direction} LIMIT {limit} OFFSET {offset}
)
SELECT total, CASE
    WHEN total <= {offset} THEN ARRAY[]::uuid[]
    WHEN total > {few_rows} AND (SELECT count(*) FROM probed) = least(total, {end})
        THEN ARRAY(SELECT id FROM probed_page)
    ELSE ARRAY(SELECT id FROM sorted_page)
END
FROM counted
"""

TOTAL = "WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}) {count}"

# Row values, so that an index on both columns is entered at the position.
ROWS = "SELECT id, sort_key FROM ({matching}) AS matching (id, sort_key) WHERE {condition}"

ROWS_IN_INDEX_ORDER = """
{matching} ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
"""

# As above. Without a total, only a page that is full is known to be among the probed rows.
ROWS_PROBE_THEN_SORT = """
WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}),
boundary AS (
    SELECT sort_key FROM ({in_order}) AS in_order (id, sort_key)
    ORDER BY sort_key {direction} LIMIT 1 OFFSET {probe_rows}
),
probed AS MATERIALIZED (
    SELECT id, sort_key FROM matching
    WHERE sort_key {not_after} (SELECT sort_key FROM boundary)
    ORDER BY sort_key {direction}, id {direction} LIMIT {end}
),
sorted AS (
    SELECT id, sort_key FROM matching
    ORDER BY sort_key + interval '0' {direction}, id {direction} LIMIT {end}
)
SELECT id, sort_key FROM probed WHERE (SELECT count(*) FROM probed) = {end}
UNION ALL
SELECT id, sort_key FROM sorted WHERE (SELECT count(*) FROM probed) < {end}
ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
"""


class ListQuery(NamedTuple):
    """The queries of a list: its rows, in the order of a column ("-" for descending; then by id), and their number.

    One index has the `matching` rows in this order, unless `in_order` has those to walk: all rows that match the
    filters on the column. With `has_nulls`, rows without a sort key come last.
    """

    matching: SQLWithParams
    ordering: str
    total: SQLWithParams
    in_order: SQLWithParams | None = None
    has_nulls: bool = False


def select_rows(rows: QuerySet, column: str | Combinable) -> SQLWithParams:
    """Return the query of the rows' ids and sort keys, without an order."""
    sql, params = rows.order_by().values_list("id", column).query.sql_with_params()
    return sql, list(params)


def fill(template: str, query: ListQuery, offset: int, limit: int) -> SQLWithParams:
    """Return the statement; its parameters are those of `matching`, then of the `count` and `in_order` that it has."""
    is_descending = query.ordering.startswith("-")
    in_order_sql, in_order_params = query.in_order or ("", [])
    count_sql, count_params = query.total
    sql = template.format(
        matching=query.matching[0],
        count=count_sql.format(few_rows=FEW_ROWS),
        in_order=in_order_sql,
        direction="DESC" if is_descending else "ASC",
        not_after=">=" if is_descending else "<=",
        offset=int(offset),
        limit=int(limit),
        end=int(offset + limit),
        few_rows=FEW_ROWS,
        probe_rows=PROBE_ROWS,
    )
    params = list(query.matching[1])
    params += count_params if "{count}" in template else []
    params += in_order_params if "{in_order}" in template else []
    reads_all = query.in_order or "FROM matching" in count_sql
    return sql.replace(WITH_WORKERS, WITHOUT_WORKERS, 1) if reads_all and is_busy() else sql, params


def select_page(query: ListQuery, offset: int, limit: int) -> SQLWithParams:
    return fill(PROBE_THEN_SORT if query.in_order else INDEX_ORDER, query, offset, limit)


def read_page(statement: SQLWithParams) -> tuple[int, list[UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        total, ids = cursor.fetchone()
    return total, ids


def select_next(query: ListQuery, after: Position | None, offset: int, limit: int) -> SQLWithParams:
    """Return the statement of ids and sort keys of the rows after a position, or from the start, without the total."""
    condition, params = after_position(query, after)
    rest = query._replace(
        matching=rows_where(query.matching, condition, params),
        in_order=query.in_order and rows_where(query.in_order, condition, params),
    )
    return fill(ROWS_PROBE_THEN_SORT if query.in_order else ROWS_IN_INDEX_ORDER, rest, offset, limit)


def rows_where(rows: SQLWithParams, condition: str, params: list[str]) -> SQLWithParams:
    return ROWS.format(matching=rows[0], condition=condition), [*rows[1], *params]


def after_position(query: ListQuery, after: Position | None) -> tuple[str, list[str]]:
    if after is None:
        return "true", []
    if after.sort_key is None:
        return "sort_key IS NULL AND id > %s", [after.id]
    return f"(sort_key, id) {'<' if query.ordering.startswith('-') else '>'} (%s, %s)", [after.sort_key, after.id]


def read_next(query: ListQuery, after: Position | None, offset: int, limit: int) -> list[PageRow]:
    with connection.cursor() as cursor:
        cursor.execute(*select_next(query, after, offset, limit))
        rows = cursor.fetchall()
        if query.has_nulls and after and after.sort_key is not None and len(rows) < limit:
            # Not with OR in one statement, which would not use the index.
            cursor.execute(*select_next(query, Position(None, str(UUID(int=0))), 0, limit - len(rows)))
            rows += cursor.fetchall()
    return rows


def read_total(query: ListQuery) -> int:
    with connection.cursor() as cursor:
        cursor.execute(*fill(TOTAL, query, 0, 0))
        return int(cursor.fetchone()[0])
