"""The order in which requests get threads: limits and turns by organization, person and client address.

Each request belongs to a group: an organization, a person with several organizations, or the network of a client
address; known browsers there are a group of their own. One group's requests delay those of another by a few requests,
however many there are (docs/decisions/0008).
"""

from collections import deque
from collections.abc import Callable
from enum import Enum
from queue import SimpleQueue
from threading import Lock
from typing import Generic, NamedTuple, TypeVar


class Sender(Enum):
    """How a request's sender is known: by a key or session, by a browser that has signed in before, or not.

    FILE is a page of an identified sender that takes long, such as an export. SIGN_IN is a stranger's sign-in, which
    waits for password hashing.
    """

    IDENTIFIED = "identified"
    FILE = "file"
    BROWSER = "browser"
    STRANGER = "stranger"
    SIGN_IN = "sign-in"


STRANGERS = (Sender.STRANGER, Sender.SIGN_IN)
# Pages that wait, per process. These are few, because a page is useless once its reader has stopped waiting. A group
# has at most half of the places of each kind, and a client ten.
WAITING_PLACES = dict.fromkeys(Sender, 50) | {Sender.IDENTIFIED: 100, Sender.FILE: 100}
MAX_WAITING_PAGES_OF_CLIENT = 10
# Other requests of an organization: 100 at once are not unusual, such as retries of one booking.
MAX_WAITING_REQUESTS_OF_GROUP = 400
MAX_WAITING_REQUESTS_OF_CLIENT = 200


class Turn(NamedTuple):
    group: str
    client: str
    is_page: bool = False
    sender: Sender = Sender.STRANGER

    @property
    def kind(self) -> Sender | None:
        """The kind of page; None for everything else."""
        return self.sender if self.is_page else None


class Refusal(Enum):
    """Why a request may not wait; the values are the metrics' names of these limits."""

    TOO_MANY_PAGES = "waiting-pages"
    TOO_MANY_REQUESTS = "requests-at-once"


Item = TypeVar("Item")


class Requests(Generic[Item]):
    """A group's requests of one kind. In flight are those that have a thread or get the next free one."""

    def __init__(self) -> None:
        self.in_flight = 0
        # Clients with a page in flight: the next one of a person waits for it, as long as it takes.
        self.busy: set[str] = set()
        self.waiting: dict[str, deque[Item]] = {}  # by client, in the order of their turns
        self.size = 0  # of those that wait

    @property
    def is_ready(self) -> bool:
        """Whether a request of a client that isn't busy waits."""
        return len(self.waiting) > sum(client in self.waiting for client in self.busy)

    def put(self, client: str, item: Item) -> None:
        self.waiting.setdefault(client, deque()).append(item)
        self.size += 1

    def get(self) -> tuple[str, Item]:
        """Remove the next item whose client isn't busy; return the client and the item."""
        client = next(client for client in self.waiting if client not in self.busy)
        items = self.waiting.pop(client)
        if len(items) > 1:
            self.waiting[client] = items  # at the end
        self.size -= 1
        return client, items.popleft()

    def remove_last(self) -> Item:
        # The newest one of the client with the most.
        client = max(reversed(self.waiting), key=lambda client: len(self.waiting[client]))
        item = self.waiting[client].pop()
        if not self.waiting[client]:
            del self.waiting[client]
        self.size -= 1
        return item


