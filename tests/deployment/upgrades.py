"""Runs deploy/upgrade.sh on a server of the tests, whose services are processes, while clients book."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import psycopg

from tests.client import booking_payload
from tests.databases import superuser_url
from tests.deployment import proxies
from tests.deployment.server import SECONDS, VERSIONS, Server
from tests.faults.stack import reserved_port, wait_for

# Together about twenty bookings a second: some are under way at each restart, and the processor starts services.
CLIENTS, PAUSE_SECONDS = 3, 0.15
PORTS = {"pipeline-web": "8000", "pipeline-web2": "8001"}
# As on a server, but shorter.
SETTINGS = {"DRAIN_SECONDS": "1", "RATE_LIMIT_PER_MINUTE": "1000000"}
CADDY = {"keepalive 3s": "keepalive 500ms", "health_interval 1s": "health_interval 200ms"}
SCRIPTS = {
    # git clone --quiet --branch NAME ADDRESS FOLDER copies the running version.
    "git": """[ "$1" != clone ] || { mkdir "$6"; cd "{code}"; cp -R $(ls -A | grep -vx -e .env -e .venv) "$6"; }""",
    # python3 -m venv .venv; the packages are those of the tests.
    "python3": """mkdir -p .venv/bin; printf '#!/bin/sh\\nexec {python} "$@"\\n' > .venv/bin/python
ln -s /bin/true .venv/bin/pip; chmod +x .venv/bin/python""",
    # systemctl restart NAME: the test does it.
    "systemctl": 'echo "$2" > {folder}/restart; read -r answer < {folder}/restarted',
}


@dataclass
class Bookings:
    """What clients have sent, each booking once, and the answers other than 201."""

    sent: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


class Upgrades:
    """Two web servers and a worker behind a proxy, which `run` exchanges as the page says."""

    def __init__(self, server: Server, kind: str) -> None:
        self.server = server
        self.ports = {name: reserved_port() for name in PORTS}
        self.prepare_commands()
        for name in (*PORTS, "pipeline-worker"):
            self.start(name)
        wait_for(lambda: all(map(self.is_ready, PORTS)), seconds=SECONDS)
        changes = CADDY if kind == "caddy" else {}
        self.proxy = proxies.start(server, kind, "upgrades", *self.ports.values(), changes=changes)

    def prepare_commands(self) -> None:
        folder, commands = self.server.folder, self.server.commands
        for name, script in SCRIPTS.items():
            (commands / name).unlink(missing_ok=True)
            text = script.replace("{code}", str(self.server.code)).replace("{folder}", str(folder))
            (commands / name).write_text(f"#!/bin/sh\n{text.replace('{python}', sys.executable)}\n")
            (commands / name).chmod(0o755)
        script = self.server.code / "deploy/upgrade.sh"
        text = script.read_text().replace("sleep 3", "sleep 0.6").replace("sleep 1", "sleep 0.1")
        for name, port in PORTS.items():
            text = text.replace(f"{name} {port}", f"{name} {self.ports[name]}")
        script.write_text(text)
        os.mkfifo(folder / "restart")
        os.mkfifo(folder / "restarted")
        threading.Thread(target=self.restart_services, daemon=True).start()

    def restart_services(self) -> None:
        """Restart what the script names. The thread never ends, because its processes would end with it."""
        while True:
            name = (self.server.folder / "restart").read_text().strip()
            self.process(name).terminate()
            self.process(name).wait(SECONDS)
            self.start(name)
            (self.server.folder / "restarted").write_text("done\n")

    def start(self, name: str) -> None:
        unit = self.server.unit(name)
        command = [self.server.place(part) for part in unit.command]
        if name in PORTS:
            command[command.index(PORTS[name])] = str(self.ports[name])
        metrics = {"METRICS_ADDRESS": f"127.0.0.1:{reserved_port()}"}
        self.server.start(f"upgraded-{name}", command, self.server.variables(unit) | SETTINGS | metrics)

    def process(self, name: str) -> "subprocess.Popen[bytes]":
        return self.server.running[f"upgraded-{name}"]

    def is_ready(self, name: str) -> bool:
        connection = proxies.PlainConnection(self.ports[name])
        try:
            connection.request("GET", "/livez", headers={"Host": "localhost"})
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def run(self, argument: str) -> None:
        self.server.run([str(self.server.code / "deploy/upgrade.sh"), argument])

    def versions(self) -> set[str]:
        """Return the folders, below that of all versions, whose code the services run."""
        folders = [os.readlink(f"/proc/{self.process(name).pid}/cwd") for name in (*PORTS, "pipeline-worker")]
        return {folder.partition(f"{VERSIONS}/")[2] for folder in folders}

    def stored(self) -> list[str]:
        """Return the references of all stored bookings of the clients, in their order."""
        query = "SELECT external_reference FROM appointments_appointment WHERE external_reference LIKE 'upgrade-%'"
        url = superuser_url(os.environ["DATABASE_URL"])
        with psycopg.connect(url, dbname=self.server.name) as connection:
            return sorted(reference for (reference,) in connection.execute(query).fetchall())

    @contextmanager
    def bookings(self, key: str) -> Iterator[Bookings]:
        """Book, each client on one connection, until the end of the block. No request is repeated."""
        bookings, numbers, stop = Bookings(), count(), threading.Event()

        def book() -> None:
            connection = self.proxy.connect()
            while not stop.wait(PAUSE_SECONDS):
                reference = f"upgrade-{next(numbers)}"
                bookings.sent.append(reference)
                body = json.dumps(booking_payload(external_reference=reference))
                headers = {"X-Api-Key": key, "Content-Type": "application/json"}
                try:
                    connection.request("POST", "/api/external/appointments", body, headers)
                    answer = proxies.read(connection.getresponse())
                    if answer.status != 201:
                        bookings.failed.append(f"{time.ctime()} {answer.status} {answer.body}")
                except OSError as error:
                    bookings.failed.append(f"{time.ctime()} {error!r}")
                    connection.close()  # the next request opens it again
            connection.close()

        clients = [threading.Thread(target=book) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        yield bookings
        stop.set()
        for client in clients:
            client.join(SECONDS)
