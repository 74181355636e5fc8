"""The memory of the processes that live through the whole run, after the warm-up and at the end."""

import statistics
import threading
from dataclasses import dataclass, field

import psutil

from dev.local.processes import wait_until
from tests.faults.stack import Stack
from tests.soak.fault_injection import web_processes

SAMPLE_SECONDS = 1.0
MAX_GROWTH = 0.10
# The first thousands of requests fill a new process's threads, statements and caches. A shorter run measures just that.
MIN_SECONDS_TO_JUDGE = 300
MIB = 1024 * 1024


@dataclass
class MemorySamples:
    """Samples of a process's memory: what it shares with no other (`uss`), or all of it (`rss`)."""

    process: psutil.Process
    measure: str = "uss"
    samples: list[int] = field(default_factory=list)

    def add_sample(self) -> None:
        """Measure the process once more."""
        self.samples.append(getattr(self.process.memory_full_info(), self.measure))

    @property
    def first(self) -> float:
        """The median of the first tenth of the samples, in MiB."""
        return statistics.median(self.samples[: self.tenth]) / MIB

    @property
    def middle(self) -> float:
        """The median of all samples, in MiB."""
        return statistics.median(self.samples) / MIB

    @property
    def last(self) -> float:
        """The median of the last tenth of the samples, in MiB."""
        return statistics.median(self.samples[-self.tenth :]) / MIB

    @property
    def tenth(self) -> int:
        """A tenth of the number of samples, at least 1."""
        return max(1, len(self.samples) // 10)

    @property
    def growth(self) -> float:
        """The growth from `first` to `last`; 0.1 means 10 %."""
        return self.last / self.first - 1

    @property
    def is_flat(self) -> bool:
        """True if the growth is acceptable, or the run was too short to tell."""
        return self.growth <= MAX_GROWTH or len(self.samples) * SAMPLE_SECONDS < MIN_SECONDS_TO_JUDGE


def sample_memory(stack: Stack, warm_up: float, stop: threading.Event) -> dict[str, MemorySamples]:
    """Wait for the warm-up, then measure the processes that are no longer killed, until `stop` is set."""
    stop.wait(warm_up)
    # On a slow machine the web server may still be starting after it was killed.
    wait_until(lambda: stop.is_set() or ("web" in stack.processes and len(web_processes(stack)) == stack.web_workers))
    processes = {name: psutil.Process(stack.processes[name].pid) for name in ("web", "worker-1")}
    # The fault injector kills the newer web processes only.
    processes["web process"] = web_processes(stack)[0]
    memory = {name: MemorySamples(process) for name, process in processes.items()}
    # The web processes are copies of the server, which shares less with them the more they change, without growing.
    memory["web"].measure = "rss"
    while not stop.wait(SAMPLE_SECONDS):
        for samples in memory.values():
            samples.add_sample()
    return memory
