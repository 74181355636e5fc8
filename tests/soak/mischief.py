"""What breaks while the clients work, and what a supervisor does about it."""

import random
import time
from collections import Counter
from collections.abc import Callable

import psutil

from tests.faults.stack import Stack

REDIS_AWAY_SECONDS = 1.5
KILLED_WORKER = "worker-2"


class Mischief:
    """Kills and restarts in an order drawn by lot, each kind once in a round. `survived` counts them.

    Whole servers are killed only before `steady_at`: the processes that are measured live on from then.
    """

    def __init__(self, stack: Stack, *, pause: float, steady_at: float, until: float) -> None:
        self.stack, self.pause, self.steady_at, self.until = stack, pause, steady_at, until
        self.survived: Counter[str] = Counter()
        self.random = random.Random(0)

    def run(self) -> None:
        """Until it is time to let everything settle."""
        while True:
            for name, fault in self.round():
                time.sleep(self.pause)
                if time.monotonic() > self.until:
                    return
                self.survived[name] += fault()

    def round(self) -> list[tuple[str, Callable[[], bool]]]:
        """Each fault once."""
        faults = [
            ("a worker killed", self.kill_worker),
            ("a web process killed", self.kill_web_process),
            ("Redis restarted", self.restart_redis),
        ]
        return [("the web server killed", self.kill_web_server), *self.random.sample(faults, len(faults))]

    def kill_worker(self) -> bool:
        """In the middle of whatever it does."""
        self.stack.kill(KILLED_WORKER)
        self.stack.start(KILLED_WORKER)
        return True

    def kill_web_process(self) -> bool:
        """The newest, whose server starts another; not if that is still to come."""
        _oldest, *newer = web_processes(self.stack)
        for process in newer:
            process.kill()
        return bool(newer)

    def kill_web_server(self) -> bool:
        """With all its processes, while none of them is measured."""
        if time.monotonic() > self.steady_at:
            return False
        self.stack.kill("web")
        self.stack.start("web")
        return True

    def restart_redis(self) -> bool:
        """It comes back empty."""
        self.stack.stop_redis()
        time.sleep(REDIS_AWAY_SECONDS)
        self.stack.start_redis()
        return True


def web_processes(stack: Stack) -> list[psutil.Process]:
    """The web server's processes that answer requests, the oldest first."""
    children = psutil.Process(stack.processes["web"].pid).children()
    return sorted(
        (child for child in children if "resource_tracker" not in " ".join(child.cmdline())),
        key=psutil.Process.create_time,
    )
