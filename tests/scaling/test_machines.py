"""Two web servers and three workers on separate machines: nothing is lost when machines fail.

What they share is the settings, PostgreSQL and Redis.
"""

import itertools
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from dev.local import processes
from foundation.outbox import State
from notifications.models import Notification
from organizations.models import ApiKey, Organization
from organizations.services import revoke_key
from tests.factories import make_api, make_member, make_organization
from tests.faults.booking_stream import all_events_received
from tests.faults.fast_receiver import FastReceiver
from tests.faults.mail_server import MailServer
from tests.faults.stack import wait_for
from tests.scaling.machines import Machines
from tests.soak.clients import LoadClient
from tests.soak.report import find_failures
from tests.soak.soak import SoakResult, create_organizations, merge_traffic

WEBS, WORKERS = ["web-1", "web-2"], ["worker-1", "worker-2", "worker-3"]
CLIENTS = 8
WRITES = 40  # accepted before the next machine fails
LIMIT, MIN_REMAINING = 10, 4  # requests a minute, and those of them that have to be counted without a break
SECONDS = 60  # for each wait: only a hang takes as long


@pytest.fixture
def machines(transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Machines]:
    """Start Redis; tests start the machines that they need."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    with Machines(tmp_path) as machines:
        # Deadlines that a busy computer keeps, and leases that end within the test.
        machines.overrides |= {"DELIVERY_DEADLINE_SECONDS": 6, "DELIVERY_LEASE_SECONDS": 13}
        machines.settings["WEBHOOKS_ALLOW_PRIVATE"] = "true"
        yield machines


def test_nothing_is_lost_when_one_of_two_web_servers_and_two_of_three_workers_end(
    machines: Machines, tmp_path: Path
) -> None:
    with MailServer() as mail_server, FastReceiver(tmp_path) as inbox:
        machines.settings |= {"RATE_LIMIT_PER_MINUTE": "1000000", "EMAIL_URL": f"smtp://127.0.0.1:{mail_server.port}"}
        # Receivers that take a while, so that workers are always sending when they are killed.
        keys = create_organizations(inbox, receiver="slow")
        machines.start(*WEBS, *WORKERS)
        machines.wait_until_ready(*WEBS, *WORKERS)
        ports = [machines.ports[name] for name in WEBS]
        clients = [LoadClient(number, ports, keys[number % len(keys)]) for number in range(CLIENTS)]

        seconds = run_with_failures(machines, clients)
        processes.wait_until(all_events_received(inbox), SECONDS)
        wait_for(lambda: not Notification.unscoped.filter(state=State.PENDING).exists(), seconds=SECONDS)

        ended = [name for name, process in machines.processes.items() if process.poll() is not None]
        result = SoakResult(seconds, merge_traffic(clients), Counter({"a worker killed": 1}), {}, ended)
        assert find_failures(result, inbox) == {}
        assert_mails(mail_server)
    # What a machine writes is temporary: the one that replaced web-1 had nothing of it.
    assert [file for file in machines.written_files() if file.parts[1] != "tmp"] == []


def run_with_failures(machines: Machines, clients: list[LoadClient]) -> float:
    """Let the clients work while machines are killed, stopped and replaced. Return the seconds."""
    stop, started = threading.Event(), time.monotonic()
    with ThreadPoolExecutor(len(clients)) as pool:
        futures = [pool.submit(client.run, stop) for client in clients]
        try:
            wait_for_writes(clients, WRITES)
            machines.kill("worker-1")
            machines.kill("web-1")
            wait_for_writes(clients, WRITES)
            machines.replace("web-1")
            machines.kill("worker-2", signal.SIGTERM)
            assert machines.wait_for_exit("worker-2", seconds=SECONDS) == 0
            machines.wait_until_ready("web-1")
            wait_for_writes(clients, WRITES)
        finally:
            stop.set()
        for future in futures:
            future.result()  # raises the client's exception, if any
    return time.monotonic() - started


def wait_for_writes(clients: list[LoadClient], count: int) -> None:
    """Wait until this many more writes are accepted."""

    def accepted() -> int:
        return sum(len(client.traffic.booked) + len(client.traffic.submitted) for client in clients)

    target = accepted() + count
    wait_for(lambda: accepted() >= target, seconds=SECONDS)


def assert_mails(mail_server: MailServer) -> None:
    """Assert that each e-mail has arrived, and at most one of each organization twice: that of the killed worker."""
    arrived = Counter(re.findall(r"^X-Notification-Id: (\S+)", "".join(text for _, text in mail_server.mails), re.M))
    assert arrived.keys() == {str(id) for id in Notification.unscoped.values_list("id", flat=True)} != set()
    assert arrived.total() - len(arrived) <= Organization.objects.count()


def test_web_servers_share_sessions_limits_and_keys(machines: Machines, settings: Any) -> None:
    # Not the tests' fast one, because the web servers don't know it.
    settings.PASSWORD_HASHERS = ["accounts.passwords.BoundedPBKDF2PasswordHasher"]
    organization = make_organization("Acme")
    make_member(organization, "hana@acme.example")
    machines.start(*WEBS)
    machines.wait_until_ready(*WEBS)

    # A page that the first has rendered is sent to the second, and the session that this starts is valid at the first.
    with requests.Session() as browser:
        page = browser.get(machines.address("web-1", "/admin/login/"), timeout=SECONDS).text
        form = {"username": "hana@acme.example", "password": "secret-of-tests", "csrfmiddlewaretoken": csrf_token(page)}
        login = machines.address("web-2", "/admin/login/")
        assert browser.post(login, form, allow_redirects=False, timeout=SECONDS).status_code == 302
        index = machines.address("web-1", "/admin/")
        assert browser.get(index, allow_redirects=False, timeout=SECONDS).status_code == 200

    organization.rate_limit_per_minute = LIMIT
    organization.save()
    key = str(make_api(organization).key)
    remaining = remaining_in_one_window(machines, key)
    assert remaining == list(reversed(range(len(remaining))))

    revoke_key(key=ApiKey.objects.of(organization).get())
    wait_for(lambda: [status_code(machines, name, key) for name in WEBS] == [401, 401], seconds=SECONDS)


def csrf_token(page: str) -> str:
    """Return the token of the form on the page."""
    match = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert match
    return match[1]


def remaining_in_one_window(machines: Machines, key: str) -> list[int]:
    """Use up the limit at both web servers in turn, and return what the responses say is left of it."""
    remaining: list[int] = []
    previous_end, stop_at = 0, time.monotonic() + 3 * SECONDS
    for name in itertools.cycle(WEBS):
        assert time.monotonic() < stop_at
        response = get_statuses(machines, name, key)
        if response.status_code == 429:
            if len(remaining) >= MIN_REMAINING:
                return remaining
            time.sleep(1)  # until the next window
            continue
        assert response.status_code == 200
        left, seconds = map(int, re.findall(r"[rt]=(\d+)", response.headers["RateLimit"]))
        # Begin anew in the next window, and after a request that Redis didn't count in time on a busy computer.
        if seconds > previous_end or left == LIMIT:
            remaining.clear()
        if left < LIMIT:
            remaining.append(left)
        previous_end = seconds
    raise AssertionError


def get_statuses(machines: Machines, name: str, key: str) -> requests.Response:
    """Request a list of a web server."""
    url = machines.address(name, "/api/external/statuses")
    return requests.get(url, headers={"X-Api-Key": key}, timeout=SECONDS)


def status_code(machines: Machines, name: str, key: str) -> int:
    return get_statuses(machines, name, key).status_code
