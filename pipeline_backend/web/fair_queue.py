"""A queue that serves all clients in turn."""

from collections import deque
from queue import SimpleQueue
from threading import Lock
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """A queue from which each waiting client's oldest item is taken in turn.

    A client that puts in thousands of items at once delays every other client by one item, not by thousands.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.waiting: dict[str, deque[Item]] = {}  # in the order in which the clients' turns come
        self.count: SimpleQueue[None] = SimpleQueue()  # holds one element for each item, for `get` to wait for

    def put(self, client: str, item: Item) -> None:
        """Add an item of a client."""
        with self.lock:
            self.waiting.setdefault(client, deque()).append(item)
        self.count.put(None)

    def get(self) -> Item:
        """Remove and return the next item; wait until there is one."""
        self.count.get()
        with self.lock:
            client = next(iter(self.waiting))
            items = self.waiting.pop(client)
            item = items.popleft()
            if items:
                self.waiting[client] = items  # at the end
        return item
