"""Two cells behind a proxy, as docs/scaling.md describes them: an organization moves from one to the other."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from appointments.models import Appointment
from dev.local import processes
from organizations.models import ApiKey, Organization
from tests.commands.runner import run_subprocess
from tests.conftest import MEASUREMENTS
from tests.databases import connected_to
from tests.docs.pages import blocks
from tests.factories import make_api, make_organization
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.moving.rows import tables_with
from tests.programs import find_program
from webhooks.models import Event
from webhooks.services import add_endpoint

pytestmark = pytest.mark.django_db(transaction=True)
CLIENTS = 8
PAUSE_SECONDS = 0.1
WRITES = 40
RELOAD_SECONDS = 5  # until the proxy's former configuration takes no more requests
SITE = """{{
	admin unix//{folder}/admin.sock
	auto_https off
	storage file_system {folder}/storage
}}
http://127.0.0.1:{port} {{
	{map}
	reverse_proxy {{cell}}
}}
"""


class Proxy(Stack):
    """Caddy with the map of docs/scaling.md; requests that are sent through it go to one of the cells."""

    def run(self, first: int) -> None:
        [block] = [block for block in blocks("text") if block.page == "docs/scaling.md" and block.heading == "Cells"]
        text = block.text.replace("127.0.0.1:8000", f"127.0.0.1:{first}")
        text = text.replace("/etc/caddy", str(self.folder))
        (self.folder / "moved").mkdir()
        (self.folder / "Caddyfile").write_text(SITE.format(folder=self.folder, port=self.port, map=text))
        self.caddy("run", "proxy")
        wait_for(lambda: self.get("/readyz")[0] == 200)

    def send_to(self, port: int, keys: list[str]) -> None:
        """Send requests with these keys to the other cell from now on."""
        lines = [f"~^pb_{key}_ 127.0.0.1:{port}\n" for key in keys]
        (self.folder / "moved" / "acme").write_text("".join(lines))
        self.caddy("reload", "reload", "--address", f"unix//{self.folder}/admin.sock")
        assert self.wait_for_exit("reload") == 0

    def caddy(self, command: str, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = processes.start(
                [find_program("caddy"), command, "--config", "Caddyfile", "--adapter", "caddyfile", *arguments],
                cwd=self.folder,
                env={"PATH": os.defpath, "HOME": str(self.folder)},
                stdout=log,
                stderr=log,
            )


@dataclass
class Clients:
    """Clients that book, each booking until it is accepted, and a copy that follows the events list."""

    proxy: Stack
    key: str
    stop: threading.Event = field(default_factory=threading.Event)
    statuses: Counter[int] = field(default_factory=Counter)
    refused_at: list[float] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)

    def book(self, number: int) -> None:
        count = 0
        while not self.stop.wait(PAUSE_SECONDS):
            reference, count = f"{number}-{count}", count + 1
            while self.send(reference) not in (200, 201):
                time.sleep(PAUSE_SECONDS)
            self.accepted.append(reference)

    def send(self, reference: str) -> int:
        started = time.monotonic()
        response = self.proxy.send_booking(self.key, external_reference=reference)
        self.statuses[response.status] += 1
        if response.status == 503:
            assert response.headers["retry-after"] == "5"
            self.refused_at.append(started)
        return response.status

    def follow(self) -> None:
        while not self.stop.wait(PAUSE_SECONDS):
            self.copy()

    def copy(self) -> int:
        """Read the next page of events; return how many the copy has."""
        after = f"after={self.copied[-1]}&" if self.copied else ""
        status, answer = self.proxy.get(f"/api/external/events?{after}limit=100", self.key)
        assert status in (200, 503), (status, answer)
        if status == 200:
            self.copied += [event["id"] for event in answer["data"]]
        return len(self.copied)


@contextmanager
def working(clients: Clients) -> Iterator[None]:
    """Let the clients work during the block; raise what they raised."""
    with ThreadPoolExecutor(CLIENTS + 1) as pool:
        futures = [pool.submit(clients.book, number) for number in range(CLIENTS)] + [pool.submit(clients.follow)]
        try:
            yield
        finally:
            clients.stop.set()
    for future in futures:
        future.result()


def wait_for_writes(clients: Clients) -> None:
    target = len(clients.accepted) + WRITES
    wait_for(lambda: len(clients.accepted) >= target)


def test_an_organization_moves_while_clients_book_and_nothing_is_lost_or_sent_twice(
    cell: str, tmp_path: Path, settings: Any
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    organization = make_organization("Acme")
    folders = [tmp_path / name for name in ("first", "second", "proxy")]
    for folder in folders:
        folder.mkdir()
    file = [tmp_path / "acme.export", "--key-file", tmp_path / "acme.key"]
    # The first cell may be asked by another organization's clients meanwhile, whom nothing refuses.
    other = make_api(make_organization("Globex"))
    with (
        FastReceiver(tmp_path) as receiver,
        Stack(folders[0]) as first,
        Stack(folders[1]) as second,
        Proxy(folders[2]) as proxy,
    ):
        add_endpoint(organization=organization, url=receiver.url("ok"))
        clients = Clients(proxy, str(make_api(organization).key))
        for stack in (first, second):
            stack.settings["RATE_LIMIT_PER_MINUTE"] = "1000000"
        second.settings |= {"DATABASE_URL": cell, "FIELD_ENCRYPTION_KEYS": other_key()}
        first.start("web", "worker")
        second.start("web", "worker")
        proxy.run(first.port)

        with working(clients):
            wait_for_writes(clients)
            started = time.monotonic()
            succeed(run_subprocess("export_organization", "Acme", *file, "--pause"))
            exported = time.monotonic()
            environment = {name: second.settings[name] for name in ("DATABASE_URL", "FIELD_ENCRYPTION_KEYS")}
            succeed(run_subprocess("import_organization", *file, **environment))
            imported = time.monotonic()
            proxy.send_to(second.port, list(ApiKey.objects.of(organization).values_list("key_id", flat=True)))
            moved = time.monotonic()
            wait_for_writes(clients)
            other_status = proxy.book(str(other.key))[0]
            succeed(run_subprocess("delete_organization", "Acme", "--confirm"))
            wait_for_writes(clients)
        with connected_to(cell):
            rows = Appointment.objects.of(organization)
            stored = sorted(rows.values_list("external_reference", flat=True))
            rows = Event.objects.of(organization).order_by("transaction", "id")
            events = [str(id) for id in rows.values_list("id", flat=True)]
        wait_for(lambda: clients.copy() >= len(events))
        wait_for(lambda: len(receiver.arrivals()) >= len(events))
        delivered = Counter(arrival.id for arrival in receiver.arrivals())

    MEASUREMENTS["a move with clients"] = (
        f"{len(clients.refused_at)} requests refused in {moved - started:.1f} s (export {exported - started:.1f} s, "
        f"import {imported - exported:.1f} s), {len(clients.accepted)} bookings"
    )
    assert clients.statuses.keys() == {201, 503}
    assert started < min(clients.refused_at)
    assert max(clients.refused_at) < moved + RELOAD_SECONDS
    assert stored == sorted(clients.accepted)
    assert clients.copied == events
    assert delivered == Counter(events)
    assert other_status == 201
    assert tables_with({str(organization.pk)}) == {}
    assert [organization.name for organization in Organization.objects.all()] == ["Globex"]


def other_key() -> str:
    """Return the second cell's key, which is another one than the first's."""
    key = "c2Vjb25kLWNlbGwtb25seS1mb3ItdGVzdHMtMTIzNDU="
    assert key not in django_settings.FIELD_ENCRYPTION_KEYS
    return key


def succeed(result: Any) -> None:
    assert result.returncode == 0, result.stderr
