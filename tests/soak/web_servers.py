"""The web servers of a soak test, each on a port of its own, and their upgrade."""

import signal
import urllib.request
from dataclasses import dataclass, field

from tests.faults.stack import Stack, reserved_port, wait_for

FIRST, UPGRADED_WORKER = "web", "worker-2"


@dataclass
class SoakStack(Stack):
    """A stack with a second web server, which upgrades exchange. `ports` are those that get requests.

    `unclean_stops` are the processes that upgrades could not stop in order.
    """

    ports: list[int] = field(default_factory=list)
    port_by_name: dict[str, int] = field(default_factory=dict)
    unclean_stops: list[str] = field(default_factory=list)
    upgrades: int = 0
    patience: float = 600
    starts_before: int = 0  # of the upgraded worker, before the last one

    def start(self, *names: str, arguments: str = "") -> None:
        """Start processes."""
        if UPGRADED_WORKER in names:
            self.starts_before = self.count_worker_starts()
        super().start(*names, arguments=arguments)

    def count_worker_starts(self) -> int:
        """Return how often the upgraded worker has begun to work."""
        log = self.folder / f"{UPGRADED_WORKER}.log"
        return log.read_text().count(f"{UPGRADED_WORKER}@test ready") if log.exists() else 0

    def port_of(self, name: str) -> int:
        """Return the port of a web server, which is the stack's own for the first one."""
        return self.port_by_name.setdefault(name, self.port if name == FIRST else reserved_port())

    @property
    def second(self) -> str:
        """The name of the web server that upgrades exchange."""
        return f"web-{self.upgrades}"

    def start_second(self) -> None:
        """Start the second web server, or its new version beside it; let it get the requests when it is ready."""
        self.start(self.second)
        wait_for(lambda: self.answers(self.second), seconds=self.patience)
        self.ports[:] = [self.port, self.port_of(self.second)]

    def ended_processes(self) -> list[str]:
        """Return the processes that have ended by themselves, and those that an upgrade could not end in order."""
        return [*super().ended_processes(), *self.unclean_stops]

    def answers(self, name: str) -> bool:
        """Return whether a web server is ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port_of(name)}/readyz", timeout=5) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def upgrade(self) -> bool:
        """Exchange a web server, the new one beside the old one, and a worker, as deploy/upgrade.sh does."""
        old = self.second
        self.upgrades += 1
        # Before that, SIGTERM would end it like any program.
        wait_for(lambda: self.count_worker_starts() > self.starts_before, seconds=self.patience)
        self.stop_in_order(UPGRADED_WORKER)
        self.start(UPGRADED_WORKER)
        self.start_second()
        self.stop_in_order(old)
        return True

    def stop_in_order(self, name: str) -> None:
        """Stop a process by SIGTERM; it ends the requests or jobs that it has begun."""
        self.processes[name].send_signal(signal.SIGTERM)
        code = self.wait_for_exit(name, seconds=self.patience)
        if code:
            self.unclean_stops.append(f"{name} ended with {code} after SIGTERM")
