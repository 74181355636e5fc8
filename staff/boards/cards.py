"""The columns of a board, and the cards in them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.http import QueryDict
from django.utils import timezone
from django.utils.formats import date_format

from foundation.db.timestamps import now
from statuses.models import Status, StatusRole, readable_colors

PAGE_SIZE = 25  # of a column at once
MAX_CARDS = 1_000  # of a board at once: with more than 40 columns, each begins with fewer, but with five
MAX_COUNT = 1_000  # beyond it, a count is "1,000+", and cards are not loaded
ROLE_ORDER = {role.value: number for number, role in enumerate(StatusRole)}


@dataclass(frozen=True)
class Card:
    """A row on the board. `position` is its id and its status's, so that a move notices an earlier one."""

    title: str
    url: str
    lines: list[str]
    since: datetime
    limit: int | None
    position: str
    is_movable: bool

    @property
    def days(self) -> int:
        return max(0, (now() - self.since).days)

    @property
    def is_late(self) -> bool:
        return self.limit is not None and self.days > self.limit


@dataclass
class Column:
    status: Status | None
    row_count: int
    ids: list[UUID]
    list_url: str
    parameters: QueryDict  # of the board's address
    offset: int = 0
    column_count: int = 1  # of the board

    def __post_init__(self) -> None:
        self.cards: list[Card] = []
        self.text_color, self.bg_color = readable_colors(self.status) if self.status else ("", "")
        self.key = str(self.status.pk) if self.status else ""
        self.name = self.status.name if self.status else "No outcome"
        self.is_target = self.status is not None and self.status.is_active  # of moves
        self.count = f"{MAX_COUNT:,}+" if self.row_count > MAX_COUNT else f"{self.row_count:,}"
        self.page_size = min(PAGE_SIZE, max(5, MAX_CARDS // self.column_count))
        self.has_more = len(self.ids) > self.page_size

    @property
    def more_url(self) -> str:
        """The address of the next cards, or an empty text if only the list has them."""
        parameters, offset = self.parameters.copy(), self.offset + self.page_size
        parameters["layout"], parameters["column"], parameters["offset"] = "board", self.key, str(offset)
        return f"?{parameters.urlencode()}" if offset < MAX_COUNT else ""


def board_order(status: Status) -> tuple[int, int, str]:
    """Return the key that sorts a board's columns: by position, then in the order of a sale, then by name."""
    return status.position, ROLE_ORDER.get(status.role, 0), status.name.casefold()


def short_time(at: datetime) -> str:
    """Return the time as a card shows it: with weekday, and with the year unless it is this one."""
    local = timezone.localtime(at)
    return date_format(local, "D j M, H:i" if local.year == timezone.localdate().year else "DATETIME_FORMAT")
