"""Injects faults while the clients work: kills processes, restarts Redis, starts again what a supervisor would start.

A long run brings more of them: upgrades, failovers of PostgreSQL and a full disk.
"""

import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping

import psutil

from tests.faults.stack import Stack

REDIS_DOWN_SECONDS = 1.5
KILLED_WORKER = "worker-2"
EXTRA_SECONDS = 120
Fault = Callable[[], bool]  # returns False if it did nothing


class FaultInjector:
    """Injects each kind of fault once per round, in a random order that is the same in each run.

    `injected` counts the faults by name. The web server as a whole is killed only before `steady_from`: from then on,
    the processes whose memory is measured stay alive.
    """

    def __init__(
        self, stack: Stack, *, pause: float, steady_from: float, until: float, more: Mapping[str, Fault]
    ) -> None:
        self.stack, self.pause, self.steady_from, self.until = stack, pause, steady_from, until
        self.faults: dict[str, Fault] = {
            "a worker killed": self.kill_worker,
            "a web process killed": self.kill_web_process,
            "Redis restarted": self.restart_redis,
            **more,
        }
        self.injected: Counter[str] = Counter()
        self.random = random.Random(0)

    def run(self) -> None:
        """Inject faults, with a pause before each, until the time is over and each kind has been possible."""
        while True:
            for name, inject in self.next_round():
                time.sleep(self.pause)
                # On a slow machine the first round can take longer than a short run.
                # All kinds are those of a round: the ones below and that of the web server.
                is_complete = len(+self.injected) > len(self.faults)
                if time.monotonic() > self.until + (0 if is_complete else EXTRA_SECONDS):
                    return
                started = time.monotonic()
                # A fault that wasn't possible counts as 0.
                self.injected[name] += inject()
                sys.stderr.write(f"{time.ctime()} {name}, {time.monotonic() - started:.1f} s\n")

    def next_round(self) -> list[tuple[str, Fault]]:
        """Return each fault with its name."""
        faults = [*self.faults.items()]
        return [("the web server killed", self.kill_web_server), *self.random.sample(faults, len(faults))]

    def kill_worker(self) -> bool:
        """Kill one of the two workers, whatever it is doing, and start it again."""
        self.stack.kill(KILLED_WORKER)
        self.stack.start(KILLED_WORKER)
        return True

    def kill_web_process(self) -> bool:
        """Kill the newer web process, which the server replaces. Do nothing if it hasn't replaced the last one yet."""
        _oldest, *newer = web_processes(self.stack)
        for process in newer:
            process.kill()
        return bool(newer)

    def kill_web_server(self) -> bool:
        """Kill the web server with all its processes and start it again, as long as none of them is measured."""
        if time.monotonic() > self.steady_from:
            return False
        self.stack.kill("web")
        self.stack.start("web")
        return True

    def restart_redis(self) -> bool:
        """Kill Redis and start it again, empty."""
        self.stack.stop_redis()
        time.sleep(REDIS_DOWN_SECONDS)
        self.stack.start_redis()
        return True


def web_processes(stack: Stack) -> list[psutil.Process]:
    """Return the web server's processes that answer requests, the oldest first."""
    workers = []
    for child in psutil.Process(stack.processes["web"].pid).children():
        # A child that was killed a moment ago has no command line.
        with contextlib.suppress(psutil.NoSuchProcess):
            # Python's multiprocessing adds a helper process, which answers no requests.
            if "resource_tracker" not in " ".join(child.cmdline()):
                workers.append(child)
    return sorted(workers, key=psutil.Process.create_time)
