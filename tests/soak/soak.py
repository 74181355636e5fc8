"""The soak test: mixed traffic for a while, with faults all the time; `report` says what the service got wrong."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from django.db import connection

from dev.local import processes
from organizations.models import Organization
from tests.factories import make_api, make_organization
from tests.faults.backlog import make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack
from tests.soak.clients import CLIENT_COUNT, MAX_PAUSE_SECONDS, LoadClient, TrafficLog
from tests.soak.fault_injection import Fault, FaultInjector
from tests.soak.memory import MemorySamples, sample_memory
from tests.soak.staff import PAUSE_SECONDS, StaffLog, StaffMember
from tests.soak.verification import undelivered_events
from tests.soak.web_servers import SoakStack

ORGANIZATION_COUNT = 4
# Short deadlines and leases, so that deliveries interrupted by a kill are repeated within the run.
OVERRIDES = {"DELIVERY_DEADLINE_SECONDS": 6, "DELIVERY_LEASE_SECONDS": 13}
WARM_UP = 1 / 3  # of the run, before memory is measured
QUIET_SECONDS = 6.0  # without faults at the end of the run
ACTS = 240  # of each of the staff, in a long run
MIN_PAUSE, MAX_PAUSE = 3.0, 45.0  # seconds before each fault
DELIVERY_SECONDS = 300  # for the last events to arrive


@dataclass
class SoakResult:
    """What clients saw and staff did, which faults were injected, the measured memory, and which processes ended."""

    seconds: float
    traffic: TrafficLog
    injected_faults: Counter[str]
    memory: dict[str, MemorySamples]
    ended_processes: list[str]
    staff: StaffLog = field(default_factory=StaffLog)


def run_soak(
    stack: Stack, inbox: FastReceiver, *, seconds: float, max_rate: float = 0, more_faults: Mapping[str, Fault] = {}
) -> SoakResult:
    """Run clients and faults on a stack of which only Redis is started, and wait until all events have arrived.

    `max_rate` limits the clients' requests in a second.
    """
    clients, staff = start_service(stack, inbox, seconds=seconds, max_rate=max_rate)
    started, warm_up = time.monotonic(), WARM_UP * seconds
    faults = FaultInjector(
        stack,
        pause=max(MIN_PAUSE, min(MAX_PAUSE, seconds / 60)),
        steady_from=started + warm_up / 2,
        until=started + seconds - QUIET_SECONDS,
        more=more_faults,
    )
    stop = threading.Event()
    with ThreadPoolExecutor(CLIENT_COUNT + ORGANIZATION_COUNT + 1) as pool:
        client_futures = [pool.submit(person.run, stop) for person in [*clients, *staff]]
        memory_future = pool.submit(sample_memory, stack, warm_up, stop)
        try:
            # In this thread, because processes die with the thread that started them.
            faults.run()
            time.sleep(QUIET_SECONDS)
        finally:
            stop.set()
        elapsed = time.monotonic() - started
        for future in client_futures:
            future.result()  # raises the exception of a client or staff member, if any
    # Without an assertion: the report names the events that are missing.
    processes.wait_until(lambda: not undelivered_events(inbox), DELIVERY_SECONDS)
    ended = stack.ended_processes()
    log = StaffLog()
    for member in staff:
        log.add(member.log)
    return SoakResult(elapsed, merge_traffic(clients), faults.injected, memory_future.result(), ended, log)


def start_service(
    stack: Stack, inbox: FastReceiver, *, seconds: float, max_rate: float
) -> tuple[list[LoadClient], list[StaffMember]]:
    """Create organizations and start all processes; return the people that will use them."""
    stack.settings["RATE_LIMIT_PER_MINUTE"] = "1000000"
    stack.overrides |= OVERRIDES
    stack.web_workers = 2
    keys = create_organizations(inbox)
    stack.start("web", "worker-1", "worker-2")
    ports = [stack.port]
    if isinstance(stack, SoakStack):
        stack.start_second()
        ports = stack.ports
    max_pause = 2 * CLIENT_COUNT / max_rate if max_rate else MAX_PAUSE_SECONDS
    clients = [
        LoadClient(number, ports, keys[number % ORGANIZATION_COUNT], max_pause=max_pause)
        for number in range(CLIENT_COUNT)
    ]
    pause = max(PAUSE_SECONDS, seconds / ACTS)
    organizations = Organization.objects.order_by("name")
    staff = [StaffMember(number, row, stack.celery, pause=pause) for number, row in enumerate(organizations)]
    connection.close()  # a fault would end it
    return clients, staff


def create_organizations(inbox: FastReceiver, *, receiver: str = "ok") -> list[str]:
    """Create organizations with an endpoint for all events, and return an API key of each."""
    organizations = [make_organization(f"Org{number}") for number in range(ORGANIZATION_COUNT)]
    for organization in organizations:
        make_endpoint(organization, inbox.url(f"{receiver}/{organization.pk}"))
    return [str(make_api(organization).key) for organization in organizations]


def merge_traffic(clients: list[LoadClient]) -> TrafficLog:
    """Return what all clients have seen."""
    traffic = TrafficLog()
    for client in clients:
        traffic.add(client.traffic)
    return traffic
