"""A worker that is there and does nothing, an hour without beat: nothing is lost, and health tells."""

import signal

from organizations.models import Organization
from tests.client import Api
from tests.factories import make_organization
from tests.faults.backlog import are_done, endpoint_at, pile
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

WELL = (200, {"status": "ok"})


def test_a_worker_that_is_there_but_stands_still_turns_health_red_and_loses_nothing(
    hasty: Stack, organization: Organization, api: Api, inbox: FastReceiver
) -> None:
    hasty.settings["HEALTH_BACKLOG_SECONDS"] = "2"
    endpoint = endpoint_at(organization, inbox.url("ok"))
    hasty.start("web", "worker")
    assert hasty.book(str(api.key), external_reference="before")[0] == 201
    wait_for(lambda: are_done(endpoint), seconds=30)
    assert hasty.get("/healthz") == WELL

    hasty.kill("worker", signal.SIGSTOP)
    assert hasty.book(str(api.key), external_reference="meanwhile")[0] == 201
    pile(endpoint_at(make_organization("Globex"), inbox.url("ok/2")), 20)
    wait_for(lambda: hasty.get("/healthz")[0] == 503, seconds=20)
    code, answer = hasty.get("/healthz")
    assert (code, answer["message"].partition(" have been due ")[0]) == (503, "Webhook deliveries and notifications")
    assert hasty.get("/readyz") == WELL
    assert hasty.get("/api/external/appointments", str(api.key))[0] == 200

    hasty.start("worker-2")
    wait_for(lambda: hasty.get("/healthz")[0] == 200, seconds=30)
    wait_for(inbox.has(3 + 20), seconds=10)
    assert set(inbox.times().values()) == {1}
