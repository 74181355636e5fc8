"""Measures the product and a baseline in alternating rounds and compares their medians with a target."""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Measurement = Callable[[], float]  # runs one round and returns its figure

TABLE_HEAD = "| operation | product | baseline | ratio | target | met |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Scale:
    """How much data a run uses, and how long it measures."""

    appointments: int  # in the large database
    round_seconds: float
    rounds: int
    requests_per_round: int  # where response times are measured instead of throughput
    memory_requests: int
    events: int
    delivery_rounds: int


FULL = Scale(
    appointments=1_000_000,
    round_seconds=1.5,
    rounds=5,
    requests_per_round=40,
    memory_requests=20_000,
    events=3_000,
    delivery_rounds=5,
)
QUICK = Scale(
    appointments=50_000,
    round_seconds=0.4,
    rounds=5,
    requests_per_round=15,
    memory_requests=1_000,
    events=1_000,
    delivery_rounds=1,
)


@dataclass(frozen=True)
class Target:
    """A limit for the ratio of the product's figure to the baseline's. Create it with `at_least` or `at_most`."""

    operator: str
    limit: float

    def is_met(self, ratio: float) -> bool:
        """Return whether the ratio is within the limit."""
        return ratio >= self.limit if self.operator == "≥" else ratio <= self.limit

    def __str__(self) -> str:
        return f"{self.operator} {self.limit:g}"


def at_least(limit: float) -> Target:
    """Return a target for throughput, where more is better."""
    return Target("≥", limit)


def at_most(limit: float) -> Target:
    """Return a target for times and memory, where less is better."""
    return Target("≤", limit)


@dataclass(frozen=True)
class Samples:
    """The figures of one side, one for each round."""

    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def __str__(self) -> str:
        """Format the median and the range, such as "379 (343 to 389)"."""
        digits = 0 if self.median >= 100 else 2
        return f"{self.median:,.{digits}f} ({min(self.values):,.{digits}f} to {max(self.values):,.{digits}f})"


@dataclass(frozen=True)
class Comparison:
    """One row of the table."""

    operation: str
    unit: str
    product: Samples
    baseline_name: str
    baseline: Samples
    target: Target

    @property
    def ratio(self) -> float:
        """The product's median divided by the baseline's."""
        return self.product.median / self.baseline.median

    @property
    def is_met(self) -> bool:
        """Whether the ratio meets the target."""
        return self.target.is_met(self.ratio)


def compare(
    operation: str,
    unit: str,
    product: Measurement,
    baseline_name: str,
    baseline: Measurement,
    target: Target,
    scale: Scale,
) -> Comparison:
    """Measure both sides in alternating rounds and return the comparison."""
    product_values: list[float] = []
    baseline_values: list[float] = []
    for number in range(scale.rounds):
        # Alternating, and with a different side first each time, so that a machine that becomes slower or faster
        # during the run affects both sides equally.
        if number % 2 == 0:
            product_values.append(product())
            baseline_values.append(baseline())
        else:
            baseline_values.append(baseline())
            product_values.append(product())
    return Comparison(operation, unit, Samples(product_values), baseline_name, Samples(baseline_values), target)


def table_row(comparison: Comparison) -> str:
    """Return the comparison as a row of the Markdown table."""
    cells = [
        comparison.operation,
        f"{comparison.product} {comparison.unit}",
        f"{comparison.baseline_name}: {comparison.baseline}",
        f"{comparison.ratio:.2f}",
        str(comparison.target),
        "yes" if comparison.is_met else "**no**",
    ]
    return f"| {' | '.join(cells)} |"


def write_json(path: Path, comparisons: list[Comparison]) -> None:
    """Write the table with the figures of every round."""
    rows = [
        {
            "operation": comparison.operation,
            "unit": comparison.unit,
            "product": comparison.product.median,
            "baseline_name": comparison.baseline_name,
            "baseline": comparison.baseline.median,
            "ratio": round(comparison.ratio, 3),
            "target": str(comparison.target),
            "is_met": comparison.is_met,
            "rounds": {"product": comparison.product.values, "baseline": comparison.baseline.values},
        }
        for comparison in comparisons
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
