"""Counts the malicious and malformed inputs that the tests send: a line at the end of the run."""

from collections import Counter
from functools import cached_property
from typing import Any

from tests.client import ApiClient

MEASUREMENT = "hostile inputs tried"
# Inputs by kind: bodies, paths, queries, texts and so on.
COUNTS: Counter[str] = Counter()


def count_inputs(measurements: dict[str, str], kind: str, count: int) -> None:
    """Add inputs of one kind, and update the measurement."""
    COUNTS[kind] += count
    measurements[MEASUREMENT] = summary()


def summary() -> str:
    """Return the total, and the count of each kind."""
    by_kind = ", ".join(f"{kind} {count:,}" for kind, count in sorted(COUNTS.items()))
    return f"{COUNTS.total():,} ({by_kind})"


class OperationClient:
    """Sends bodies to operations named "METHOD /path", and counts them.

    `{id}` in a path is replaced by `lead_id` or `appointment_id`, or the id of an endpoint that is made for this, and
    `{note_id}` by the id of a note that is added there. `{source}` is a scheduler.
    """

    def __init__(
        self, api: ApiClient, measurements: dict[str, str], lead_id: str = "", appointment_id: str = ""
    ) -> None:
        self.api, self.measurements, self.lead_id, self.appointment_id = api, measurements, lead_id, appointment_id

    @cached_property
    def endpoint_id(self) -> str:
        return self.new_id("/api/external/webhook-endpoints", {"url": "https://hooks.example.com/operations"})

    @cached_property
    def lead_note_id(self) -> str:
        return self.new_id(f"/api/external/leads/{self.lead_id}/notes", {"note": "A note"})

    @cached_property
    def appointment_note_id(self) -> str:
        return self.new_id(f"/api/external/appointments/{self.appointment_id}/notes", {"note": "A note"})

    def new_id(self, path: str, body: dict[str, str]) -> str:
        return str(self.api.post(path, body).json()["data"]["id"])

    def send(self, operation: str, body: str | bytes, content_type: str = "application/json", **headers: str) -> Any:
        """Send a body exactly as it is, and return the response."""
        method, _ = operation.split(" ")
        count_inputs(self.measurements, "bodies", 1)
        return self.api.request(method, self.path_of(operation), body, content_type, **headers)

    def path_of(self, operation: str) -> str:
        """Return the operation's path with ids; the rows that it needs are there from then on."""
        path = operation.partition(" ")[2]
        is_appointment = "/appointments/" in path
        id = self.appointment_id if is_appointment else self.lead_id
        if "/webhook-endpoints/{id}" in path:
            id = self.endpoint_id
        if "{note_id}" in path:
            path = path.replace("{note_id}", self.appointment_note_id if is_appointment else self.lead_note_id)
        return path.replace("{id}", id).replace("{source}", "SCHEDULER_A")
