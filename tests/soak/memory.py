"""What the processes that live all the time hold of the memory, warmed up and at the end."""

import statistics
import threading
from dataclasses import dataclass, field

import psutil

from tests.faults.stack import Stack
from tests.soak.mischief import web_processes

SAMPLE_SECONDS = 1.0
GROWTH = 0.10
# Threads, statements and caches of a new process are filled by its first thousands of requests; a shorter look sees just that.
JUDGED_SECONDS = 300
MIB = 1024 * 1024


@dataclass
class Memory:
    """A process's memory that is its own, sample by sample."""

    process: psutil.Process
    samples: list[int] = field(default_factory=list)

    def look(self) -> None:
        """One more sample."""
        self.samples.append(self.process.memory_full_info().uss)

    @property
    def first(self) -> float:
        """In MiB, the middle of the first tenth."""
        return statistics.median(self.samples[: self.tenth]) / MIB

    @property
    def middle(self) -> float:
        """In MiB, the middle of all."""
        return statistics.median(self.samples) / MIB

    @property
    def last(self) -> float:
        """In MiB, the middle of the last tenth."""
        return statistics.median(self.samples[-self.tenth :]) / MIB

    @property
    def tenth(self) -> int:
        return max(1, len(self.samples) // 10)

    @property
    def growth(self) -> float:
        """As a share of what it was."""
        return self.last / self.first - 1

    @property
    def is_flat(self) -> bool:
        """Within a tenth, if it was looked at for long enough to tell."""
        return self.growth <= GROWTH or len(self.samples) * SAMPLE_SECONDS < JUDGED_SECONDS


def watch(stack: Stack, warm_up: float, is_over: threading.Event) -> dict[str, Memory]:
    """Wait until all is warm, then sample the processes that nobody kills from then on, until the end."""
    is_over.wait(warm_up)
    processes = {name: psutil.Process(stack.processes[name].pid) for name in ("web", "worker-1", "beat")}
    memories = {
        name: Memory(process) for name, process in {**processes, "web process": web_processes(stack)[0]}.items()
    }
    while not is_over.wait(SAMPLE_SECONDS):
        for memory in memories.values():
            memory.look()
    return memories
