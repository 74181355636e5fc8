"""Cutting a page out of a list: the statements for its total and for the ids of its rows, fast at any size.

What a total costs grows with what is counted; a page must not cost more than that. So its ids come from an index in the
list's order wherever a filter has one (`along`, `branched`). Where it has none, they are gathered while few rows are
counted (`gathered`); of many they are looked for among the newest rows first, and then among the rows that the filter's
own index gives (`across`). Left to itself, the planner takes the order's index and walks through a million rows for the
ten it wants: it can't know that old calls were booked long ago.

Few rows are counted without the plan for many, whose parallel workers take longer to start than ten thousand to count.

Limit and offset are written out: with parameters in their place PostgreSQL would plan anew each time. A page behind the
end is not looked for.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import DateTimeField, Func, QuerySet, Subquery, UUIDField

from pipeline_backend.db.compiled import bind

PROBE_ROWS = 2000  # rows that are looked through along the order before the filter's own index is asked
SMALL_COUNT = 10_000  # rows that one process counts sooner than several
SAMPLE_ROWS = 300  # rows of those by which a bar is set that the page's rows reach, and hardly any others
COUNT = "SELECT count(*) AS total FROM ({ids}) AS chosen"
FEW_FIRST = "SELECT CASE WHEN few.total <= {most:d} THEN few.total ELSE ({count}) END AS total FROM {few}"
COUNT_FEW = "(SELECT count(*) AS total FROM ({ids} LIMIT {most:d} + 1) AS chosen) AS few"
CUT = "WITH {few}counted AS MATERIALIZED ({count}){near} SELECT total, {page} FROM counted"
ALONG = "ARRAY(SELECT id FROM ({ids} LIMIT {{limit:d}} OFFSET {{start:d}}) AS page (id, place) WHERE (SELECT total FROM counted) > {{start:d}})"
BRANCHED = """ARRAY(
    SELECT part.id FROM ({branches}) AS branch (id) CROSS JOIN LATERAL ({ids} LIMIT {{reach:d}}) AS part (id, place)
    WHERE (SELECT total FROM counted) > {{start:d}} ORDER BY part.place {way}, part.id {way} LIMIT {{limit:d}} OFFSET {{start:d}}
)"""
GATHERED = """bar AS MATERIALIZED (
    SELECT coalesce((SELECT place FROM ({ids} LIMIT {sample:d}) AS sample (id, place) ORDER BY place {way} OFFSET {{reach:d}} - 1 LIMIT 1), '{end}') AS place
), few AS MATERIALIZED (
    SELECT count(*) AS total, array_agg(id) FILTER (WHERE {reached}) AS ids, array_agg(place) FILTER (WHERE {reached}) AS places
    FROM ({ids} LIMIT {most:d} + 1) AS found (id, place)
), """
REACHED = "place {sign} (SELECT place FROM bar)"
PAGE_OF_FEW = """WHEN total <= {most:d} THEN
        ARRAY(SELECT id FROM few, unnest(ids, places) AS row (id, place) ORDER BY place {way}, id {way} LIMIT {{limit:d}} OFFSET {{start:d}})
    """
NEAR = ", near (id, place) AS MATERIALIZED ({ids} LIMIT {{reach:d}})"
ACROSS = """CASE
    WHEN total <= {{start:d}} THEN ARRAY[]::uuid[]
    {page_of_few}WHEN (SELECT count(*) FROM near) = least(total, {{reach:d}}) THEN
        ARRAY(SELECT id FROM near ORDER BY place {way}, id {way} LIMIT {{limit:d}} OFFSET {{start:d}})
    ELSE ARRAY(SELECT id FROM ({far} LIMIT {{limit:d}} OFFSET {{start:d}}) AS page (id, place))
END"""
NO_INDEX = "%(expressions)s + interval '0'"
EDGE = "(SELECT {end}(place) FROM (%(subquery)s) AS walked (place))"


class SqlPart(NamedTuple):
    """A piece of SQL, and its slots."""

    sql: str
    slots: list[Any]


@dataclass(frozen=True)
class Order:
    """A column, up or down; the id settles ties."""

    text: str

    @property
    def column(self) -> str:
        """The column's name."""
        return self.text.removeprefix("-")

    @property
    def way(self) -> str:
        """Up or down, in SQL."""
        return "DESC" if self.text.startswith("-") else "ASC"

    def ids(self, rows: QuerySet[Any]) -> SqlPart:
        """The rows' ids and places, in order."""
        return part_of(rows.order_by(self.text, "-id" if self.way == "DESC" else "id").values_list("id", self.column))


