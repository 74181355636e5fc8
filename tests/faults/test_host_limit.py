"""Two worker processes share the limit of one host, and deliver what exceeds it later."""

from organizations.models import Organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from tests.webhooks.test_host_limit import let_time_pass
from webhooks.models import Endpoint

LIMIT, ENDPOINTS, EVENTS = 60, 4, 25


def test_two_workers_send_no_more_than_the_limit_in_a_minute(
    stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    stack.overrides["WEBHOOKS_PER_HOST_PER_MINUTE"] = LIMIT
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS)

    stack.start("worker-1", "worker-2")
    wait_for(inbox.has_received(LIMIT))
    # Every endpoint that has something left is paused; further polling sends nothing.
    late = make_endpoint(organization, inbox.url("ok/late"))
    make_backlog(late, 1)
    wait_for(lambda: is_paused(late))

    assert len(inbox.arrivals()) == LIMIT
    let_time_pass(61)
    wait_for(lambda: all_delivered(*endpoints, late))
    assert len(inbox.arrivals()) == ENDPOINTS * EVENTS + 1


def is_paused(endpoint: Endpoint) -> bool:
    """Return whether the limit has postponed the endpoint's deliveries."""
    endpoint.refresh_from_db()
    return endpoint.paused_until is not None
