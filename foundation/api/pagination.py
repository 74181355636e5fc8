"""Query parameters of lists, and the `pagination` object (docs/interface.md, G23, G24, G26, G49 to G54)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.http import QueryDict

from foundation.api.exceptions import MAX_QUOTED_NAME

DEFAULT_LIMIT = 10
DEFAULT_ORDERING = "-created_at"
MAX_LIMIT = 100
MAX_PAGE = 2**53 - 1  # the largest whole number that every JSON reader keeps exact
MAX_UNKNOWN = 3  # unknown parameters that an error names, so that it stays short
START = "start"  # the cursor of the first page
# The parameters that every list has beside its filters, and whether they may be repeated.
PAGE_PARAMETERS = {"page": False, "limit": False, "cursor": False, "count": False}

Errors = dict[str, list[str]]  # messages by parameter
PageRow = tuple[UUID, datetime | str | None]  # id and sort key
Description = dict[str, int | bool | str | None]


class Position(NamedTuple):
    """The row after which a page begins, as text that PostgreSQL reads. None sorts last."""

    sort_key: str | None
    id: str


@dataclass(frozen=True)
class Page:
    number: int
    limit: int
    is_counted: bool = True
    # Signs the cursors of a list in its order; None if the request has no cursor.
    signer: Signer | None = None
    after: Position | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str], list_name: str) -> tuple["Page", Errors]:
        number, number_errors = parse_integer(query, "page", default=1, max_value=MAX_PAGE)
        limit, limit_errors = parse_integer(query, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
        errors = number_errors | limit_errors
        count = query.get("count", "").strip() or "true"
        if count not in ("true", "false"):
            errors["count"] = ["must be true or false"]
        if "cursor" not in query:
            return cls(number, limit, count == "true"), errors
        signer = Signer(salt=f"cursor {list_name} {query.get('ordering', '').strip() or DEFAULT_ORDERING}")
        after = None
        if "page" in query:
            errors["cursor"] = ["can't be given together with page"]
        elif query["cursor"] != START:
            try:
                number, *position = signer.unsign_object(query["cursor"])
                after = Position(*position)
            except BadSignature:
                errors["cursor"] = [f"must be {START} or the nextCursor of a page of this list in the same order"]
        return cls(number, limit, count == "true", signer, after), errors

    @property
    def offset(self) -> int:
        return 0 if self.signer else (self.number - 1) * self.limit

    def describe(self, total: int | None, *, has_next: bool, last: PageRow | None = None) -> Description:
        """Describe the page, which ends with the row `last`; a `total` of None was not counted."""
        description: Description = {
            "page": self.number,
            "limit": self.limit,
            "total": total,
            "totalPages": total if total is None else count_pages(total, self.limit),
            "hasNext": has_next,
            "hasPrev": self.number > 1,
        }
        if self.signer:
            description["nextCursor"] = self.next_cursor(self.signer, *last) if has_next and last else None
        return description

    def next_cursor(self, signer: Signer, id: UUID, sort_key: datetime | str | None) -> str:
        key = sort_key.isoformat() if isinstance(sort_key, datetime) else sort_key
        return str(signer.sign_object([self.number + 1, key, str(id)], compress=True))


def count_pages(total: int, limit: int) -> int:
    return -(-total // limit)  # rounded up


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
