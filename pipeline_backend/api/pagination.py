"""Pages: `page` and `limit` in, the pagination object out (interface 2.11, decision 6)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
MAX_PAGE = 2**53 - 1  # the largest whole number that every JSON reader keeps exact


@dataclass(frozen=True)
class Page:
    """Which part of a list is wanted."""

    number: int
    limit: int

    @classmethod
    def read(cls, query: Mapping[str, str]) -> tuple["Page", dict[str, list[str]]]:
        """The page that the two parameters ask for, and what is wrong with them."""
        number, bad_number = read_number(query, "page", default=1, most=MAX_PAGE)
        limit, bad_limit = read_number(query, "limit", default=DEFAULT_LIMIT, most=MAX_LIMIT)
        return cls(number, limit), bad_number | bad_limit

    @property
    def start(self) -> int:
        """How many rows come before it."""
        return (self.number - 1) * self.limit

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


def read_number(query: Mapping[str, str], name: str, *, default: int, most: int) -> tuple[int, dict[str, list[str]]]:
    """The parameter's whole number from 1 to `most`, and what is wrong with it."""
    text = query.get(name, str(default))
    if re.fullmatch(r"[0-9]{1,16}", text) and 1 <= int(text) <= most:
        return int(text), {}
    return default, {name: [f"must be a whole number from 1 to {most}"]}
