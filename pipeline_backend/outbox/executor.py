"""Where an event loop has its database asked: in threads, since Django's connections belong to threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, Error, close_old_connections, connection, connections

T = TypeVar("T")


class Executor(Protocol):
    """Runs what must not hold up the loop."""

    async def ask(self, question: Callable[..., T], *given: Any) -> T:
        """The question's answer."""


class ThreadPool:
    """Threads with a connection each, started when they are needed."""

    def __init__(self, most: int) -> None:
        self.connections: list[Any] = []
        self.executor = ThreadPoolExecutor(most, "desk", initializer=self.begin)

    def begin(self) -> None:
        """A thread's connection, to be closed with the others."""
        self.connections.append(connections[DEFAULT_DB_ALIAS])

    async def ask(self, question: Callable[..., T], *given: Any) -> T:
        """Asked in the next free thread."""
        return await asyncio.get_running_loop().run_in_executor(
            self.executor, run_on_fresh_connection, question, *given
        )

    def end(self) -> None:
        """Wait for what is still being asked; close the connections."""
        self.executor.shutdown()
        for one in self.connections:
            one.inc_thread_sharing()  # it was another thread's
            one.close()


class CallerThread:
    """The thread that waits for the loop, and its connection."""

    async def ask(self, question: Callable[..., T], *given: Any) -> T:
        """Asked there."""
        return await sync_to_async(question, thread_sensitive=True)(*given)


def run_on_fresh_connection(question: Callable[..., T], *given: Any) -> T:
    """The question's answer, on a connection that is usable."""
    close_old_connections()
    try:
        return question(*given)
    except Error:
        connection.close()  # it may lead to a server that takes no writes any more, where a new one would not
        raise
