"""Integrators under load: they read, submit, book and cancel, and send again what got no answer."""

import http.client
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.client import booking_payload, opt_in_payload

CLIENTS = 16
THINKING_SECONDS = 0.12  # at most, between two requests
PAUSE_SECONDS, TRIES = 0.2, 400
ANSWER_SECONDS = 20
LEADS = 400
READS, SUBMITS = 0.6, 0.3  # the rest are bookings and cancels
AGAIN = {0, 503}
LISTS = ["appointments", "opt-ins", "leads", "statuses", "events"]


@dataclass
class Journal:
    """What the clients have seen: every answer's kind and code, what was accepted, and what should not have been answered."""

    requests: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    booked: dict[str, str] = field(default_factory=dict)
    canceled: set[str] = field(default_factory=set)
    submitted: dict[str, str] = field(default_factory=dict)
    given_up: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Journal") -> None:
        """Take in another's."""
        for name, own in vars(self).items():
            theirs = getattr(other, name)
            own.extend(theirs) if isinstance(own, list) else own.update(theirs)


class Client:
    """One integrator."""

    def __init__(self, number: int, port: int, key: str) -> None:
        self.number, self.port = number, port
        self.headers = {"x-api-key": key, "Content-Type": "application/json"}
        self.random = random.Random(number)
        self.journal = Journal()
        self.line: http.client.HTTPConnection | None = None
        self.writes = 0

    def work(self, is_over: threading.Event) -> None:
        """Until told to stop; what is begun is finished."""
        while not is_over.wait(self.random.uniform(0, THINKING_SECONDS)):
            self.act()
        self.hang_up()

    def act(self) -> None:
        """One request, with its retries."""
        dice = self.random.random()
        if dice < READS:
            return self.read()
        if dice < READS + SUBMITS:
            return self.submit()
        open_calls = self.journal.booked.keys() - self.journal.canceled
        if open_calls and self.random.random() < 0.5:
            return self.cancel(min(open_calls))
        return self.book()

    def read(self) -> None:
        """A list, or the detail of something that was accepted, which must be there."""
        known = [("appointments", self.journal.booked), ("opt-ins", self.journal.submitted)]
        name, ids = self.random.choice(known)
        path = (
            f"{name}/{self.random.choice(list(ids.values()))}"
            if ids and self.random.random() < 0.5
            else self.random.choice(LISTS)
        )
        self.insist("reads", "GET", f"/api/external/{path}", None, {200})

    def submit(self) -> None:
        """A form with a reference of its own, of a known or a new lead."""
        reference = self.reference("form")
        body = opt_in_payload(email=self.lead(), external_reference=reference)
        data = self.insist("submits", "POST", "/api/opt-in/submit", body, {200, 201})
        if data:
            self.journal.submitted[reference] = data["opt_in_id"]

    def book(self) -> None:
        """A call with a reference of its own; only a retry may be told that it is there already."""
        reference = self.reference("call")
        data = self.insist(
            "bookings",
            "POST",
            "/api/external/appointments",
            booking_payload(external_reference=reference, lead_email=self.lead()),
            {201},
        )
        if data:
            self.journal.booked[reference] = data["id"]

    def cancel(self, reference: str) -> None:
        """One of its own calls."""
        data = self.insist(
            "cancels", "POST", "/api/external/appointments/cancel", {"external_reference": reference}, {200}
        )
        if data:
            self.journal.canceled.add(reference)
            self.check(data["id"] == self.journal.booked[reference], f"canceling {reference} answered {data['id']}")

    def reference(self, kind: str) -> str:
        self.writes += 1
        return f"{kind}-{self.number}-{self.writes}"

    def lead(self) -> str:
        return f"lead-{self.random.randrange(LEADS)}@example.com"

    def insist(self, kind: str, method: str, path: str, body: Any, good: set[int]) -> Any:
        """The answer's data: what gets no answer, or a 503, is sent again as it was."""
        text = None if body is None else json.dumps(body)
        for attempt in range(TRIES):
            started = time.monotonic()
            code, answer = self.ask(method, path, text)
            self.journal.requests[kind] += 1
            self.journal.codes[code] += 1
            if code not in AGAIN:
                self.journal.seconds.append(time.monotonic() - started)
                is_good = code in good or (attempt > 0 and code == 200)
                self.check(is_good, f"{method} {path} answered {code}: {answer}")
                return answer["data"] if is_good else None
            time.sleep(PAUSE_SECONDS)
        return self.journal.given_up.append(f"{method} {path} {text}")

    def ask(self, method: str, path: str, text: str | None) -> tuple[int, Any]:
        """Status and JSON of one request over the kept connection; status 0 if nobody answered to the end."""
        try:
            self.line = self.line or http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)
            self.line.request(method, path, text, self.headers)
            with self.line.getresponse() as response:
                body, headers = response.read(), response.headers
        except (OSError, http.client.HTTPException):
            self.hang_up()
            return 0, None
        return response.status, self.understood(response.status, headers, body)

    def understood(self, code: int, headers: Any, body: bytes) -> Any:
        """The JSON; anything else is noted, and so is an error that is not in the error form."""
        try:
            answer = json.loads(body)
        except ValueError:
            return self.check(False, f"{code} came as {headers['Content-Type']}: {body[:80]!r}")
        is_error = code >= 400
        self.check(
            not is_error or (answer.get("status"), "message" in answer) == ("error", True),
            f"{code} is not in the error form: {answer}",
        )
        self.check(code != 503 or "Retry-After" in headers, "503 without Retry-After")
        return answer

    def check(self, is_so: bool, otherwise: str) -> None:
        if not is_so:
            self.journal.wrong.append(otherwise)

    def hang_up(self) -> None:
        if self.line:
            self.line.close()
        self.line = None
