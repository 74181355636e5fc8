"""Response times of the appointments list with each filter.

Where a filter selects few rows, a million rows must not be slower than a thousand. Where it selects many, the service
must not take much longer than the database needs to count the rows and find the page.
"""

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import NamedTuple
from urllib.parse import urlencode

import psycopg

from benchmarks.environment import PRODUCT_APP, Database, Dataset, Environment, WebServer
from benchmarks.load_generator import get_request, run_load
from benchmarks.measurement import Comparison, Measurement, Scale, at_most, compare
from benchmarks.suites.reads import LIST_PATH, MILLION, read_body

LIMIT = 10
# Half a percent of a thousand rows, so that the pages of both databases have the same number of rows.
RARE_LIMIT = 5
CONNECTIONS = 8
WARM_UP = 12  # requests per connection
TIMESTAMP_COLUMNS = {"scheduled": "schedule_time", "created": "created_at", "updated": "updated_at"}

COUNT = """
SELECT count(*)
FROM appointments_appointment
WHERE organization_id = '{organization_id}' AND {condition}
"""
PAGE_IDS = """
SELECT id
FROM appointments_appointment
WHERE organization_id = '{organization_id}' AND {condition}
ORDER BY created_at DESC, id DESC
LIMIT 10 OFFSET {offset}
"""
OUTCOME_ROLE = "outcome_id IN (SELECT id FROM statuses_status WHERE role IN ({roles}))"
MEMBER = """
{column} = (
    SELECT organizations_membership.id
    FROM organizations_membership
    JOIN organizations_user ON organizations_user.id = user_id
    WHERE email = '{email}'
    LIMIT 1
)
"""

QueryParameters = dict[str, str]
SqlConnection = psycopg.Connection[tuple[object, ...]]


class FilterCase(NamedTuple):
    """Filters with values that many rows have, and the SQL condition that selects the same rows."""

    query: QueryParameters
    label: str  # in the table; the same in every run
    condition: str

    def __and__(self, other: "FilterCase") -> "FilterCase":
        label = f"{self.label} and {other.label}"
        return FilterCase(self.query | other.query, label, f"{self.condition} AND {other.condition}")


def one_filter(parameter: str, value: str, label: str, condition: str) -> FilterCase:
    return FilterCase({parameter: value}, f"{parameter}, {label}", condition)


