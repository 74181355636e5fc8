"""Requests that are cut off, by the death of the server or by the client: all of a booking is there, or nothing."""

import json
import signal
import socket
import time

from appointments.models import Appointment
from organizations.models import Organization
from tests.client import ApiClient, booking_payload
from tests.factories import events_of, summary_of
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from webhooks.models import Event

HANGING_UP = 20
ROUNDS, EVERYTHING = 2, ("web", "worker", "beat")
NOTHING = {"appointments": 0, "leads": 0, "opt_ins": 0, "event_types": 0, "events": [], "notifications": []}


def test_a_web_server_killed_in_the_middle_of_a_booking_leaves_nothing_of_it(
    stack: Stack, organization: Organization, api: ApiClient
) -> None:
    stack.settings["CRASH"] = "before commit"
    stack.start("crashing_web")

    assert stack.book(str(api.key), external_reference="cut-off")[0] == 0
    assert stack.wait_for_exit("crashing_web", seconds=10) == -signal.SIGKILL
    assert summary_of(organization) == NOTHING

    stack.start("web")
    code, answer = stack.book(str(api.key), external_reference="cut-off")
    assert (code, answer["data"]["is_duplicate"]) == (201, False)
    assert events_of(organization) == ["appointment.created", "lead.created"]


def test_all_processes_killed_at_once_again_and_again_lose_nothing_that_was_answered(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    measurements: dict[str, str],
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    short_lease_stack.web_workers = 2
    short_lease_stack.start(*EVERYTHING)
    with booking_stream(short_lease_stack, str(api.key), threads=4) as bookings:
        for _ in range(ROUNDS):
            bookings.wait_for_more(20)
            short_lease_stack.stop_redis()
            for name in EVERYTHING:
                short_lease_stack.kill(name)
            short_lease_stack.start_redis()
            short_lease_stack.start(*EVERYTHING)
        bookings.wait_for_more(20)
    wait_for(all_events_received(inbox), seconds=40)

    repeats = inbox.counts().total() - len(inbox.counts())
    measurements["everything killed at once"] = (
        f"{ROUNDS} times, {len(bookings.accepted)} bookings taken, {repeats} events repeated"
    )
    assert bookings.status_codes() <= {0, 200, 201}
    assert set(Appointment.objects.of(organization).values_list("external_reference", flat=True)) == {
        f"stream-{number}" for number in bookings.accepted
    }
    told = Event.objects.of(organization).filter(type="appointment.created").values_list("subject_id", flat=True)
    assert sorted(told) == sorted(Appointment.objects.of(organization).values_list("pk", flat=True))
    assert repeats <= ROUNDS * len(EVERYTHING)


def test_a_client_that_hangs_up_in_the_middle_has_booked_all_or_nothing_and_once_when_it_comes_again(
    stack: Stack, organization: Organization, api: ApiClient
) -> None:
    key = str(api.key)
    stack.start("web")

    whole = request(stack, key, external_reference="half")
    for length in (20, len(whole) // 2, len(whole) - 1):
        send(stack, whole[:length])
    assert stack.get("/readyz")[0] == 200
    assert summary_of(organization) == NOTHING

    references = [f"hung-up-{number}" for number in range(HANGING_UP)]
    for number, reference in enumerate(references):
        send(stack, request(stack, key, external_reference=reference), stay=number / 200)
    assert {stack.book(key, external_reference=reference)[0] for reference in references} <= {200, 201}
    assert summary_of(organization)["appointments"] == HANGING_UP
    assert events_of(organization) == ["appointment.created"] * HANGING_UP + ["lead.created"]


def request(stack: Stack, key: str, **fields: str) -> bytes:
    """A booking as bytes."""
    body = json.dumps(booking_payload(**fields)).encode()
    head = f"POST /api/external/appointments HTTP/1.1\r\nHost: 127.0.0.1:{stack.port}\r\nx-api-key: {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def send(stack: Stack, data: bytes, *, stay: float = 0) -> None:
    """Say it, and hang up after so many seconds without having listened."""
    with socket.create_connection(("127.0.0.1", stack.port), timeout=5) as line:
        line.sendall(data)
        time.sleep(stay)
