"""The order in which requests get threads: limits and turns by organization, person and client address.

Each request belongs to a group: an organization, a person with several organizations, or a client address. One group's
requests delay those of another by a few requests, however many there are (docs/decisions/0008).
"""

from collections import deque
from collections.abc import Collection
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
    """How a request's sender is known: by a key or session, by a browser that has signed in before, or not.

    FILE is a page that takes long, such as an export, of a sender who is identified.
    """

    IDENTIFIED = "identified"
    FILE = "file"
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

    def get(self, busy: Collection[str]) -> tuple[str, Item]:
        """Remove and return the next item whose client isn't busy, with the client."""
        client = next(client for client in self.by_client if client not in busy)
        items = self.by_client.pop(client)
        if len(items) > 1:
            self.by_client[client] = items  # at the end
        self.size -= 1
        return client, items.popleft()

    def size_of(self, client: str) -> int:
        return len(self.by_client.get(client, ()))


@dataclass
class Kind(Generic[Item]):
    """A group's pages, files or other requests. In flight are those that have a thread or get the next free one.

    `busy` has the clients with a page in flight: the next one of a person waits for it, as long as it takes.
    """

    most: int
    in_flight: int = 0
    waiting: ClientQueue[Item] = field(default_factory=ClientQueue)
    busy: set[str] = field(default_factory=set)

    @property
    def is_ready(self) -> bool:
        """Whether a request of a client that isn't busy waits."""
        return len(self.waiting.by_client) > sum(client in self.waiting.by_client for client in self.busy)


class Group(Generic[Item]):
    """The requests of a group."""

    def __init__(self, half: int) -> None:
        # One page of `half` is left to other groups.
        self.pages, self.files, self.others = Kind[Item](max(1, half - 1)), Kind[Item](1), Kind[Item](half)

    def kind_of(self, turn: Turn) -> Kind[Item]:
        """Return the kind of the request."""
        if not turn.is_page:
            return self.others
        return self.files if turn.sender is Sender.FILE else self.pages

    @property
    def in_flight(self) -> int:
        """The number of its requests in flight, of all kinds."""
        return self.pages.in_flight + self.files.in_flight + self.others.in_flight

    @property
    def is_empty(self) -> bool:
        """Whether it has no request."""
        return not (self.in_flight or any(kind.waiting.size for kind in (self.pages, self.files, self.others)))


class Turns(Generic[Item]):
    """A queue of requests for threads. All methods take constant time, and any thread may call them.

    A group has at most half as many requests in flight as there are threads, and so have all pages together. But a
    group's first page doesn't wait for its other requests, nor the reverse: slow pages never stop the API. A group's
    pages leave a thread for pages to other groups, and a person has one in flight. Files have one thread beside those
    of pages; with less than four threads they are pages. Pages of known browsers without a session, and those of
    strangers, each have at most half of the pages' threads and waiting places.
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
            group = self.groups.get(turn.group) or Group(self.half)
            kind = group.kind_of(turn)
            can_start = not kind.is_ready and turn.client not in kind.busy and self.has_place(group, kind)
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
                self.start(turn)
            return None

    def finish(self, turn: Turn) -> None:
        with self.lock:
            group = self.groups[turn.group]
            kind = group.kind_of(turn)
            kind.in_flight -= 1
            kind.busy.discard(turn.client)
            self.pages_in_flight[turn.sender] -= turn.is_page
            if group.others.waiting.size and self.has_place(group, group.others):
                self.start(turn._replace(is_page=False))
            # It may have lost its turn for lack of a place.
            if group.pages.waiting.size:
                sender = Sender.IDENTIFIED if turn.sender is Sender.FILE else turn.sender
                self.page_groups[sender].setdefault(turn.group)
            if group.files.waiting.size:
                self.page_groups[Sender.FILE].setdefault(turn.group)
            self.start_pages()
            if group.is_empty:
                del self.groups[turn.group]

    def has_place(self, group: Group[Item], kind: Kind[Item]) -> bool:
        """Return whether the group may have one more request of the kind in flight."""
        return not kind.in_flight or (kind.in_flight < kind.most and group.in_flight < self.half)

    def has_page_place(self, sender: Sender) -> bool:
        """Return whether one more page may be in flight."""
        pages, files = sum(self.pages_in_flight.values()), self.pages_in_flight[Sender.FILE]
        if self.half > 1:
            if sender is Sender.FILE:
                return not files
            pages -= files
        if pages >= self.half:
            return False
        is_identified = sender in (Sender.IDENTIFIED, Sender.FILE)
        return is_identified or self.pages_in_flight[sender] < self.max_pages_without_session

    def start_pages(self) -> None:
        """Start waiting pages while there are places; the kinds of senders take turns."""
        while True:
            for sender in self.senders:
                if self.page_groups[sender] and self.has_page_place(sender):
                    break
            else:
                return
            name = next(iter(self.page_groups[sender]))
            group, turn = self.groups[name], Turn(name, "", True, sender)
            kind = group.kind_of(turn)
            if kind.is_ready and self.has_place(group, kind):
                self.start(turn)
                self.senders.remove(sender)
                self.senders.append(sender)
            else:
                del self.page_groups[sender][name]  # until the group finishes a request

    def start(self, turn: Turn) -> None:
        """Give the next request of the turn's group and kind to the threads."""
        kind = self.groups[turn.group].kind_of(turn)
        client, item = kind.waiting.get(kind.busy)
        self.ready.put(item)
        kind.in_flight += 1
        if turn.is_page:
            kind.busy.add(client)
            self.waiting_pages[turn.sender] -= 1
            self.pages_in_flight[turn.sender] += 1
            del self.page_groups[turn.sender][turn.group]
            if kind.waiting.size:
                self.page_groups[turn.sender][turn.group] = None  # at the end

    def refusal(self, turn: Turn, kind: Kind[Item]) -> Refusal | None:
        own, of_group = kind.waiting.size_of(turn.client), kind.waiting.size
        if turn.is_page:
            group = self.groups.get(turn.group)
            of_group = group.pages.waiting.size + group.files.waiting.size if group else 0
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
        if sender in (Sender.IDENTIFIED, Sender.FILE):
            return free
        return min(free, MAX_WAITING_PAGES // 2 - self.waiting_pages[sender])
