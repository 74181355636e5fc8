"""API clients that make load: they read, submit, book and cancel, and repeat requests that got no response.

With several web servers, each request goes to the next one, as with a load balancer that takes them in turn.
"""

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.client import booking_payload, opt_in_payload

CLIENT_COUNT = 16
MAX_PAUSE_SECONDS = 0.12  # between two requests of a client
RETRY_SECONDS, MAX_ATTEMPTS = 0.2, 1500
TIMEOUT_SECONDS = 20
LEAD_COUNT = 400
READ_SHARE, SUBMIT_SHARE = 0.6, 0.3  # the rest are bookings and cancellations
NO_RESPONSE = 0
RETRY_STATUS_CODES = {NO_RESPONSE, 503}
LISTS = ["appointments", "opt-ins", "leads", "statuses", "events"]


@dataclass
class TrafficLog:
    """What clients have seen: requests by kind, responses by status code, accepted writes, and what went wrong.

    `booked` and `submitted` map external references to the ids in the responses.
    """

    requests: Counter[str] = field(default_factory=Counter)
    status_codes: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    booked: dict[str, str] = field(default_factory=dict)
    canceled: set[str] = field(default_factory=set)
    submitted: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    wrong_responses: list[str] = field(default_factory=list)

    def add(self, other: "TrafficLog") -> None:
        """Add what another client has seen."""
        for name, values in vars(self).items():
            other_values = getattr(other, name)
            values.extend(other_values) if isinstance(values, list) else values.update(other_values)


class LoadClient:
    """One API client. Its random choices are the same in each run."""

    def __init__(self, number: int, ports: Sequence[int], key: str, *, max_pause: float = MAX_PAUSE_SECONDS) -> None:
        self.number, self.max_pause = number, max_pause
        self.ports = ports  # may change while the client runs
        self.sent = 0
        self.headers = {"x-api-key": key, "Content-Type": "application/json"}
        self.random = random.Random(number)
        self.traffic = TrafficLog()
        self.connections: dict[int, http.client.HTTPConnection] = {}  # by port
        self.writes = 0

    def run(self, stop: threading.Event) -> None:
        """Send requests until `stop` is set; a request that has begun is completed, retries included."""
        while not stop.wait(self.random.uniform(0, self.max_pause)):
            self.send_random_request()
        self.disconnect()

    def send_random_request(self) -> None:
        """Read, submit, book or cancel."""
        choice = self.random.random()
        if choice < READ_SHARE:
            return self.read()
        if choice < READ_SHARE + SUBMIT_SHARE:
            return self.submit()
        cancelable = self.traffic.booked.keys() - self.traffic.canceled
        if cancelable and self.random.random() < 0.5:
            return self.cancel(min(cancelable))
        return self.book()

    def read(self) -> None:
        """Read a list, or an object that was accepted earlier and so must exist."""
        accepted = [("appointments", self.traffic.booked), ("opt-ins", self.traffic.submitted)]
        name, ids = self.random.choice(accepted)
        if ids and self.random.random() < 0.5:
            path = f"{name}/{self.random.choice(list(ids.values()))}"
        else:
            path = self.random.choice(LISTS)
        self.send_until_answered("reads", "GET", f"/api/external/{path}", None, {200})

    def submit(self) -> None:
        """Submit an opt-in with a new reference, for a new or an existing lead."""
        reference = self.next_reference("form")
        body = opt_in_payload(email=self.random_email(), external_reference=reference)
        data = self.send_until_answered("submits", "POST", "/api/opt-in/submit", body, {200, 201})
        if data:
            self.traffic.submitted[reference] = data["opt_in_id"]

    def book(self) -> None:
        """Book an appointment with a new reference. Only a retry may get a 200, which means that it existed."""
        reference = self.next_reference("call")
        body = booking_payload(external_reference=reference, lead_email=self.random_email())
        data = self.send_until_answered("bookings", "POST", "/api/external/appointments", body, {201})
        if data:
            self.traffic.booked[reference] = data["id"]

    def cancel(self, reference: str) -> None:
        """Cancel one of this client's appointments."""
        body = {"external_reference": reference}
        data = self.send_until_answered("cancels", "POST", "/api/external/appointments/cancel", body, {200})
        if data:
            self.traffic.canceled.add(reference)
            self.check(data["id"] == self.traffic.booked[reference], f"canceling {reference} answered {data['id']}")

    def next_reference(self, prefix: str) -> str:
        self.writes += 1
        return f"{prefix}-{self.number}-{self.writes}"

    def random_email(self) -> str:
        return f"lead-{self.random.randrange(LEAD_COUNT)}@example.com"

    def send_until_answered(self, kind: str, method: str, path: str, body: Any, expected: set[int]) -> Any:
        """Send a request, unchanged, until it gets a response other than 503, and return the response's data.

        Returns None if the response is wrong, or if there is none after the last attempt.
        """
        text = None if body is None else json.dumps(body)
        for attempt in range(MAX_ATTEMPTS):
            started = time.monotonic()
            status_code, content = self.send(method, path, text)
            self.traffic.requests[kind] += 1
            self.traffic.status_codes[status_code] += 1
            if status_code not in RETRY_STATUS_CODES:
                self.traffic.seconds.append(time.monotonic() - started)
                # An earlier attempt may have been stored, although its response got lost.
                is_expected = status_code in expected or (attempt > 0 and status_code == 200)
                self.check(is_expected, f"{method} {path} answered {status_code}: {content}")
                return content["data"] if is_expected else None
            time.sleep(RETRY_SECONDS)
        self.traffic.given_up.append(f"{method} {path} {text}")
        return None

    def send(self, method: str, path: str, text: str | None) -> tuple[int, Any]:
        """Send one request over a kept connection; return status code and JSON of a complete response."""
        self.sent += 1
        port = self.ports[self.sent % len(self.ports)]
        if port not in self.connections:
            for unused in self.connections.keys() - set(self.ports):
                self.connections.pop(unused).close()
            self.connections[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
        connection = self.connections[port]
        try:
            connection.request(method, path, text, self.headers)
            with connection.getresponse() as response:
                body, headers = response.read(), response.headers
        except (OSError, http.client.HTTPException):
            connection.close()  # the next request opens it again
            return NO_RESPONSE, None
        return response.status, self.parse(response.status, headers, body)

    def parse(self, status_code: int, headers: http.client.HTTPMessage, body: bytes) -> Any:
        """Return the JSON, and check the format of errors."""
        try:
            content = json.loads(body)
        except ValueError:
            self.check(False, f"{status_code} came as {headers['Content-Type']}: {body[:80]!r}")
            return None
        if status_code >= 400:
            has_error_format = content.get("status") == "error" and "message" in content
            self.check(has_error_format, f"{status_code} is not in the error format: {content}")
        self.check(status_code != 503 or "Retry-After" in headers, "503 without Retry-After")
        return content

    def check(self, condition: bool, failure: str) -> None:
        """Note a wrong response if the condition is false."""
        if not condition:
            self.traffic.wrong_responses.append(failure)

    def disconnect(self) -> None:
        """Close the connections."""
        for connection in self.connections.values():
            connection.close()
