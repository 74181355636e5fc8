"""Requests that the server's death or the client interrupts: a booking is stored completely or not at all."""

import json
import signal
import socket
import time
from typing import Any

from appointments.models import Appointment
from organizations.models import Organization
from tests.client import ApiClient, booking_payload
from tests.factories import events_of, summary_of
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from webhooks.models import Event

DISCONNECTS = 20
ROUNDS, ALL_PROCESSES = 2, ("web", "worker")
NO_ROWS = {"appointments": 0, "leads": 0, "opt_ins": 0, "event_types": 0, "events": [], "notifications": []}


def test_a_web_server_killed_in_the_middle_of_a_booking_stores_nothing_of_it(
    stack: Stack, organization: Organization, api: ApiClient
) -> None:
    stack.settings["CRASH"] = "before commit"
    stack.start("crashing_web")

    assert stack.book(str(api.key), external_reference="interrupted")[0] == 0
    assert stack.wait_for_exit("crashing_web") == -signal.SIGKILL
    assert summary_of(organization) == NO_ROWS

    stack.start("web")
    status, body = stack.book(str(api.key), external_reference="interrupted")
    assert (status, body["data"]["is_duplicate"]) == (201, False)
    assert events_of(organization) == ["appointment.created", "lead.created"]


def test_killing_all_processes_at_once_repeatedly_loses_nothing_that_was_accepted(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    settings: Any,
    measurements: dict[str, str],
) -> None:
    stack = short_lease_stack
    make_endpoint(organization, inbox.url("ok"))
    stack.web_workers = 2
    stack.start(*ALL_PROCESSES)

    with booking_stream(stack, str(api.key), threads=4) as bookings:
        for _ in range(ROUNDS):
            bookings.wait_for_more(20)
            stack.stop_redis()
            for name in ALL_PROCESSES:
                stack.kill(name)
            stack.start_redis()
            stack.start(*ALL_PROCESSES)
        bookings.wait_for_more(20)
    wait_for(all_events_received(inbox))

    repeats = inbox.counts().total() - len(inbox.counts())
    measurements["all processes killed at once"] = (
        f"{ROUNDS} times, {len(bookings.accepted)} bookings accepted, {repeats} events repeated"
    )
    assert bookings.status_codes() <= {0, 200, 201}
    appointments = Appointment.objects.of(organization)
    references = set(appointments.values_list("external_reference", flat=True))
    assert references == {f"stream-{number}" for number in bookings.accepted}
    created = Event.objects.of(organization).filter(type="appointment.created").values_list("subject_id", flat=True)
    assert sorted(created) == sorted(appointments.values_list("pk", flat=True))
    assert repeats <= ROUNDS * settings.WEBHOOK_REQUESTS_PER_ENDPOINT


def test_a_client_that_disconnects_has_booked_all_or_nothing_and_once_after_its_retry(
    stack: Stack, organization: Organization, api: ApiClient
) -> None:
    key = str(api.key)
    stack.start("web")

    complete = request_bytes(stack, key, external_reference="partial")
    for length in (20, len(complete) // 2, len(complete) - 1):
        send_and_disconnect(stack, complete[:length])
    assert stack.get("/readyz")[0] == 200
    assert summary_of(organization) == NO_ROWS

    references = [f"disconnected-{number}" for number in range(DISCONNECTS)]
    for number, reference in enumerate(references):
        send_and_disconnect(stack, request_bytes(stack, key, external_reference=reference), after=number / 200)
    assert {stack.book(key, external_reference=reference)[0] for reference in references} <= {200, 201}
    assert summary_of(organization)["appointments"] == DISCONNECTS
    assert events_of(organization) == ["appointment.created"] * DISCONNECTS + ["lead.created"]


def request_bytes(stack: Stack, key: str, **fields: str) -> bytes:
    """Return a booking request as it is sent over the network."""
    body = json.dumps(booking_payload(**fields)).encode()
    head = f"POST /api/external/appointments HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nx-api-key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def send_and_disconnect(stack: Stack, data: bytes, *, after: float = 0) -> None:
    """Send the bytes and disconnect `after` that many seconds without reading the response."""
    with socket.create_connection(("127.0.0.1", stack.port), timeout=60) as connection:
        connection.sendall(data)
        time.sleep(after)
