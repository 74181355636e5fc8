"""Mixed traffic for a while, with faults all along; then what was promised is counted."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pipeline_backend.local import processes
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack
from tests.soak.clients import CLIENTS, Client, Journal
from tests.soak.memory import Memory, watch
from tests.soak.mischief import Mischief

ORGANIZATIONS = 4
SETTINGS = {"RATE_LIMIT_PER_MINUTE": "1000000", "DELIVERY_DEADLINE_SECONDS": "3", "DELIVERY_LEASE_SECONDS": "8"}
WARM_UP = 1 / 3  # of the time
QUIET_SECONDS = 6.0  # without faults before anything is measured or counted
SETTLE_SECONDS = 120


@dataclass
class Outcome:
    """What the clients did, what was done to the stack, and what each surviving process held of the memory."""

    seconds: float
    journal: Journal
    survived: Counter[str]
    memories: dict[str, Memory]
    ended: list[str]


def soak(stack: Stack, inbox: FastReceiver, *, seconds: float) -> Outcome:
    """Run it all on this stack, of which nothing but Redis is started yet, until every event has had its time to arrive."""
    stack.settings |= SETTINGS
    stack.web_workers = 2
    keys = open_organizations(inbox)
    stack.start("web", "worker-1", "worker-2", "beat")
    clients = [Client(number, stack.port, keys[number % ORGANIZATIONS]) for number in range(CLIENTS)]
    started, warm = time.monotonic(), WARM_UP * seconds
    mischief = Mischief(
        stack, pause=max(3.0, seconds / 60), steady_at=started + warm / 2, until=started + seconds - QUIET_SECONDS
    )
    is_over = threading.Event()
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        working = [pool.submit(client.work, is_over) for client in clients]
        watching = pool.submit(watch, stack, warm, is_over)
        try:
            mischief.run()  # in this thread: what is started dies with the thread that started it
            time.sleep(QUIET_SECONDS)
        finally:
            is_over.set()
        took = time.monotonic() - started
        for work in working:
            work.result()
    processes.wait_until(all_events_received(inbox), SETTLE_SECONDS)
    ended = [name for name, part in stack.processes.items() if part.poll() is not None]
    return Outcome(took, total(clients), mischief.survived, watching.result(), ended)


def open_organizations(inbox: FastReceiver) -> list[str]:
    """Each with an endpoint for all events; their keys."""
    organizations = [make_organization(f"Org{number}") for number in range(ORGANIZATIONS)]
    for one in organizations:
        make_endpoint(one, inbox.url(f"ok/{one.pk}"))
    return [str(make_api(one).key) for one in organizations]


def total(clients: list[Client]) -> Journal:
    """What all of them have seen."""
    journal = Journal()
    for client in clients:
        journal.add(client.journal)
    return journal
