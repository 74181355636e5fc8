"""The order in which requests get threads: limits and turns by organization, person and client address.

Each request belongs to a group: an organization, a person with several organizations, or a client address. One group's
requests delay those of another by a few requests, however many there are (docs/decisions/0008).
"""

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from queue import SimpleQueue
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

# Per process. These are few, because a page is useless once its reader has stopped waiting.
MAX_WAITING_PAGES = 100
MAX_WAITING_PAGES_OF_GROUP = MAX_WAITING_PAGES // 2
MAX_WAITING_PAGES_OF_CLIENT = 10
# Other requests of an organization: 100 at once are not unusual, such as retries of one booking.
MAX_WAITING_REQUESTS_OF_GROUP = 400
MAX_WAITING_REQUESTS_OF_CLIENT = 200


class Sender(Enum):
    """How a request's sender is known: by a key or session, by a browser that has signed in before, or not."""

    IDENTIFIED = "identified"
    BROWSER = "browser"
    STRANGER = "stranger"


class Turn(NamedTuple):
    group: str
    client: str
    is_page: bool = False
    sender: Sender = Sender.STRANGER


class Refusal(Enum):
    """Why a request may not wait; the values are the metrics' names of these limits."""

    TOO_MANY_PAGES = "waiting-pages"
    TOO_MANY_REQUESTS = "requests-at-once"


Item = TypeVar("Item")


class ClientQueue(Generic[Item]):
    def __init__(self) -> None:
        self.by_client: dict[str, deque[Item]] = {}  # in the order in which the clients' turns come
        self.size = 0

    def put(self, client: str, item: Item) -> None:
        self.by_client.setdefault(client, deque()).append(item)
        self.size += 1

    def get(self) -> Item:
        client = next(iter(self.by_client))
        items = self.by_client.pop(client)
        if len(items) > 1:
            self.by_client[client] = items  # at the end
        self.size -= 1
        return items.popleft()

    def size_of(self, client: str) -> int:
        return len(self.by_client.get(client, ()))


@dataclass
class Kind(Generic[Item]):
    """A group's pages, or its other requests. In flight are those that have a thread or get the next free one."""

    in_flight: int = 0
    waiting: ClientQueue[Item] = field(default_factory=ClientQueue)


class Group(Generic[Item]):
    def __init__(self) -> None:
        self.pages, self.others = Kind[Item](), Kind[Item]()

    @property
    def in_flight(self) -> int:
        return self.pages.in_flight + self.others.in_flight

    @property
    def is_empty(self) -> bool:
        return not (self.in_flight or self.pages.waiting.size or self.others.waiting.size)


class Turns(Generic[Item]):
    """A queue of requests for threads. All methods take constant time, and any thread may call them.

    A group has at most half as many requests in flight as there are threads, and so have all pages together. But a
    group's first page doesn't wait for its other requests, nor the reverse: slow pages never stop the API. Pages of
    known browsers without a session, and those of strangers, each have at most half of the pages' threads and waiting
    places.
    """

    def __init__(self, threads: int) -> None:
        self.half = max(1, threads // 2)
        self.max_pages_without_session = max(1, self.half // 2)  # of each of the two kinds
        self.lock = Lock()
        self.groups: dict[str, Group[Item]] = {}
        self.ready: SimpleQueue[Item] = SimpleQueue()
        # The pages in flight, those that wait, and the groups of the latter in their turns.
        self.pages_in_flight = dict.fromkeys(Sender, 0)
        self.waiting_pages = dict.fromkeys(Sender, 0)
        self.page_groups: dict[Sender, dict[str, None]] = {sender: {} for sender in Sender}
        self.senders = deque(Sender)  # in the order of their turns

    def get(self) -> Item:
        return self.ready.get()

    def put(self, turn: Turn, item: Item) -> Refusal | None:
        with self.lock:
            group = self.groups.get(turn.group) or Group()
            kind = group.pages if turn.is_page else group.others
            can_start = not kind.waiting.size and self.has_place(group, kind)
            if can_start and turn.is_page:
                can_start = self.has_page_place(turn.sender)
            if not can_start and (refusal := self.refusal(turn, kind)):
                return refusal
            self.groups[turn.group] = group
            kind.waiting.put(turn.client, item)
            if turn.is_page:
                self.waiting_pages[turn.sender] += 1
                self.page_groups[turn.sender].setdefault(turn.group)
            if can_start:
                self.start(turn.group, turn.is_page, turn.sender)
            return None

    def finish(self, turn: Turn) -> None:
        with self.lock:
            group = self.groups[turn.group]
            (group.pages if turn.is_page else group.others).in_flight -= 1
            self.pages_in_flight[turn.sender] -= turn.is_page
            if group.others.waiting.size and self.has_place(group, group.others):
                self.start(turn.group, False, turn.sender)
            if group.pages.waiting.size:
                self.page_groups[turn.sender].setdefault(turn.group)  # it may have lost its turn for lack of a place
            self.start_pages()
            if group.is_empty:
                del self.groups[turn.group]

    def has_place(self, group: Group[Item], kind: Kind[Item]) -> bool:
        return not kind.in_flight or group.in_flight < self.half

    def has_page_place(self, sender: Sender) -> bool:
        if sum(self.pages_in_flight.values()) >= self.half:
            return False
        return sender is Sender.IDENTIFIED or self.pages_in_flight[sender] < self.max_pages_without_session

    def start_pages(self) -> None:
        while True:
            for sender in self.senders:
                if self.page_groups[sender] and self.has_page_place(sender):
                    break
            else:
                return
            name = next(iter(self.page_groups[sender]))
            group = self.groups[name]
            if self.has_place(group, group.pages):
                self.start(name, True, sender)
                self.senders.remove(sender)
                self.senders.append(sender)
            else:
                del self.page_groups[sender][name]  # until the group finishes a request

    def start(self, name: str, is_page: bool, sender: Sender) -> None:
        group = self.groups[name]
        kind = group.pages if is_page else group.others
        self.ready.put(kind.waiting.get())
        kind.in_flight += 1
        if is_page:
            self.waiting_pages[sender] -= 1
            self.pages_in_flight[sender] += 1
            del self.page_groups[sender][name]
            if kind.waiting.size:
                self.page_groups[sender][name] = None  # at the end

    def refusal(self, turn: Turn, kind: Kind[Item]) -> Refusal | None:
        own, of_group = kind.waiting.size_of(turn.client), kind.waiting.size
        if turn.is_page:
            free = self.free_places(turn.sender)
            # The last places are for clients that have none yet.
            of_client = min(MAX_WAITING_PAGES_OF_CLIENT, max(1, free // 4))
            is_full = free <= 0 or of_group >= MAX_WAITING_PAGES_OF_GROUP or own >= of_client
            return Refusal.TOO_MANY_PAGES if is_full else None
        # A request without a known key is short: most are refused with 401, and so are not counted here.
        is_full = of_group >= MAX_WAITING_REQUESTS_OF_GROUP or own >= MAX_WAITING_REQUESTS_OF_CLIENT
        return Refusal.TOO_MANY_REQUESTS if is_full and turn.sender is Sender.IDENTIFIED else None

    def free_places(self, sender: Sender) -> int:
        free = MAX_WAITING_PAGES - sum(self.waiting_pages.values())
        if sender is Sender.IDENTIFIED:
            return free
        return min(free, MAX_WAITING_PAGES // 2 - self.waiting_pages[sender])
