"""kill -9 at any moment: nothing is lost, and little is sent twice."""

import signal

from organizations.models import Organization
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.queue import MAX_CLAIMS
from tests.client import ApiClient
from tests.factories import events_of
from tests.faults.backlog import are_done, endpoint_at, pile, states
from tests.faults.fast_receiver import FastReceiver
from tests.faults.moments import KILLS, POISON
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery

EVENTS = 6


def test_workers_killed_at_every_moment_lose_nothing_and_repeat_one_event_each_at_most(
    hasty: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    moments = [kill.__name__ for kill in KILLS]
    endpoints = [endpoint_at(organization, inbox.url(f"ok/{moment}")) for moment in moments]
    for endpoint in endpoints:
        pile(endpoint, EVENTS)

    for moment in moments:
        hasty.start(f"doomed-{moment}", wish=f"{moment} {moment}")
    assert {hasty.ending(f"doomed-{moment}", seconds=60) for moment in moments} == {-signal.SIGKILL}
    assert not are_done(*endpoints)
    hasty.start("worker")
    wait_for(lambda: are_done(*endpoints), seconds=30)

    times = {moment: inbox.times(f"ok/{moment}") for moment in moments}
    assert {moment: len(came) for moment, came in times.items()} == dict.fromkeys(moments, EVENTS)
    repeats = {moment: came.total() - EVENTS for moment, came in times.items()}
    assert all(count <= 1 for count in repeats.values()), repeats
    measurements["events repeated after a worker's SIGKILL"] = ", ".join(
        f"{moment} {count}" for moment, count in repeats.items()
    )


def test_an_event_that_kills_each_worker_is_parked_and_the_others_of_its_endpoint_arrive(
    hasty: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    endpoint = endpoint_at(organization, inbox.url("ok"))
    poison = pile(endpoint, 1, note=POISON.decode())[0]
    pile(endpoint, EVENTS)

    hasty.settings["DELIVERY_LEASE_SECONDS"] = "2"
    hasty.start("doomed", wish="at_the_poison")
    wait_for(lambda: State.PENDING.value not in states(endpoint), seconds=60)

    poison.refresh_from_db()
    assert (poison.state, poison.last_error, poison.claim_count) == (State.DEAD, "worker_crash", MAX_CLAIMS)
    assert states(endpoint) == {State.DONE.value: EVENTS, State.DEAD.value: 1}
    assert len(inbox.times()) == EVENTS


def test_a_web_server_killed_between_commit_and_doorbell_loses_no_event(
    hasty: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    endpoint = endpoint_at(organization, inbox.url("ok"))
    hasty.settings["DOOM"] = "after the commit"
    hasty.start("doomed_web", "worker")

    assert hasty.book(str(api.key), external_reference="cut-off")[0] == 0
    assert hasty.ending("doomed_web", seconds=10) == -signal.SIGKILL
    assert events_of(organization) == ["appointment.created", "lead.created"]
    wait_for(lambda: are_done(endpoint), seconds=10)

    hasty.start("web")
    code, answer = hasty.book(str(api.key), external_reference="cut-off")
    assert (code, answer["data"]["is_duplicate"]) == (200, True)
    assert len(inbox.arrivals()) == Delivery.unscoped.count() == 2
