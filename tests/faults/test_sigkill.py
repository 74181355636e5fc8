"""kill -9 at any moment: nothing is lost, and at most one event per connection is sent twice."""

import signal
import threading
from collections import Counter

from foundation.outbox import MAX_CLAIMS, State
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import events_of
from tests.faults.backlog import all_delivered, count_by_state, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.kill_points import POISON, SINGLE_CRASHES
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from tests.soak.fault_injection import web_processes
from webhooks.models import Delivery

EVENTS, EIGHT = 6, 8  # the latter is WEBHOOK_REQUESTS_PER_ENDPOINT


def test_workers_killed_at_each_step_lose_nothing_and_repeat_at_most_one_event_each(
    short_lease_stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    stack = short_lease_stack
    kill_points = [queue.__name__ for queue in SINGLE_CRASHES]
    stack.overrides["WEBHOOK_REQUESTS_PER_ENDPOINT"] = 1
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{kill_point}")) for kill_point in kill_points]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS)

    # Each worker serves one endpoint and crashes at one point.
    for kill_point in kill_points:
        stack.start(f"crashing_worker-{kill_point}", arguments=f"{kill_point} {kill_point}")
    exit_codes = {stack.wait_for_exit(f"crashing_worker-{kill_point}") for kill_point in kill_points}
    assert exit_codes == {-signal.SIGKILL}
    assert not all_delivered(*endpoints)
    stack.start("worker")
    wait_for(lambda: all_delivered(*endpoints))

    counts = {kill_point: inbox.counts(f"ok/{kill_point}") for kill_point in kill_points}
    assert {kill_point: len(count) for kill_point, count in counts.items()} == dict.fromkeys(kill_points, EVENTS)
    repeats = {kill_point: count.total() - EVENTS for kill_point, count in counts.items()}
    assert all(count <= 1 for count in repeats.values()), repeats
    measurements["events repeated after a worker's SIGKILL"] = ", ".join(
        f"{kill_point} {count}" for kill_point, count in repeats.items()
    )


def test_a_worker_killed_while_it_sends_eight_requests_to_an_endpoint_repeats_at_most_these_eight(
    short_lease_stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    stack, killed = short_lease_stack, threading.Event()
    # On a busy machine eight requests can take long, and a timeout is retried only after a minute.
    stack.overrides |= {"DELIVERY_DEADLINE_SECONDS": 20, "DELIVERY_LEASE_SECONDS": 41}
    endpoint = make_endpoint(organization, receiver.url)
    make_backlog(endpoint, EIGHT + EVENTS)

    def kill_at_the_eighth(number: int) -> None:
        if number == EIGHT:
            stack.kill("worker")
            killed.set()
        killed.wait(60)

    receiver.on_request = kill_at_the_eighth
    stack.start("worker")
    assert killed.wait(60)
    interrupted = len(receiver.requests)
    stack.start("worker-2")
    wait_for(lambda: all_delivered(endpoint))

    ids = Counter(request.headers["webhook-id"] for request in receiver.requests)
    assert interrupted == EIGHT
    assert (len(ids), ids.total()) == (EIGHT + EVENTS, 2 * EIGHT + EVENTS)


def test_an_event_that_kills_each_worker_ends_dead_and_the_endpoints_other_events_arrive(
    short_lease_stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    stack = short_lease_stack
    endpoint = make_endpoint(organization, inbox.url("ok"))
    [poison] = make_backlog(endpoint, 1, note=POISON)
    make_backlog(endpoint, EVENTS)

    stack.overrides |= {"DELIVERY_DEADLINE_SECONDS": 1, "DELIVERY_LEASE_SECONDS": 2}
    stack.start("crashing_worker", arguments="OnPoison")
    wait_for(lambda: State.PENDING.value not in count_by_state(endpoint))

    poison.refresh_from_db()
    assert (poison.state, poison.last_error, poison.claim_count) == (State.DEAD, "worker_crash", MAX_CLAIMS)
    assert count_by_state(endpoint) == {State.DONE.value: EVENTS, State.DEAD.value: 1}
    assert len(inbox.counts()) == EVENTS


def test_a_web_server_killed_between_commit_and_notification_loses_no_event(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    stack = short_lease_stack
    endpoint = make_endpoint(organization, inbox.url("ok"))
    stack.settings["CRASH"] = "after commit"
    stack.start("crashing_web", "worker")

    assert stack.book(str(api.key), external_reference="interrupted")[0] == 0
    assert stack.wait_for_exit("crashing_web") == -signal.SIGKILL
    assert events_of(organization) == ["appointment.created", "lead.created"]
    wait_for(lambda: all_delivered(endpoint))

    stack.start("web")
    status, body = stack.book(str(api.key), external_reference="interrupted")
    assert (status, body["data"]["is_duplicate"]) == (200, True)
    assert len(inbox.arrivals()) == Delivery.unscoped.count() == 2


def test_a_killed_web_process_is_replaced_and_the_log_says_so(
    stack: Stack, organization: Organization, api: ApiClient
) -> None:
    stack.web_workers = 2
    stack.start("web")
    wait_for(lambda: len(web_processes(stack)) == 2)
    killed, other = web_processes(stack)

    killed.kill()

    wait_for(lambda: len(web_processes(stack)) == 2 and killed not in web_processes(stack))
    assert other in web_processes(stack)
    # A connection that the killed process had accepted ends without a response.
    wait_for(lambda: stack.book(str(api.key), external_reference="after the kill")[0] in {200, 201})
    log = stack.folder / "web.log"
    for message in ("Unexpected exit from worker-", "Respawning worker-"):
        wait_for(lambda message=message: message in log.read_text())
