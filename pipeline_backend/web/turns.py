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

    def __init__(self, most: int) -> None:
        self.most = most  # in flight
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


class Group(Generic[Item]):
    def __init__(self, half: int) -> None:
        self.half = half
        self.kinds: dict[Sender | None, Requests[Item]] = {}

    def of_kind(self, kind: Sender | None) -> Requests[Item]:
        if kind not in self.kinds:
            # One page of `half` is left to other groups.
            most = self.half if kind is None else 1 if kind is Sender.FILE else max(1, self.half - 1)
            self.kinds[kind] = Requests(most)
        return self.kinds[kind]

    def has_place(self, requests: Requests[Item]) -> bool:
        if not requests.in_flight:
            return True
        in_flight = sum(each.in_flight for each in self.kinds.values())
        return requests.in_flight < requests.most and in_flight < self.half


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
        self.max_pages_without_session = max(1, self.half // 2)  # of known browsers, and of strangers
        self.give_up = give_up
        self.lock = Lock()
        self.groups: dict[str, Group[Item]] = {}
        self.ready: SimpleQueue[Item] = SimpleQueue()
        # The pages in flight, and the groups of those that wait, in their turns.
        self.pages_in_flight = dict.fromkeys(Sender, 0)
        self.page_groups: dict[Sender, dict[str, None]] = {sender: {} for sender in Sender}
        self.senders = deque(Sender)  # in the order of their turns

    def get(self) -> Item:
        return self.ready.get()

    def put(self, turn: Turn, item: Item) -> Refusal | None:
        with self.lock:
            group = self.groups.get(turn.group) or Group(self.half)
            requests = group.of_kind(turn.kind)
            can_start = not requests.is_ready and turn.client not in requests.busy and group.has_place(requests)
            if can_start and turn.is_page:
                can_start = self.has_page_place(turn.sender)
            if not can_start and (refusal := self.refusal(turn, requests)):
                return refusal
            self.groups[turn.group] = group
            requests.put(turn.client, item)
            if turn.is_page:
                self.page_groups[turn.sender].setdefault(turn.group)
            if can_start:
                self.start(turn.group, turn.kind)
            return None

    def finish(self, turn: Turn) -> None:
        with self.lock:
            group = self.groups[turn.group]
            requests = group.of_kind(turn.kind)
            requests.in_flight -= 1
            requests.busy.discard(turn.client)
            self.pages_in_flight[turn.sender] -= turn.is_page
            if turn.is_page:
                self.page_groups[turn.sender].pop(turn.group, None)  # to the end: others have waited for this page
            for kind, others in group.kinds.items():
                if kind and others.size:
                    self.page_groups[kind].setdefault(turn.group)  # it may have lost its turn for lack of a place
                elif others.size and group.has_place(others):
                    self.start(turn.group, None)
            self.start_pages()
            if not any(each.in_flight or each.size for each in group.kinds.values()):
                del self.groups[turn.group]

    def has_page_place(self, sender: Sender) -> bool:
        in_flight = self.pages_in_flight
        pages, files = sum(in_flight.values()), in_flight[Sender.FILE]
        if self.half > 1:
            if sender is Sender.FILE:
                return not files
            pages -= files
        if pages >= self.half:
            return False
        if sender in STRANGERS:
            return sum(in_flight[each] for each in STRANGERS) < self.max_pages_without_session
        return sender is not Sender.BROWSER or in_flight[sender] < self.max_pages_without_session

    def start_pages(self) -> None:
        """Start waiting pages while there are places; the kinds of senders take turns."""
        while True:
            for sender in self.senders:
                if self.page_groups[sender] and self.has_page_place(sender):
                    break
            else:
                return
            # First a group with the fewest in flight, such as none: two groups can't keep all places from a third.
            name = min(self.page_groups[sender], key=lambda name: self.groups[name].of_kind(sender).in_flight)
            group = self.groups[name]
            requests = group.of_kind(sender)
            if requests.is_ready and group.has_place(requests):
                self.start(name, sender)
                self.senders.remove(sender)
                self.senders.append(sender)
            else:
                del self.page_groups[sender][name]  # until the group finishes a request

    def start(self, name: str, kind: Sender | None) -> None:
        requests = self.groups[name].of_kind(kind)
        client, item = requests.get()
        self.ready.put(item)
        requests.in_flight += 1
        if kind:
            requests.busy.add(client)
            self.pages_in_flight[kind] += 1
            del self.page_groups[kind][name]
            if requests.size:
                self.page_groups[kind][name] = None  # at the end

    def refusal(self, turn: Turn, requests: Requests[Item]) -> Refusal | None:
        """Return why the request may not wait. If only the places are full, another page gives way to it."""
        of_group = requests.size
        if not turn.is_page:
            of_client = len(requests.waiting.get(turn.client, ()))
            # A request without a known key is short: most are refused with 401, and so are not counted here.
            is_full = of_group >= MAX_WAITING_REQUESTS_OF_GROUP or of_client >= MAX_WAITING_REQUESTS_OF_CLIENT
            return Refusal.TOO_MANY_REQUESTS if is_full and turn.sender is Sender.IDENTIFIED else None
        places = WAITING_PLACES[turn.sender]
        waiting = [group.kinds[turn.sender] for group in self.groups.values() if turn.sender in group.kinds]
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
