"""Statements that read one page of a filtered list: the total, and the ids of the page's rows, fast at any size.

Counting costs more the more rows match. Reading the page must not cost more than that. There are four strategies, and
`filters.plan_page` chooses one by the filters and the order of the request:

- `index_order_page`: an index has the matching rows in the list's order. The page is a short scan of that index.
- `merged_index_page`: an index has them in order for each single value, and the filter matches several values. The
  page is merged from the first rows of one index scan per value.
- `small_result_page`: no index has both the filter and the order, but the filter's index contains the sort column. If
  few rows match, one scan gives the total and the page; if many do, this continues as `probe_then_sort_page`.
- `probe_then_sort_page`: no index fits. First probe the next rows in the list's order; if the page isn't among them,
  read all matching rows by an index of the filters and sort them.

Why not leave this to the planner: given `ORDER BY created_at LIMIT 10`, it scans the index of the order and expects to
meet ten matching rows soon. It can't know that the values are correlated (old appointments were booked long ago), and
then it passes a million rows to find ten. The figures are in docs/performance.md.

In every strategy:

- `limit`, `offset` and `end` (their sum) are literals, because with parameters PostgreSQL would plan on every call.
- The page is not read if the total shows that it lies past the end of the list.
- A query is counted up to `SMALL_COUNT` first where that is cheap: the plan for many rows has parallel workers, which
  take longer to start than a single process takes to count ten thousand index entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, Func, QuerySet, Subquery, UUIDField

from pipeline_backend.db.compiled import Params, bind

PROBE_ROWS = 2000  # rows to probe in the list's order before the filters' own index is used
SMALL_COUNT = 10_000  # rows that a single process counts faster than parallel workers
SAMPLE_ROWS = 300  # rows sampled to estimate the sort key of the page's last row

COUNT = "SELECT count(*) AS total FROM ({ids}) AS filtered"

COUNT_SMALL_FIRST = """
    SELECT CASE
        WHEN small.total <= {small_count:d} THEN small.total
        ELSE (SELECT count(*) FROM ({ids}) AS filtered)
    END AS total
    FROM (SELECT count(*) AS total FROM ({ids} LIMIT {small_count:d} + 1) AS filtered) AS small
"""

INDEX_ORDER_PAGE = """
WITH counted AS MATERIALIZED ({count})
SELECT total, ARRAY(
    SELECT id FROM ({ordered_ids} LIMIT {limit:d} OFFSET {offset:d}) AS page (id, sort_key)
    WHERE (SELECT total FROM counted) > {offset:d}
)
FROM counted
"""

MERGED_INDEX_PAGE = """
WITH counted AS MATERIALIZED ({count})
SELECT total, ARRAY(
    SELECT candidate.id
    FROM ({branch_ids}) AS branch (id)
    CROSS JOIN LATERAL ({ordered_ids_of_branch} LIMIT {end:d}) AS candidate (id, sort_key)
    WHERE (SELECT total FROM counted) > {offset:d}
    ORDER BY candidate.sort_key {direction}, candidate.id {direction}
    LIMIT {limit:d} OFFSET {offset:d}
)
FROM counted
"""

# `probe` reads at most PROBE_ROWS rows in the list's order, up to a boundary within `probe_ids`. If it holds as many
# matching rows as the page needs, the page is among them.
PROBE_THEN_SORT_PAGE = """
WITH counted AS MATERIALIZED ({count}),
probe (id, sort_key) AS MATERIALIZED ({probe_ids} LIMIT {end:d})
SELECT total, CASE
    WHEN total <= {offset:d} THEN ARRAY[]::uuid[]
    WHEN (SELECT count(*) FROM probe) = least(total, {end:d}) THEN ARRAY(
        SELECT id FROM probe ORDER BY sort_key {direction}, id {direction} LIMIT {limit:d} OFFSET {offset:d}
    )
    ELSE ARRAY(SELECT id FROM ({sorted_ids} LIMIT {limit:d} OFFSET {offset:d}) AS page (id, sort_key))
