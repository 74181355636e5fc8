"""Pages: `page` and `limit` in, the pagination object out (interface 2.11, decision 6)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from pipeline_backend.api.exceptions import Invalid

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
MAX_PAGE = 2**53 - 1  # the largest whole number that every JSON reader keeps exact


@dataclass(frozen=True)
class Page:
    """Which part of a list is wanted."""

    number: int
    limit: int

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Page":
        """Read the two parameters, or 400 naming the bad ones."""
        return cls(**read_numbers(query, {"page": ("number", 1, MAX_PAGE), "limit": ("limit", DEFAULT_LIMIT, MAX_LIMIT)}))

    def cut(self, rows: QuerySet[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The ids on this page, and the pagination object."""
        total = rows.count()
        start = (self.number - 1) * self.limit
        ids = list(rows.values_list("pk", flat=True)[start : start + self.limit]) if start < total else []
        return ids, self.describe(total)

    def describe(self, total: int) -> dict[str, Any]:
        """The pagination object."""
        pages = -(-total // self.limit)
        return {
            "page": self.number,
            "limit": self.limit,
            "total": total,
            "totalPages": pages,
            "hasNext": self.number < pages,
            "hasPrev": self.number > 1,
        }


def read_numbers(query: Mapping[str, str], wanted: dict[str, tuple[str, int, int]]) -> dict[str, int]:
    """Whole numbers of the query by their keyword: `{parameter: (keyword, default, most)}`."""
    found: dict[str, int] = {}
    bad: dict[str, list[str]] = {}
    for name, (keyword, default, most) in wanted.items():
        text = query.get(name, str(default))
        if re.fullmatch(r"[0-9]{1,16}", text) and 1 <= int(text) <= most:
            found[keyword] = int(text)
        else:
            bad[name] = [f"must be a whole number from 1 to {most}"]
    if bad:
        raise Invalid(bad)
    return found
