"""Pages by size: what stays as it is at a million rows, and what the database alone takes for the rest."""

import statistics
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import psycopg

from benchmarks.load import Ask, always, drive, get
from benchmarks.measuring import Measure, Must, Row, Scale, compare
from benchmarks.rows.reads import MILLION, OUR_LIST
from benchmarks.world import OURS, Database, Server, World

LIMIT = 10
FEW = 5  # half a percent of a thousand: with this limit both pages have as many rows
WARM = 12
WHICH = "appointments_appointment WHERE organization_id = '{organization}' AND {condition}"
TOTAL = f"SELECT count(*) FROM {WHICH}"
IDS = f"SELECT id FROM {WHICH} ORDER BY created_at DESC, id DESC LIMIT 10 OFFSET {{start}}"
MEMBER = "{column} = (SELECT m.id FROM organizations_membership m JOIN organizations_user u ON u.id = user_id WHERE email = '{email}' LIMIT 1)"
STATUSES = "outcome_id IN (SELECT id FROM statuses_status WHERE role IN ({roles}))"
MOMENTS = {"scheduled": "schedule_time", "created": "created_at", "updated": "updated_at"}
Query = dict[str, str]


def selective(facts: dict[str, Any]) -> Iterator[Query]:
    """Filters that select half a percent or less."""
    yield {"lead_id": facts["lead"]}
    yield {"call_category": "TRIAGE_CALL"}
    yield {"outcome_role": "NEW_LEAD"}
    yield from ({name: facts["rare"]} for name in ("setter", "triager", "closer"))
    for name, column in MOMENTS.items():
        yield {f"{name}_from": facts["moments"][column]["late"]}
        yield {f"{name}_to": facts["moments"][column]["early"]}


def large(facts: dict[str, Any]) -> Iterator[tuple[Query, str]]:
    """Each filter with a value that many rows have, and the same as a condition in SQL."""
    yield {"lead_id": facts["lead"]}, f"lead_id = '{facts['lead']}'"
    yield {"call_category": "SALES_CALL"}, "call_category = 'SALES_CALL'"
    yield {"call_category": "SALES_CALL,TRIAGE_CALL"}, "call_category IN ('SALES_CALL', 'TRIAGE_CALL')"
    yield {"outcome_role": "LOST"}, STATUSES.format(roles="'LOST'")
    yield {"outcome_role": "WON,LOST,NO_SHOW"}, STATUSES.format(roles="'WON', 'LOST', 'NO_SHOW'")
    yield {"setter": facts["setter"]}, MEMBER.format(column="setter_id", email=facts["setter"])
    yield {"triager": facts["setter"]}, MEMBER.format(column="triager_id", email=facts["setter"])
    yield {"closer": facts["host"]}, MEMBER.format(column="host_id", email=facts["host"])
    for name, column in MOMENTS.items():
        middle = facts["moments"][column]["middle"]
        yield {f"{name}_from": middle}, f"{column} >= '{middle}'"
        yield {f"{name}_to": middle}, f"{column} <= '{middle}'"


def rows(world: World, small: Database, large_one: Database, scale: Scale) -> Iterator[Row]:
    """The rows of this subject."""
    little, big = world.serve(OURS, small), world.serve(OURS, large_one)
    pairs = [({}, {}), *zip(selective(small.facts), selective(large_one.facts), strict=True)]
    for few, many in pairs:
        work = f"first page, {next(iter(many), 'unfiltered')}"
        limit = {"limit": str(FEW)} if many else {}
        ours, theirs = answer_time(big, large_one, many | limit, scale), answer_time(little, small, few | limit, scale)
        yield compare(work, "ms", ours, "at 1,000 rows", theirs, Must("≤", 1.25), scale)
    with psycopg.connect(large_one.url, autocommit=True) as line:
        fixed = answer_time(big, large_one, {}, scale)
        for query, condition in large(large_one.facts):
            yield against_database(line, big, large_one, query, condition, fixed, scale)
        if scale.rows >= MILLION:  # with fewer, an answer's fixed cost is more than the walk
            yield middle(line, big, large_one, scale)


def answer_time(server: Server, database: Database, query: Query, scale: Scale) -> Measure:
    """The median of some answers to one client, in milliseconds."""
    ask = asking(database, query)
    drive(server.port, ask, connections=8, count=8 * WARM)
    return lambda: 1000 * statistics.median(drive(server.port, ask, connections=1, count=scale.repeats).seconds)


def asking(database: Database, query: Query) -> Ask:
    """The list with these parameters."""
    return always(get(f"{OUR_LIST}?{urlencode({'limit': LIMIT, **query})}", database.facts["key"]))


def against_database(
    line: Any, server: Server, database: Database, query: Query, condition: str, fixed: Measure, scale: Scale
) -> Row:
    """A filter against its count and its page in the database, with what an answer without a filter takes."""
    few = Scale(**{**vars(scale), "repeats": max(3, scale.repeats // 6)})
    count, page = (
        text.format(organization=database.facts["organization"], condition=condition, start=0) for text in (TOTAL, IDS)
    )
    (parameter, value), name = next(iter(query.items())), "count and page in the database, and the unfiltered page"
    ours = answer_time(server, database, query, few)
    return compare(
        f"{parameter}, {named(value)}",
        "ms",
        ours,
        name,
        lambda: fixed() + asked(line, few, count, page),
        Must("≤", 1.3),
        scale,
    )


def named(value: str) -> str:
    """A value in the table, the same in every run."""
    if "@" in value:
        return "a member"
    if "T" in value and ":" in value:
        return "the middle"
    return value if value.isupper() else "one"


def asked(line: Any, scale: Scale, *statements: str) -> float:
    """The median of some rounds of the statements, in milliseconds."""
    taken = []
    for _ in range(scale.repeats):
        began = time.perf_counter()
        for statement in statements:
            line.execute(statement, prepare=False).fetchall()
        taken.append(time.perf_counter() - began)
    return 1000 * statistics.median(taken)


def middle(line: Any, server: Server, database: Database, scale: Scale) -> Row:
    """The page in the middle against walking there along the index."""
    few = Scale(**{**vars(scale), "repeats": max(3, scale.repeats // 10)})
    walk = IDS.format(organization=database.facts["organization"], condition="true", start=scale.rows // 2)
    ours = answer_time(server, database, {"page": str(scale.rows // 2 // LIMIT + 1)}, few)
    return compare(
        f"page in the middle of {scale.rows:,}",
        "ms",
        ours,
        "index-only scan of the ids",
        lambda: asked(line, few, walk),
        Must("≤", 1.3),
        scale,
    )
