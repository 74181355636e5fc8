"""An API client for tests: it authenticates with one key, sends JSON, and has a method for each common request."""

import gzip
import json
import time
from typing import Any

from django.db import connection
from django.test import Client

from tests.document import response_errors

EVENTS = "/api/external/events"
SCHEDULE_TIME = "2027-01-05T10:00:00.000Z"


class ApiClient:
    """A client with one API key. Requests return Django's test response: `status_code`, `headers`, `json()`."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        # Tests check the 500 that a client would get, so exceptions must not propagate into them.
        self.client = Client(raise_request_exception=False)

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        if path == EVENTS and not connection.in_atomic_block:
            wait_for_autovacuum()
        response = self.client.get(path, query or {}, headers=self._headers(headers))
        return as_documented("GET", path, response)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        return self.request("POST", path, json.dumps(body), **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Any:
        return self.request("PATCH", path, json.dumps(body), **headers)

    def put(self, path: str, body: Any, **headers: str) -> Any:
        return self.request("PUT", path, json.dumps(body), **headers)

    def delete(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.request("DELETE", path, **headers)

    def request(
        self, method: str, path: str, body: str | bytes = b"", content_type: str = "application/json", **headers: str
    ) -> Any:
        """Send the body exactly as given, valid JSON or not."""
        response = self.client.generic(method, path, body, content_type, headers=self._headers(headers))
        return as_documented(method, path.partition("?")[0], response)

    def _headers(self, extra: dict[str, str]) -> dict[str, str]:
        """Return the key's header and the extra ones; keyword `x_request_id` means the header `x-request-id`."""
        headers = {"x-api-key": self.key} if self.key is not None else {}
        return headers | {name.replace("_", "-"): value for name, value in extra.items()}

    def book(self, **fields: Any) -> Any:
        """Create an appointment from `booking_payload(**fields)`."""
        return self.post("/api/external/appointments", booking_payload(**fields))

    def reschedule(self, **fields: Any) -> Any:
        """Send a rescheduling; a keyword replaces a field."""
        body = {"external_reference": "ref-1", "schedule_time": "2027-01-06T11:00:00Z", **fields}
        return self.post("/api/external/appointments/reschedule", body)

    def cancel(self, **fields: Any) -> Any:
        """Cancel the appointment with the reference ref-1, unless another one is named."""
        return self.post("/api/external/appointments/cancel", {"external_reference": "ref-1", **fields})

    def submit(self, **fields: Any) -> Any:
        """Submit an opt-in from `opt_in_payload(**fields)`."""
        return self.post("/api/opt-in/submit", opt_in_payload(**fields))

    def get_data(self, path: str, query: dict[str, Any] | None = None) -> Any:
        """Read a path, assert that the response is 200, and return its `data`."""
        response = self.get(path, query)
        assert response.status_code == 200, response.content
        return response.json()["data"]

    def get_appointment(self, id: str) -> dict[str, Any]:
        return self.get_data(f"/api/external/appointments/{id}")

    def get_opt_in(self, id: str) -> dict[str, Any]:
        return self.get_data(f"/api/external/opt-ins/{id}")

    def get_lead(self, id: str) -> dict[str, Any]:
        return self.get_data(f"/api/external/leads/{id}")

    def get_status(self, role: str) -> dict[str, Any]:
        """Return the organization's first status with this role."""
        return next(status for status in self.get_data("/api/external/statuses") if status["role"] == role)

    def list_events(self, **query: Any) -> list[dict[str, Any]]:
        """Return a page of the events list. Needs `django_db(transaction=True)`: it contains committed events only."""
        return self.get_data(EVENTS, query)


def as_documented(method: str, path: str, response: Any) -> Any:
    """Return the response. Fails unless the OpenAPI document has it."""
    is_compressed = response.headers.get("Content-Encoding") == "gzip"
    body = gzip.decompress(response.content) if is_compressed else response.content
    assert response_errors(method, path, response.status_code, body) == []
    return response


def wait_for_autovacuum() -> None:
    """Wait until autovacuum writes nothing: the events list waits for all earlier transactions, also for its own."""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND backend_xid IS NOT NULL"
            )
            if cursor.fetchone() is None:
                return
            time.sleep(0.02)


def booking_payload(**fields: Any) -> dict[str, Any]:
    """Return a valid body for creating an appointment, with changed fields; `...` leaves a field out."""
    body = {
        "external_reference": "ref-1",
        "schedule_time": SCHEDULE_TIME,
        "lead_email": "ada@example.com",
        "event_type_name": "Strategy call",
        **fields,
    }
    return {name: value for name, value in body.items() if value is not ...}


def opt_in_payload(**fields: Any) -> dict[str, Any]:
    """Return a valid body for submitting an opt-in, with changed fields; `...` leaves a field out."""
    body = {"email": "ada@example.com", "first_name": "Ada", "source": "LANDING_PAGE", **fields}
    return {name: value for name, value in body.items() if value is not ...}


def sync_payload(**fields: Any) -> dict[str, Any]:
    """Return the state of a scheduler's booking; a keyword replaces a field."""
    return {
        "changed_at": "2026-12-01T10:00:00Z",
        "state": "BOOKED",
        "schedule_time": SCHEDULE_TIME,
        "lead": {"email": "ada@example.com", "first_name": "Ada"},
        "event_type": "Strategy call",
        **fields,
    }


def synced_opt_in_payload(**fields: Any) -> dict[str, Any]:
    """Return the state of a submission; a keyword replaces a field."""
    return {"changed_at": "2026-12-01T10:00:00Z", "email": "ada@example.com", "first_name": "Ada", **fields}