def run(environment: Environment, small: Database, large: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of selective filters, of unselective filters, of a page in the middle and of a cursor."""
    small_server = environment.web_server(PRODUCT_APP, small)
    large_server = environment.web_server(PRODUCT_APP, large)

    queries = [({}, {}), *zip(selective_filters(small.dataset), selective_filters(large.dataset), strict=True)]
    for small_query, large_query in queries:
        limit = {"limit": str(RARE_LIMIT)} if large_query else {}
        yield compare(
            f"first page, {next(iter(large_query), 'unfiltered')}",
            "ms",
            response_time(large_server, large, large_query | limit, scale),
            "at 1,000 rows",
            response_time(small_server, small, small_query | limit, scale),
            at_most(1.5),
            scale,
        )

    with psycopg.connect(large.url, autocommit=True) as connection:
        unfiltered = response_time(large_server, large, {}, scale)
        for case in (*unselective_filters(large.dataset), *pairs(large.dataset)):
            yield compare_filter_with_sql(connection, large_server, large, case, unfiltered, scale)
        # With fewer rows the fixed cost of a response is larger than that of the scan.
        if scale.appointments >= MILLION:
            yield compare_middle_page(connection, large_server, large, scale)
    yield compare_late_page(large_server, large, scale)


def selective_filters(dataset: Dataset) -> Iterator[QueryParameters]:
    """Yield each filter with a value that selects half a percent of the rows or less."""
    yield {"id": ",".join(dataset.appointment_ids[:RARE_LIMIT])}
    yield {"external_reference": dataset.external_reference}
    yield {"lead_id": dataset.lead_id}
    yield {"call_category": "TRIAGE_CALL"}
    yield {"outcome_role": "NEW_LEAD"}
    for name in ("setter", "triager", "closer"):
        yield {name: dataset.rare_email}
    for name, column in TIMESTAMP_COLUMNS.items():
        yield {f"{name}_from": dataset.quantiles[column]["late"]}
        yield {f"{name}_to": dataset.quantiles[column]["early"]}


def unselective_filters(dataset: Dataset) -> Iterator[FilterCase]:
    """Yield each filter with a value that selects many rows (except `lead_id`, which never does)."""
    yield one_filter("lead_id", dataset.lead_id, "one lead", f"lead_id = '{dataset.lead_id}'")
    event_type = dataset.event_type_id
    yield one_filter("event_type_id", event_type, "an event type", f"event_type_id = '{event_type}'")
    yield one_filter("call_category", "SALES_CALL", "SALES_CALL", "call_category = 'SALES_CALL'")
    both = "SALES_CALL,TRIAGE_CALL"
    yield one_filter("call_category", both, both, "call_category IN ('SALES_CALL', 'TRIAGE_CALL')")
    yield one_filter("outcome_role", "LOST", "LOST", OUTCOME_ROLE.format(roles="'LOST'"))
    roles = "WON,LOST,NO_SHOW"
    yield one_filter("outcome_role", roles, roles, OUTCOME_ROLE.format(roles="'WON', 'LOST', 'NO_SHOW'"))
    booked = OUTCOME_ROLE.format(roles="'APPOINTMENT_BOOKED'")
    yield one_filter("has_outcome", "true", "true", f"outcome_id IS NOT NULL AND NOT {booked}")
    yield one_filter("has_outcome", "false", "false", f"(outcome_id IS NULL OR {booked})")
    for parameter, column, email in [
        ("setter", "setter_id", dataset.setter_email),
        ("triager", "triager_id", dataset.setter_email),
        ("closer", "host_id", dataset.host_email),
    ]:
        yield one_filter(parameter, email, "a member", MEMBER.format(column=column, email=email))
    for name, column in TIMESTAMP_COLUMNS.items():
        median = dataset.quantiles[column]["median"]
        yield one_filter(f"{name}_from", median, "the median", f"{column} >= '{median}'")
        yield one_filter(f"{name}_to", median, "the median", f"{column} <= '{median}'")


def pairs(dataset: Dataset) -> Iterator[FilterCase]:
    """Yield the commonest pairs of filters: who or what, and when; and two of who and what."""
    role = "outcome_role, LOST"
    cases = {case.label: case for case in unselective_filters(dataset)}
    closer, category = cases["closer, a member"], cases["call_category, SALES_CALL"]
    for first in (closer, category, cases[role]):
        yield first & cases["scheduled_from, the median"]
        yield first & cases["created_from, the median"]
    yield closer & cases[role]
    yield closer & category


def compare_filter_with_sql(
    connection: SqlConnection,
    server: WebServer,
    database: Database,
    case: FilterCase,
    unfiltered: Measurement,
    scale: Scale,
) -> Comparison:
    """Compare a filtered page with its count and its ids in SQL.

    The time of the unfiltered page is added to these, because it is what every response costs without its filter.
    """
    fewer_requests = replace(scale, requests_per_round=max(3, scale.requests_per_round // 6))
    values = {"organization_id": database.dataset.organization_id, "condition": case.condition}
    statements = [COUNT.format(**values), PAGE_IDS.format(**values, offset=0)]
    return compare(
        case.label,
        "ms",
        response_time(server, database, case.query, fewer_requests),
        "count and page in SQL, plus the unfiltered page",
        lambda: unfiltered() + query_time(connection, statements, fewer_requests),
        at_most(1.3),
        scale,
    )


def compare_middle_page(connection: SqlConnection, server: WebServer, database: Database, scale: Scale) -> Comparison:
    """Compare the page in the middle of the list with the index scan that leads there."""
    fewer_requests = replace(scale, requests_per_round=max(3, scale.requests_per_round // 10))
    offset = scale.appointments // 2
    statement = PAGE_IDS.format(organization_id=database.dataset.organization_id, condition="true", offset=offset)
    return compare(
        f"page in the middle of {scale.appointments:,}",
        "ms",
        response_time(server, database, {"page": str(offset // LIMIT + 1)}, fewer_requests),
        "index-only scan of the ids",
        lambda: query_time(connection, [statement], fewer_requests),
        at_most(1.3),
        scale,
    )


def compare_late_page(server: WebServer, database: Database, scale: Scale) -> Comparison:
    """Compare a page of a cursor near the end of the list with its first page."""
    query = {"cursor": "start", "limit": 1, "created_to": database.dataset.quantiles["created_at"]["early"]}
    body = json.loads(read_body(server, f"{LIST_PATH}?{urlencode(query)}", database.dataset.api_key))
    return compare(
        f"late page of a cursor through {scale.appointments:,}",
        "ms",
        response_time(server, database, {"cursor": body["pagination"]["nextCursor"]}, scale),
        "first page of the cursor",
        response_time(server, database, {"cursor": "start"}, scale),
        at_most(1.3),
        scale,
    )


def response_time(server: WebServer, database: Database, query: QueryParameters, scale: Scale) -> Measurement:
    """Warm the server up and return a measurement: the median response time for one client, in milliseconds."""
    path = f"{LIST_PATH}?{urlencode({'limit': LIMIT, **query})}"
    requests = repeat(get_request(path, database.dataset.api_key))
    run_load(server.port, requests, connections=CONNECTIONS, count=CONNECTIONS * WARM_UP)

    def measure() -> float:
        result = run_load(server.port, requests, connections=1, count=scale.requests_per_round)
        return 1000 * statistics.median(result.response_seconds)

    return measure


def query_time(connection: SqlConnection, statements: list[str], scale: Scale) -> float:
    """Run the statements one after another several times and return the median time in milliseconds."""
    seconds = []
    for _ in range(scale.requests_per_round):
        started_at = time.perf_counter()
        for statement in statements:
            # Unprepared, so that PostgreSQL always plans with the values: the best plan it can find.
            connection.execute(statement, prepare=False).fetchall()
        seconds.append(time.perf_counter() - started_at)
    return 1000 * statistics.median(seconds)
