"""The operators' page of what grows: the size of each table, how many rows are new, and what deletes old ones.

Every statement is bounded: rows are the planner's estimate, and new rows are counted by the time in their ids, among
the newest `MAX_COUNTED`. What deletes rows is read from the table in docs/operate.md, so that both say the same.
"""

import re
from datetime import datetime, timedelta
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest
from django.template.response import TemplateResponse
from psycopg import sql
from redis import Redis, RedisError

from foundation.db.timestamps import now
from organizations.permissions import is_operator

DOCUMENT = Path(__file__).resolve().parents[1] / "docs/operate.md"
DAYS, MAX_COUNTED = 7, 10_000
REDIS_SECONDS = 2
TABLES = """
SELECT pg_class.relname, CASE WHEN n_live_tup > 0 THEN n_live_tup ELSE greatest(reltuples, 0) END::bigint,
    pg_total_relation_size(pg_class.oid), pg_indexes_size(pg_class.oid),
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'id' AND atttypid = 'uuid'::regtype)
FROM pg_class LEFT JOIN pg_stat_user_tables ON relid = pg_class.oid
WHERE relkind = 'r' AND pg_class.relnamespace = current_schema()::regnamespace
"""
# Their ids begin with the time. The few random ones are outside of so short a range, but for one in thousands.
NEWEST = """
SELECT count(*), min(uuid_extract_timestamp(id))
FROM (SELECT id FROM {table} WHERE id BETWEEN %s AND %s ORDER BY id DESC LIMIT %s) AS newest
"""


class Table(NamedTuple):
    name: str
    rows: int
    size: int  # with its indexes
    index_size: int
    rows_a_day: float | None  # None if its ids have no time

    @property
    def bytes_a_day(self) -> int:
        return round((self.rows_a_day or 0) * self.size / self.rows) if self.rows else 0


class Group(NamedTuple):
    """Tables that docs/operate.md describes together."""

    name: str
    deleted: str
    tables: list[Table]

    @property
    def size(self) -> int:
        return sum(table.size for table in self.tables)

    @property
    def bytes_a_day(self) -> int:
        return sum(table.bytes_a_day for table in self.tables)


def growth_page(request: HttpRequest) -> TemplateResponse:
    if not is_operator(request):
        raise PermissionDenied
    groups = sorted(group_tables(read_tables()), key=lambda group: group.size, reverse=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        [database_size] = cursor.fetchone()
    context = {
        **admin.site.each_context(request),
        "title": "What grows",
        "groups": groups,
        "days": DAYS,
        "limit": MAX_COUNTED,
        "database_size": database_size,
        "bytes_a_day": sum(group.bytes_a_day for group in groups),
        "redis": read_redis(),
        "disk": disk_usage(DOCUMENT),
    }
    return TemplateResponse(request, "staff/growth.html", context)


def read_tables() -> list[Table]:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        rows = cursor.fetchall()
    return [
        Table(name, count, size, index_size, count_a_day(name, count) if has_time else None)
        for name, count, size, index_size, has_time in rows
    ]


def count_a_day(table: str, rows: int) -> float:
    """Return how many rows a day are new in the last `DAYS`; if they are many, by the age of the newest ones.

    An import can have added those at once, so the result is never more than all rows would be.
    """
    at = now()
    bounds = [first_id(at - timedelta(days=DAYS)), first_id(at + timedelta(days=1))]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(NEWEST).format(table=sql.Identifier(table)), [*bounds, MAX_COUNTED])
        count, oldest = cursor.fetchone()
    if count < MAX_COUNTED:
        return float(count / DAYS)
    days = max((at - oldest) / timedelta(days=1), 1 / 86_400)
    return float(min(count / days, max(rows, count) / DAYS))


def first_id(at: datetime) -> UUID:
    return UUID(int=int(at.timestamp() * 1000) << 80)


def group_tables(tables: list[Table]) -> list[Group]:
    """Return the tables by their row in docs/operate.md."""
    text = DOCUMENT.read_text().partition("\n## What grows\n")[2].partition("\n## ")[0]
    waiting = {table.name: table for table in sorted(tables, key=lambda table: table.size, reverse=True)}
    groups = []
    for line in re.findall(r"^\| (?!what \|).+ \|$", text.partition("\n\nCelery")[0], re.MULTILINE):
        name, names, deleted = line.strip("| ").split(" | ")
        named = set(re.findall(r"`(\w+)`", names))
        found = [waiting.pop(table) for table in [*waiting] if table in named]
        groups.append(Group(plain(name), plain(deleted), found))
    return [group for group in [*groups, Group("Others", "", list(waiting.values()))] if group.tables]


def plain(markdown: str) -> str:
    """Return the text without links and marks, with the settings' values."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", markdown)
    text = re.sub(r"`(KEEP_\w+)`( \([\d,]+\))?", lambda match: f"{match[1]} ({getattr(settings, match[1]):,})", text)
    return text.replace("`", "").replace("*", "")


def read_redis() -> dict[str, int] | None:
    """Return Redis's `used_memory` and `maxmemory` in bytes, or None if it doesn't say."""
    seconds = REDIS_SECONDS
    try:
        with Redis.from_url(settings.REDIS_URL, socket_timeout=seconds, socket_connect_timeout=seconds) as client:
            memory: dict[str, int] = client.info("memory")
    except (RedisError, OSError):
        return None
    return memory
