"""Query parameters of lists, and the `pagination` object (docs/interface.md, G23, G24 and G26)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

from foundation.api.exceptions import MAX_QUOTED_NAME

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
MAX_PAGE = 2**53 - 1  # the largest whole number that every JSON reader keeps exact
MAX_UNKNOWN = 3  # unknown parameters that an error names, so that it stays short

Errors = dict[str, list[str]]  # messages by parameter


@dataclass(frozen=True)
class Page:
    number: int
    limit: int

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> tuple["Page", Errors]:
        number, number_errors = parse_integer(query, "page", default=1, max_value=MAX_PAGE)
        limit, limit_errors = parse_integer(query, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
        return cls(number, limit), number_errors | limit_errors

    @property
    def offset(self) -> int:
        return (self.number - 1) * self.limit

    def describe(self, total: int) -> dict[str, int | bool]:
        pages = -(-total // self.limit)  # rounded up
        return {
            "page": self.number,
            "limit": self.limit,
            "total": total,
            "totalPages": pages,
            "hasNext": self.number < pages,
            "hasPrev": self.number > 1,
        }


def read_parameters(query: QueryDict, accepted: Mapping[str, bool]) -> tuple[dict[str, str], Errors]:
    """Return the value of each parameter, and the errors in their names and number.

    `accepted` says of each parameter whether it may be repeated: its values are then joined by commas.
    """
    values = {
        name: ",".join(dict.fromkeys(filter(str.strip, query.getlist(name)))) for name in query if name in accepted
    }
    repeated = [name for name in values if len(query.getlist(name)) > 1 and not accepted[name]]
    # Caches and trackers add parameters such as `_`. A parameter without a name says nothing.
    unknown = [name[:MAX_QUOTED_NAME] for name in query if name not in accepted and name[:1] not in {"", "_"}]
    error = f"is not a parameter of this list, which accepts: {', '.join(accepted)}"
    errors = {name: [error] for name in unknown[:MAX_UNKNOWN]}
    return values, errors | {name: ["must be given only once"] for name in repeated}


def parse_integer(query: Mapping[str, str], name: str, *, default: int, max_value: int) -> tuple[int, Errors]:
    text = query.get(name, str(default))
    # Not `int` alone, which also accepts " 5", "+5", "1_0" and the digits of other scripts.
    if re.fullmatch(r"[0-9]{1,16}", text) and 1 <= int(text) <= max_value:
        return int(text), {}
    return default, {name: [f"must be a whole number from 1 to {max_value}"]}
