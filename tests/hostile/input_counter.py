"""Counts the malicious and malformed inputs that the tests send: a line at the end of the run."""

from collections import Counter
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
    `{note_id}` by the id of a note that is added there.
    """

    def __init__(
        self, api: ApiClient, measurements: dict[str, str], lead_id: str = "", appointment_id: str = ""
    ) -> None:
        self.api, self.measurements, self.lead_id, self.appointment_id = api, measurements, lead_id, appointment_id
        endpoint = api.post("/api/external/webhook-endpoints", {"url": "https://hooks.example.com/operations"})
        self.endpoint_id = endpoint.json()["data"]["id"] if endpoint.status_code == 201 else ""
        paths = [f"/api/external/leads/{lead_id}/notes", f"/api/external/appointments/{appointment_id}/notes"]
        self.note_ids = [api.post(path, {"note": "A note"}).json()["data"]["id"] for path in paths]

    def send(self, operation: str, body: str | bytes, content_type: str = "application/json", **headers: str) -> Any:
        """Send a body exactly as it is, and return the response."""
        method, path = operation.split(" ")
        count_inputs(self.measurements, "bodies", 1)
        is_appointment = "/appointments/" in path
        id = self.appointment_id if is_appointment else self.lead_id
        if "/webhook-endpoints/{id}" in path:
            id = self.endpoint_id
        path = path.replace("{id}", id).replace("{note_id}", self.note_ids[is_appointment])
        return self.api.request(method, path, body, content_type, **headers)
