"""Two sides in turn, round after round: medians, their ratio, and whether it is as it must be."""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Measure = Callable[[], float]


@dataclass(frozen=True)
class Scale:
    """How large and how long: the whole run, or the quick one."""

    rows: int
    seconds: float
    rounds: int
    repeats: int
    memory_requests: int
    events: int
    delivery_rounds: int


WHOLE = Scale(
    rows=1_000_000, seconds=1.5, rounds=5, repeats=40, memory_requests=20_000, events=3_000, delivery_rounds=5
)
QUICK = Scale(rows=50_000, seconds=0.4, rounds=5, repeats=15, memory_requests=1_000, events=1_000, delivery_rounds=1)


@dataclass(frozen=True)
class Must:
    """A bound on the ratio."""

    sign: str
    bound: float

    def holds(self, ratio: float) -> bool:
        """Whether the ratio keeps it."""
        return ratio >= self.bound if self.sign == "≥" else ratio <= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


@dataclass(frozen=True)
class Side:
    """One side's rounds."""

    values: list[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    work: str
    unit: str
    ours: Side
    yardstick_name: str
    yardstick: Side
    must: Must

    @property
    def ratio(self) -> float:
        """Ours by the yardstick."""
        return self.ours.median / self.yardstick.median

    @property
    def holds(self) -> bool:
        """Whether it is as it must be."""
        return self.must.holds(self.ratio)


def compare(work: str, unit: str, ours: Measure, name: str, yardstick: Measure, must: Must, scale: Scale) -> Row:
    """Measure both sides in turn; who goes first changes with each round."""
    found: tuple[list[float], list[float]] = [], []
    for number in range(scale.rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            found[side].append((ours, yardstick)[side]())
    return Row(work, unit, Side(found[0]), name, Side(found[1]), must)


def line(row: Row) -> str:
    """A line of the Markdown table."""
    mark = "yes" if row.holds else "**no**"
    return f"| {row.work} | {show(row.ours)} {row.unit} | {row.yardstick_name}: {show(row.yardstick)} | {row.ratio:.2f} | {row.must} | {mark} |"


HEAD = "| work | ours | yardstick | ratio | must be | holds |\n|---|---|---|---|---|---|"


def show(side: Side) -> str:
    """The median and the spread."""
    digits = 0 if side.median >= 100 else 2
    return f"{side.median:,.{digits}f} ({min(side.values):,.{digits}f} to {max(side.values):,.{digits}f})"


def write(path: Path, rows: list[Row]) -> None:
    """The table as JSON, for machines."""
    told = [
        {
            "work": row.work,
            "unit": row.unit,
            "ours": row.ours.median,
            "yardstick": row.yardstick.median,
            "ratio": round(row.ratio, 3),
            "must": str(row.must),
            "holds": row.holds,
            "spread": {"ours": row.ours.values, "yardstick": row.yardstick.values},
            "yardstick_name": row.yardstick_name,
        }
        for row in rows
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