@dataclass(frozen=True)
class PageQuery:
    """The statement of one combination of filters in one order: how many rows, and the ids of some."""

    statement: str
    slots: list[Any]

    def run(self, start: int, limit: int, values: dict[str, Any]) -> tuple[int, list[UUID]]:
        """The number of all, and the ids of a part."""
        with connection.cursor() as cursor:
            cursor.execute(
                self.statement.format(limit=limit, start=start, reach=start + limit), bind(self.slots, values)
            )
            total, ids = cursor.fetchone()
        return total, ids


def index_order_page(count: SqlPart, rows: QuerySet[Any], order: Order) -> PageQuery:
    """There is an index that has the rows in their order."""
    ids = order.ids(rows)
    return PageQuery(
        CUT.format(few="", count=count.sql, near="", page=ALONG.format(ids=ids.sql)), [*count.slots, *ids.slots]
    )


def merged_index_page(
    count: SqlPart, branches: QuerySet[Any], rows: QuerySet[Any], column: str, order: Order
) -> PageQuery:
    """There is one for each value of the column that is wanted: the pages' beginnings of all of them, merged."""
    values = part_of(branches.order_by().values_list("id"))
    ids = order.ids(rows.filter(**{column: Func(template="branch.id", output_field=UUIDField())}))
    page = BRANCHED.format(branches=values.sql, ids=ids.sql, way=order.way)
    return PageQuery(CUT.format(few="", count=count.sql, near="", page=page), [*count.slots, *values.slots, *ids.slots])


def small_result_page(rows: QuerySet[Any], all_along: QuerySet[Any], order: Order) -> PageQuery:
    """There is none, but the filter's own holds the places too: few rows are read once, for the total and for the page.

    Of these, all are gathered that come before the last one of a sample's first page: so the list's first page is there.
    """
    ids, ahead = part_of(rows.order_by().values_list("id", order.column)), order.way == "DESC"
    sign, end = (">=", "-infinity") if ahead else ("<=", "infinity")
    few = GATHERED.format(
        ids=ids.sql, way=order.way, reached=REACHED.format(sign=sign), end=end, most=SMALL_COUNT, sample=SAMPLE_ROWS
    )
    every = count_of(rows)
    count = SqlPart(FEW_FIRST.format(count=every.sql, few="few", most=SMALL_COUNT), every.slots)
    return probe_then_sort_page(count, rows, all_along, order, SqlPart(few, ids.slots * 2))


def probe_then_sort_page(
    count: SqlPart, rows: QuerySet[Any], all_along: QuerySet[Any], order: Order, few: SqlPart | None = None
) -> PageQuery:
    """There is none: first the next rows along the order, of all that its index gives; then by an index of the filters, and sorted."""
    ahead = order.way == "DESC"
    # A subselect alone, nothing around it: to what could tell of a row, PostgreSQL opens no index behind a policy.
    walked = all_along.order_by(order.text).values(order.column)[: PROBE_ROWS + 1]
    edge = Subquery(walked, template=EDGE.format(end="min" if ahead else "max"))
    near = order.ids(rows.filter(**{f"{order.column}__{'gte' if ahead else 'lte'}": edge}))
    place = Func(order.column, template=NO_INDEX, output_field=DateTimeField())
    far = part_of(
        rows.order_by(place.desc() if ahead else place.asc(), "-id" if ahead else "id").values_list("id", order.column)
    )
    page = ACROSS.format(
        far=far.sql, way=order.way, page_of_few=PAGE_OF_FEW.format(way=order.way, most=SMALL_COUNT) if few else ""
    )
    before = few or SqlPart("", [])
    cut = CUT.format(few=before.sql, count=count.sql, near=NEAR.format(ids=near.sql), page=page)
    return PageQuery(cut, [*before.slots, *count.slots, *near.slots, *far.slots])


def count_of(rows: QuerySet[Any]) -> SqlPart:
    """The statement that counts them, as `total`."""
    ids = part_of(rows.order_by().values_list("id"))
    return SqlPart(COUNT.format(ids=ids.sql), ids.slots)


def count_few_first(rows: QuerySet[Any]) -> SqlPart:
    """The same, for rows of which an index alone tells: one that is not begun in vain if there are many."""
    every = count_of(rows)
    ids = part_of(rows.order_by().values_list("id"))
    few = COUNT_FEW.format(ids=ids.sql, most=SMALL_COUNT)
    return SqlPart(FEW_FIRST.format(count=every.sql, few=few, most=SMALL_COUNT), every.slots + ids.slots)


def part_of(rows: QuerySet[Any]) -> SqlPart:
    """A queryset's statement; its braces are no places."""
    sql, slots = rows.query.sql_with_params()
    return SqlPart(sql.replace("{", "{{").replace("}", "}}"), list(slots))
