"""Runs blocking database calls in threads, because Django connections are thread-local."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, Protocol, TypeVar

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, Error, close_old_connections, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

P = ParamSpec("P")
T = TypeVar("T")


class Executor(Protocol):
    """Runs a function that would block the event loop, and awaits its result."""

    async def run(self, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the function's result, or raise its exception."""


class ThreadPool:
    """Up to `max_threads` threads with one connection each, started when they are needed."""

    def __init__(self, max_threads: int) -> None:
        self.connections: list[BaseDatabaseWrapper] = []
        self.executor = ThreadPoolExecutor(max_threads, "outbox-database", initializer=self._init_thread)

    def _init_thread(self) -> None:
        # Remembered here, because a thread's connection can't be reached from another thread.
        self.connections.append(connections[DEFAULT_DB_ALIAS])

    async def run(self, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in the next free thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.executor, lambda: run_on_fresh_connection(func, *args, **kwargs))

    def shutdown(self) -> None:
        """Wait for the calls that are running, then close the connections."""
        self.executor.shutdown()
        for thread_connection in self.connections:
            thread_connection.inc_thread_sharing()  # its own thread has ended, so this one may close it
            thread_connection.close()


class CallerThread:
    """Runs everything in the thread that waits for the event loop, on that thread's connection."""

    async def run(self, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function in that thread."""
        return await sync_to_async(func, thread_sensitive=True)(*args, **kwargs)


def run_on_fresh_connection(func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `func` after dropping stale connections; drop the connection if it fails."""
    close_old_connections()
    try:
        return func(*args, **kwargs)
    except Error:
        # After a failover the old connection may lead to a server that is read-only now; a new one would not.
        connection.close()
        raise
