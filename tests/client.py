"""The integrator of the tests: it speaks JSON with a key, and shortens the common calls."""

import json
from typing import Any

from django.test import Client

TIME = "2027-01-05T10:00:00.000Z"


class Api:
    """One key's view of the interface. Answers are Django's test responses: `status_code`, `headers`, `json()`."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> Any:
        """Read."""
        return self.client.get(path, query or {}, headers=self.headers(headers))

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Send JSON."""
        return self.raw("POST", path, json.dumps(body), **headers)

    def patch(self, path: str, body: Any, **headers: str) -> Any:
        """Change with JSON."""
        return self.raw("PATCH", path, json.dumps(body), **headers)

    def raw(
        self, method: str, path: str, body: str | bytes = b"", content_type: str = "application/json", **headers: str
    ) -> Any:
        """Send any bytes."""
        return self.client.generic(method, path, body, content_type, headers=self.headers(headers))

    def headers(self, more: dict[str, str]) -> dict[str, str]:
        """The key's header, and others (`x_request_id` for x-request-id)."""
        own = {"x-api-key": self.key} if self.key is not None else {}
        return own | {name.replace("_", "-"): value for name, value in more.items()}

    def book(self, **fields: Any) -> Any:
        """Create an appointment."""
        return self.post("/api/external/appointments", booking(**fields))

    def cancel(self, **fields: Any) -> Any:
        """Cancel one."""
        return self.post("/api/external/appointments/cancel", {"external_reference": "ref-1", **fields})

    def submit(self, **fields: Any) -> Any:
        """Submit an opt-in."""
        return self.post("/api/opt-in/submit", submission(**fields))

    def appointment(self, id: str) -> dict[str, Any]:
        """An appointment's detail."""
        return self.data(f"/api/external/appointments/{id}")

    def opt_in(self, id: str) -> dict[str, Any]:
        """An opt-in's detail."""
        return self.data(f"/api/external/opt-ins/{id}")

    def lead(self, id: str) -> dict[str, Any]:
        """A lead's detail."""
        return self.data(f"/api/external/leads/{id}")

    def data(self, path: str, query: dict[str, Any] | None = None) -> Any:
        """What a read answers."""
        answer = self.get(path, query)
        assert answer.status_code == 200, answer.content
        return answer.json()["data"]

    def status(self, role: str) -> dict[str, Any]:
        """The organization's status of this role."""
        return next(status for status in self.data("/api/external/statuses") if status["role"] == role)

    def events(self, **query: Any) -> list[dict[str, Any]]:
        """The events feed. Needs `@pytest.mark.django_db(transaction=True)`: it shows what is committed."""
        return self.data("/api/external/events", query)


def booking(**fields: Any) -> dict[str, Any]:
    """A good booking's body, with changes; a field given as `...` is left out."""
    body = {
        "external_reference": "ref-1",
        "schedule_time": TIME,
        "lead_email": "ada@example.com",
        "event_type_name": "Strategy call",
        **fields,
    }
    return {name: value for name, value in body.items() if value is not ...}


def submission(**fields: Any) -> dict[str, Any]:
    """A good opt-in's body, with changes; a field given as `...` is left out."""
    body = {"email": "ada@example.com", "first_name": "Ada", "source": "LANDING_PAGE", **fields}
    return {name: value for name, value in body.items() if value is not ...}
