"""The event types, each said in one line of its app's `events.py` (decision 30)."""

from dataclasses import dataclass
from functools import cache

from django.utils.module_loading import autodiscover_modules

from pipeline_backend.api.shapes import Shape

_registry: dict[str, "EventType"] = {}


@dataclass(frozen=True)
class EventType:
    """A kind of event: its name, the shape of its `data`, and a sentence for receivers."""

    name: str
    shape: type[Shape]
    summary: str

    def __post_init__(self) -> None:
        _registry[self.name] = self

    def __str__(self) -> str:
        return self.name


@cache
def event_types() -> dict[str, EventType]:
    """All of them, by name; found the way Django finds `admin.py`."""
    autodiscover_modules("events")
    return dict(sorted(_registry.items()))
