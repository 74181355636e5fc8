"""Explains the statements of an operation: how long PostgreSQL takes for each, and which rows it reads."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

EXPLAINED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
Plan = dict[str, Any]  # a node of PostgreSQL's JSON


@dataclass
class Statement:
    """A statement, its time for planning and execution, and the root of its plan."""

    sql: str
    milliseconds: float
    plan: Plan

    def nodes(self, root: Plan | None = None) -> Iterator[Plan]:
        """Yield the nodes of the plan that were executed."""
        root = root or self.plan
        if root["Actual Loops"]:
            yield root
            for child in root.get("Plans", []):
                yield from self.nodes(child)

    def blocks(self) -> int:
        """Return how many blocks of 8 kB were read, from memory or from disk."""
        return int(self.plan["Shared Hit Blocks"] + self.plan["Shared Read Blocks"])

    def rows_read(self, table: str) -> int:
        """Return how many rows of a table were read, those included that a filter then removed."""
        return sum(rows(node) for node in self.nodes() if node.get("Relation Name") == table)

    def scans(self) -> list[str]:
        """Return each scan and sort: its kind, its index or table, and its rows."""
        texts = []
        for node in self.nodes():
            name = node.get("Index Name") or node.get("Relation Name", "")
            if name or node["Node Type"].endswith("Sort"):
                texts.append(f"{node['Node Type']} {name}".strip() + f", {rows(node):,}")
        return texts


def rows(node: Plan) -> int:
    """Return how many rows a node of a plan has read, in all its loops."""
    return round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])


class Enough(Exception):
    """Ends an operation that would go on with the next batch."""


@dataclass
class Recorder:
    """Explains each statement before it runs."""

    limit: int | None
    statements: list[Statement] = field(default_factory=list)
    is_explaining: bool = False

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Run a statement for Django's `execute_wrapper`. Raises Enough after as many statements as the limit."""
        if self.is_explaining or not sql.lstrip("( \n").startswith(EXPLAINED):  # a union is in brackets
            return execute(sql, params, many, context)
        if self.limit is not None and len(self.statements) >= self.limit:
            raise Enough
        self.is_explaining = True
        try:
            self.statements.append(explain(sql, params))
        finally:
            self.is_explaining = False
        return execute(sql, params, many, context)


def explain(sql: str, params: Any) -> Statement:
    """Run a statement with EXPLAIN, and undo what it changed."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}", params)
        [([result],)] = cursor.fetchall()
        transaction.set_rollback(True)
    return Statement(sql, result["Planning Time"] + result["Execution Time"], result["Plan"])


def explain_statements(operation: Callable[[], object], limit: int | None = None) -> list[Statement]:
    """Run an operation, undo what it changed, and return its statements: at most `limit`."""
    recorder = Recorder(limit)
    with transaction.atomic(), connection.execute_wrapper(recorder), suppress(Enough):
        try:
            operation()
        finally:
            transaction.set_rollback(True)
    return recorder.statements
