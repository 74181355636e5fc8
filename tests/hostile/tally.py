"""How many bad inputs were tried: the figure at the end of the run."""

from collections import Counter
from typing import Any

NAME = "hostile inputs tried"
TRIED: Counter[str] = Counter()


def tried(measurements: dict[str, str], kind: str, count: int) -> None:
    """Add to a kind of input, and to the sum."""
    TRIED[kind] += count
    measurements[NAME] = total()


def total() -> str:
    """The sum, and how many of each kind."""
    return f"{TRIED.total():,} ({', '.join(f'{name} {number:,}' for name, number in sorted(TRIED.items()))})"


class Sender:
    """Sends one operation's bodies, and counts them."""

    def __init__(self, api: Any, measurements: dict[str, str], lead: str = "") -> None:
        self.api, self.measurements, self.lead = api, measurements, lead

    def send(self, call: str, body: str | bytes, content_type: str = "application/json", **headers: str) -> Any:
        """The answer."""
        method, path = call.split(" ")
        tried(self.measurements, "bodies", 1)
        return self.api.request(method, path.replace("{id}", self.lead), body, content_type, **headers)