class Turns(Generic[Item]):
    """A queue of requests for threads. The time that a method takes is bounded, and any thread may call it.

    A group has at most half as many requests in flight as there are threads, and so have all pages together. But a
    group's first page doesn't wait for its other requests, nor the reverse: slow pages never stop the API. A group's
    pages leave a thread for pages to other groups, and a person has one in flight. Files have one thread beside those
    of pages; with less than four threads they are pages. Pages of known browsers without a session, and those of
    strangers, each have at most half of the pages' threads. Each kind of page has waiting places of its own; when they
    are full, a page of the group with the most gives way to one of a smaller group, and `give_up` is called with it.
    """

    def __init__(self, threads: int, give_up: Callable[[Item], None]) -> None:
        self.half = max(1, threads // 2)
        self.give_up = give_up
        self.lock = Lock()
        # Items without a thread; or threads without an item, the one that was last in use at the end. It is the next:
        # its database connection has prepared its statements.
        self.ready: deque[Item] = deque()
        self.idle: list[SimpleQueue[Item]] = []
        # By kind (None is for all that are no pages) and group, in the order of the groups' turns.
        self.requests: dict[Sender | None, dict[str, Requests[Item]]] = {kind: {} for kind in (None, *Sender)}
        self.pages_in_flight = dict.fromkeys(Sender, 0)
        self.senders = deque(Sender)  # in the order of their turns

    def get(self) -> Item:
        with self.lock:
            if self.ready:
                return self.ready.popleft()
            own: SimpleQueue[Item] = SimpleQueue()
            self.idle.append(own)
        return own.get()

    def put(self, turn: Turn, item: Item) -> Refusal | None:
        with self.lock:
            requests = self.requests[turn.kind].get(turn.group) or Requests[Item]()
            can_start = not requests.is_ready and turn.client not in requests.busy
            can_start = can_start and self.has_place(turn.kind, turn.group, requests)
            can_start = can_start and (not turn.is_page or self.has_page_place(turn.sender))
            if not can_start and (refusal := self.refusal(turn, requests)):
                return refusal
            self.requests[turn.kind][turn.group] = requests
            requests.put(turn.client, item)
            if can_start:
                self.start(turn.kind, turn.group)
            return None

    def finish(self, turn: Turn) -> None:
        with self.lock:
            groups = self.requests[turn.kind]
            requests = groups.pop(turn.group)
            requests.in_flight -= 1
            requests.busy.discard(turn.client)
            self.pages_in_flight[turn.sender] -= turn.is_page
            if requests.in_flight or requests.size:
                groups[turn.group] = requests  # at the end: others have waited for this one
            others = self.requests[None].get(turn.group)
            if others and others.size and self.has_place(None, turn.group, others):
                self.start(None, turn.group)
            while any(self.start_page(sender) for sender in tuple(self.senders)):
                pass

    def is_busy(self) -> bool:
        """Return whether more than one request is in flight or waits."""
        with self.lock:
            groups = (group for groups in self.requests.values() for group in groups.values())
            return sum(group.in_flight + group.size for group in groups) > 1

    def has_place(self, kind: Sender | None, group: str, requests: Requests[Item]) -> bool:
        """Return whether the group may have another of these requests, of this kind, in flight."""
        if not requests.in_flight:
            return True
        # One page of `half` is left to other groups.
        most = self.half if kind is None else 1 if kind is Sender.FILE else max(1, self.half - 1)
        in_flight = sum(groups[group].in_flight for groups in self.requests.values() if group in groups)
        return requests.in_flight < most and in_flight < self.half

    def has_page_place(self, sender: Sender) -> bool:
        """Return whether another page of this kind, of any group, may be in flight."""
        in_flight = self.pages_in_flight
        pages, files = sum(in_flight.values()), in_flight[Sender.FILE]
        if self.half > 1:
            if sender is Sender.FILE:
                return not files
            pages -= files
        if pages >= self.half:
            return False
        alike = STRANGERS if sender in STRANGERS else (sender,)
        return sender is Sender.IDENTIFIED or sum(in_flight[each] for each in alike) < max(1, self.half // 2)

    def start_page(self, sender: Sender) -> bool:
        """Start a waiting page of this kind, and return True, if there is a place; the kinds of senders take turns."""
        groups = self.requests[sender]
        if not groups or not self.has_page_place(sender):
            return False
        ready = [name for name, each in groups.items() if each.is_ready and self.has_place(sender, name, each)]
        if not ready:
            return False
        # First a group with the fewest in flight, such as none: two groups can't keep all places from a third.
        self.start(sender, min(ready, key=lambda group: groups[group].in_flight))
        self.senders.remove(sender)
        self.senders.append(sender)
        return True

    def start(self, kind: Sender | None, group: str) -> None:
        requests = self.requests[kind].pop(group)
        self.requests[kind][group] = requests  # at the end
        client, item = requests.get()
        if self.idle:
            self.idle.pop().put(item)
        else:
            self.ready.append(item)
        requests.in_flight += 1
        if kind:
            requests.busy.add(client)
            self.pages_in_flight[kind] += 1

    def refusal(self, turn: Turn, requests: Requests[Item]) -> Refusal | None:
        """Return why the request may not wait. If only the places are full, another page gives way to it."""
        of_group = requests.size
        if not turn.is_page:
            of_client = len(requests.waiting.get(turn.client, ()))
            # A request without a known key is short: most are refused with 401, and so are not counted here.
            is_full = of_group >= MAX_WAITING_REQUESTS_OF_GROUP or of_client >= MAX_WAITING_REQUESTS_OF_CLIENT
            return Refusal.TOO_MANY_REQUESTS if is_full and turn.sender is Sender.IDENTIFIED else None
        places = WAITING_PLACES[turn.sender]
        waiting = self.requests[turn.sender].values()
        free = places - sum(each.size for each in waiting)
        # Of all groups: an account can have known browsers in many networks.
        of_client = sum(len(each.waiting.get(turn.client, ())) for each in waiting)
        # The last places are for clients that have none yet.
        if of_client >= min(MAX_WAITING_PAGES_OF_CLIENT, max(1, free // 4)):
            return Refusal.TOO_MANY_PAGES
        if of_group >= places // 2:
            if of_client or len(requests.waiting) == of_group:  # each client has one
                return Refusal.TOO_MANY_PAGES
            self.give_up(requests.remove_last())
        elif free <= 0:
            largest = max(waiting, key=lambda each: each.size)
            if largest.size <= of_group + 1:
                return Refusal.TOO_MANY_PAGES
            self.give_up(largest.remove_last())
        return None
