"""kill -9 at any moment: nothing is lost, and little is sent twice."""

import signal

from organizations.models import Organization
from pipeline_backend.outbox import MAX_CLAIMS, State
from tests.client import ApiClient
from tests.factories import events_of
from tests.faults.backlog import all_delivered, count_by_state, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.kill_points import POISON, SINGLE_CRASHES
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery

EVENTS = 6


def test_workers_killed_at_every_moment_lose_nothing_and_repeat_one_event_each_at_most(
    short_lease_stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    moments = [kill.__name__ for kill in SINGLE_CRASHES]
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{moment}")) for moment in moments]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS)

    for moment in moments:
        short_lease_stack.start(f"crashing_worker-{moment}", arguments=f"{moment} {moment}")
    assert {short_lease_stack.wait_for_exit(f"crashing_worker-{moment}", seconds=60) for moment in moments} == {
        -signal.SIGKILL
    }
    assert not all_delivered(*endpoints)
    short_lease_stack.start("worker")
    wait_for(lambda: all_delivered(*endpoints), seconds=30)

    times = {moment: inbox.counts(f"ok/{moment}") for moment in moments}
    assert {moment: len(came) for moment, came in times.items()} == dict.fromkeys(moments, EVENTS)
    repeats = {moment: came.total() - EVENTS for moment, came in times.items()}
    assert all(count <= 1 for count in repeats.values()), repeats
    measurements["events repeated after a worker's SIGKILL"] = ", ".join(
        f"{moment} {count}" for moment, count in repeats.items()
    )


def test_an_event_that_kills_each_worker_is_parked_and_the_others_of_its_endpoint_arrive(
    short_lease_stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    poison = make_backlog(endpoint, 1, note=POISON.decode())[0]
    make_backlog(endpoint, EVENTS)

    short_lease_stack.settings["DELIVERY_LEASE_SECONDS"] = "2"
    short_lease_stack.start("crashing_worker", arguments="on_poison")
    wait_for(lambda: State.PENDING.value not in count_by_state(endpoint), seconds=60)

    poison.refresh_from_db()
    assert (poison.state, poison.last_error, poison.claim_count) == (State.DEAD, "worker_crash", MAX_CLAIMS)
    assert count_by_state(endpoint) == {State.DONE.value: EVENTS, State.DEAD.value: 1}
    assert len(inbox.counts()) == EVENTS


def test_a_web_server_killed_between_commit_and_doorbell_loses_no_event(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    short_lease_stack.settings["CRASH"] = "after commit"
    short_lease_stack.start("crashing_web", "worker")

    assert short_lease_stack.book(str(api.key), external_reference="cut-off")[0] == 0
    assert short_lease_stack.wait_for_exit("crashing_web", seconds=10) == -signal.SIGKILL
    assert events_of(organization) == ["appointment.created", "lead.created"]
    wait_for(lambda: all_delivered(endpoint), seconds=10)

    short_lease_stack.start("web")
    code, answer = short_lease_stack.book(str(api.key), external_reference="cut-off")
    assert (code, answer["data"]["is_duplicate"]) == (200, True)
    assert len(inbox.arrivals()) == Delivery.unscoped.count() == 2
