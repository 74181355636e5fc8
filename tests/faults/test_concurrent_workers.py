"""Several workers side by side: each event is sent once while nothing fails."""

from organizations.models import Organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

WORKERS, EVENTS, ENDPOINTS = 4, 10_000, 5


def test_four_workers_send_each_of_ten_thousand_events_once(
    stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS // ENDPOINTS)

    stack.start(*(f"worker-{number}" for number in range(WORKERS)))
    wait_for(inbox.has_received(EVENTS), seconds=120)
    wait_for(lambda: all_delivered(*endpoints))

    assert len(inbox.arrivals()) == EVENTS
    seconds = inbox.arrivals()[-1].at - inbox.arrivals()[0].at
    measurements["events a second by four workers"] = f"{EVENTS / seconds:.0f}"
