"""Pagination: the `page` and `limit` parameters, and the `pagination` object (docs/interface.md, G23 and G24)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
MAX_PAGE = 2**53 - 1  # the largest whole number that every JSON reader keeps exact

Errors = dict[str, list[str]]  # messages by parameter


@dataclass(frozen=True)
class Page:
    """The page of a list that a request asks for; `number` begins at 1."""

    number: int
    limit: int

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple["Page", Errors]:
        """Return the page that the query parameters ask for, and the errors in them."""
        number, number_errors = parse_integer(query, "page", default=1, max_value=MAX_PAGE)
        limit, limit_errors = parse_integer(query, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
        return cls(number, limit), number_errors | limit_errors

    @property
    def offset(self) -> int:
        """The number of rows before the page."""
        return (self.number - 1) * self.limit

    def describe(self, total: int) -> dict[str, int | bool]:
        """Return the `pagination` object for a list of `total` rows."""
        pages = -(-total // self.limit)  # rounded up
        return {
            "page": self.number,
            "limit": self.limit,
            "total": total,
            "totalPages": pages,
            "hasNext": self.number < pages,
            "hasPrev": self.number > 1,
        }


def parse_integer(query: Mapping[str, str], name: str, *, default: int, max_value: int) -> tuple[int, Errors]:
    """Return the parameter's whole number from 1 to `max_value`, and the errors in it."""
    text = query.get(name, str(default))
    # Not `int` alone, which also accepts " 5", "+5", "1_0" and the digits of other scripts.
    if re.fullmatch(r"[0-9]{1,16}", text) and 1 <= int(text) <= max_value:
        return int(text), {}
    return default, {name: [f"must be a whole number from 1 to {max_value}"]}
