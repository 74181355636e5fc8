"""No beat, or several: each event is sent once while nothing fails."""

import pytest

from organizations.models import Organization
from tests.client import ApiClient
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

BOOKINGS = 20


@pytest.mark.parametrize("beats", [[], ["beat-1", "beat-2"]], ids=["no beat", "two beats"])
def test_without_beat_and_with_two_beats_each_event_is_sent_once(
    stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver, beats: list[str]
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    stack.start("web", "worker", *beats)

    for number in range(BOOKINGS):
        assert stack.book(str(api.key), external_reference=f"ref-{number}")[0] == 201
    make_backlog(endpoint, BOOKINGS)
    # A booking is one event, the lead that the first of them creates another.
    wait_for(inbox.has_received(2 * BOOKINGS + 1))
    wait_for(lambda: all_delivered(endpoint))

    assert len(inbox.arrivals()) == 2 * BOOKINGS + 1