END
FROM counted
"""

# `cutoff` is the sort key of the page's last row within a sample. The page of the whole list ends at or before it, so
# `small` keeps only the rows up to it: enough for the page, and far less to sort than everything.
SMALL_RESULT_PAGE = """
WITH cutoff AS MATERIALIZED (
    SELECT coalesce(
        (
            SELECT sort_key FROM ({ids} LIMIT {sample_rows:d}) AS sample (id, sort_key)
            ORDER BY sort_key {direction} OFFSET {end:d} - 1 LIMIT 1
        ),
        '{infinity}'
    ) AS sort_key
),
small AS MATERIALIZED (
    SELECT count(*) AS total,
        array_agg(id) FILTER (WHERE sort_key {reaches} (SELECT sort_key FROM cutoff)) AS ids,
        array_agg(sort_key) FILTER (WHERE sort_key {reaches} (SELECT sort_key FROM cutoff)) AS sort_keys
    FROM ({ids} LIMIT {small_count:d} + 1) AS filtered (id, sort_key)
),
counted AS MATERIALIZED (
    SELECT CASE WHEN small.total <= {small_count:d} THEN small.total ELSE ({count}) END AS total FROM small
),
probe (id, sort_key) AS MATERIALIZED ({probe_ids} LIMIT {end:d})
SELECT total, CASE
    WHEN total <= {offset:d} THEN ARRAY[]::uuid[]
    WHEN total <= {small_count:d} THEN ARRAY(
        SELECT id FROM small, unnest(ids, sort_keys) AS candidate (id, sort_key)
        ORDER BY sort_key {direction}, id {direction} LIMIT {limit:d} OFFSET {offset:d}
    )
    WHEN (SELECT count(*) FROM probe) = least(total, {end:d}) THEN ARRAY(
        SELECT id FROM probe ORDER BY sort_key {direction}, id {direction} LIMIT {limit:d} OFFSET {offset:d}
    )
    ELSE ARRAY(SELECT id FROM ({sorted_ids} LIMIT {limit:d} OFFSET {offset:d}) AS page (id, sort_key))
END
FROM counted
"""

PROBE_BOUNDARY = "(SELECT {aggregate}(sort_key) FROM (%(subquery)s) AS probed (sort_key))"
WITHOUT_INDEX = "%(expressions)s + interval '0'"  # sorts like the column, but no index on the column matches it


class SqlPart(NamedTuple):
    """A query to embed in a statement, and its parameters."""

    sql: str
    params: Params


@dataclass(frozen=True)
class Order:
    """The order of a list: a column, with a leading "-" for descending. The id breaks ties."""

    text: str

    @property
    def column(self) -> str:
        return self.text.removeprefix("-")

    @property
    def descending(self) -> bool:
        """Whether the largest value comes first."""
        return self.text.startswith("-")

    @property
    def direction(self) -> str:
        return "DESC" if self.descending else "ASC"

    @property
    def id(self) -> str:
        """The tie-breaking id, in the same direction, as `order_by` takes it."""
        return "-id" if self.descending else "id"

    def ordered_ids(self, rows: QuerySet) -> SqlPart:
        """Return the query of the rows' ids and sort keys, in this order."""
        return compile_part(rows.order_by(self.text, self.id).values_list("id", self.column))


@dataclass(frozen=True)
class PageQuery:
    """The statement for one combination of filters in one order. Run it with `execute`."""

    template: str
    fragments: dict[str, str | int]
    params: Params

    def execute(self, offset: int, limit: int, values: Mapping[str, object]) -> tuple[int, list[UUID]]:
        """Return the total number of matching rows, and the ids of those on the page."""
        with connection.cursor() as cursor:
            cursor.execute(*self.sql_with_params(offset, limit, values))
            total, ids = cursor.fetchone()
        return total, ids

    def sql_with_params(self, offset: int, limit: int, values: Mapping[str, object]) -> tuple[str, Params]:
        """Return the statement for a page and these values of the filters."""
        sql = self.template.format(**self.fragments, limit=limit, offset=offset, end=offset + limit)
        return sql, bind(self.params, values)


def index_order_page(count: SqlPart, rows: QuerySet, order: Order) -> PageQuery:
    """Return the statement for rows that one index has in the list's order."""
    return page_query(INDEX_ORDER_PAGE, order, count=count, ordered_ids=order.ordered_ids(rows))


def merged_index_page(count: SqlPart, branches: QuerySet, rows: QuerySet, column: str, order: Order) -> PageQuery:
    """Return the statement for rows whose `column` refers to any of the branches.

    For each branch an index has the rows in the list's order.
    """
    of_branch = rows.filter(**{column: Func(template="branch.id", output_field=UUIDField())})
    return page_query(
        MERGED_INDEX_PAGE,
        order,
        count=count,
        branch_ids=compile_part(branches.order_by().values_list("id")),
        ordered_ids_of_branch=order.ordered_ids(of_branch),
    )


def small_result_page(rows: QuerySet, order_rows: QuerySet, order: Order) -> PageQuery:
    """Return the statement for rows that an index without the list's order, but with its sort column, can find."""
    return page_query(
        SMALL_RESULT_PAGE,
        order,
        ids=compile_part(rows.order_by().values_list("id", order.column)),
        count=count_of(rows),
        probe_ids=probe_ids(rows, order_rows, order),
        sorted_ids=sorted_ids(rows, order),
    )


def probe_then_sort_page(rows: QuerySet, order_rows: QuerySet, order: Order) -> PageQuery:
    """Return the statement for rows that no index fits.

    `order_rows` are the rows to probe: those that match the filters on the sort column, which bound its index scan.
    """
    return page_query(
        PROBE_THEN_SORT_PAGE,
        order,
        count=count_of(rows),
        probe_ids=probe_ids(rows, order_rows, order),
        sorted_ids=sorted_ids(rows, order),
    )


def probe_ids(rows: QuerySet, order_rows: QuerySet, order: Order) -> SqlPart:
    """Return the query of the matching rows among the next `PROBE_ROWS` in the list's order."""
    probed = order_rows.order_by(order.text).values(order.column)[: PROBE_ROWS + 1]
    # The boundary must be a bare subquery: under row-level security, PostgreSQL doesn't use an expression as an index
    # condition if evaluating it could reveal something about a row.
    boundary = Subquery(probed, template=PROBE_BOUNDARY.format(aggregate="min" if order.descending else "max"))
    lookup = f"{order.column}__{'gte' if order.descending else 'lte'}"
    return order.ordered_ids(rows.filter(**{lookup: boundary}))


def sorted_ids(rows: QuerySet, order: Order) -> SqlPart:
    """Return the query of the rows' ids and sort keys, written so that PostgreSQL can't scan the index of the order."""
    sort_key = Func(order.column, template=WITHOUT_INDEX, output_field=DateTimeField())
    ordered = rows.order_by(sort_key.desc() if order.descending else sort_key.asc(), order.id)
    return compile_part(ordered.values_list("id", order.column))


def count_of(rows: QuerySet) -> SqlPart:
    """Return the query that counts the rows, as `total`."""
    ids = compile_part(rows.order_by().values_list("id"))
    return SqlPart(COUNT.format(ids=ids.sql), ids.params)


def count_small_first(rows: QuerySet) -> SqlPart:
    """Return the query that counts the rows, as `total`, and starts the plan for many rows only if there are many.

    Only for rows that an index alone can count: if there are many, the first ten thousand are counted twice.
    """
    ids = compile_part(rows.order_by().values_list("id"))
    return SqlPart(COUNT_SMALL_FIRST.format(ids=ids.sql, small_count=SMALL_COUNT), ids.params * 2)


def page_query(template: str, order: Order, **parts: SqlPart) -> PageQuery:
    """Return a statement with its fragments, and with the parameters of the parts in the order of the template."""
    placeholders = [name for _, name, _, _ in Formatter().parse(template) if name in parts]
    fragments: dict[str, str | int] = {name: part.sql for name, part in parts.items()}
    fragments |= {
        "direction": order.direction,
        "reaches": ">=" if order.descending else "<=",
        "infinity": "-infinity" if order.descending else "infinity",
        "small_count": SMALL_COUNT,
        "sample_rows": SAMPLE_ROWS,
    }
    return PageQuery(template, fragments, [param for name in placeholders for param in parts[name].params])


def compile_part(rows: QuerySet) -> SqlPart:
    """Return a queryset's SQL and parameters."""
    sql, params = rows.query.sql_with_params()
    return SqlPart(sql, list(params))
