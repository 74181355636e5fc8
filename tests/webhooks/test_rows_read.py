"""How many rows are read does not depend on how many there are: an organization can have millions of events."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from benchmarks.plans import explain_statements
from foundation.db.timestamps import isoformat_z, now
from foundation.outbox import State
from leads.models import Lead
from notifications.models import Kind, Notification
from organizations.actors import SYSTEM, actor_columns
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import owner_of
from tests.faults.backlog import make_endpoint
from webhooks.models import Delivery, Event
from webhooks.services import prune

EVENTS, POSITION, RARE, LIMIT = 300, 150, 3, 10


@pytest.fixture
def events(organization: Organization, settings: Any) -> list[Event]:
    """Create finished deliveries of many events, three of them of a rare type."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    endpoint = make_endpoint(organization, "http://127.0.0.1:9/events")
    body = {
        "type": "lead.created",
        "timestamp": isoformat_z(now()),
        "organization_id": str(organization.pk),
        "data": {},
    }
    common = {"organization": organization, "body": json.dumps(body | {"data": {}}), **actor_columns(SYSTEM)}
    # Their transactions have ended long ago, so the feed shows them.
    types = ["lead.created" if number >= RARE else "opt_in.created" for number in range(EVENTS)]
    start = now() - timedelta(minutes=EVENTS)
    rows = [
        Event(transaction=number, type=type, created_at=start + timedelta(minutes=number), **common)
        for number, type in enumerate(types)
    ]
    events: list[Event] = Event.unscoped.bulk_create(rows)
    common = {"organization": organization, "endpoint": endpoint, "next_attempt_at": None}
    ended = {"state": State.DONE, "finished_at": now()}
    Delivery.unscoped.bulk_create([Delivery(event=event, **common, **ended) for event in events])
    Notification.unscoped.bulk_create(
        [Notification(organization=organization, kind=Kind.CALL_BOOKED, context={}, **ended) for _ in events]
    )
    return events


def rows_read(table: str, operation: Callable[[], object]) -> int:
    """Return how many rows of a table an operation reads, planned as for a table that is too large to be scanned."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
    return sum(statement.rows_read(table) for statement in explain_statements(operation))


def test_a_page_of_the_feed_reads_no_event_before_it(api: ApiClient, events: list[Event]) -> None:
    query = {"after": str(events[POSITION].pk), "limit": LIMIT}
    assert [event["id"] for event in api.get_data("/api/external/events", query)] == [
        str(event.pk) for event in events[POSITION + 1 :][:LIMIT]
    ]

    # The event named by `after` is read twice: to look it up, and where the index scan begins. One follows the page,
    # whose events are read twice: for their sizes, and their bodies.
    assert rows_read("webhooks_event", lambda: api.get_data("/api/external/events", query)) <= 2 * LIMIT + 3


def test_a_page_of_the_feed_of_one_type_reads_no_event_of_another(api: ApiClient, events: list[Event]) -> None:
    query = {"type": "opt_in.created", "limit": LIMIT}
    assert len(api.get_data("/api/external/events", query)) == RARE

    assert rows_read("webhooks_event", lambda: api.get_data("/api/external/events", query)) == 2 * RARE


def test_a_page_of_the_feed_from_a_time_reads_only_the_ten_minutes_before_it(
    api: ApiClient, events: list[Event]
) -> None:
    query = {"created_from": isoformat_z(events[POSITION].created_at), "limit": LIMIT}
    assert [event["id"] for event in api.get_data("/api/external/events", query)] == [
        str(event.pk) for event in events[POSITION:][:LIMIT]
    ]

    # The first of the ten minutes before is looked up, too.
    assert rows_read("webhooks_event", lambda: api.get_data("/api/external/events", query)) <= 2 * LIMIT + 14


def test_the_last_page_of_the_feed_up_to_a_time_reads_only_the_ten_minutes_after_it(
    api: ApiClient, events: list[Event]
) -> None:
    query = {"after": str(events[POSITION - 1].pk), "created_to": isoformat_z(events[POSITION].created_at)}
    assert [event["id"] for event in api.get_data("/api/external/events", query)] == [str(events[POSITION].pk)]

    assert rows_read("webhooks_event", lambda: api.get_data("/api/external/events", query)) <= 18


def test_the_feed_of_one_lead_reads_no_event_of_another(
    api: ApiClient, organization: Organization, events: list[Event]
) -> None:
    lead_id = api.submit().json()["data"]["lead_id"]
    Event.objects.of(organization).filter(pk=events[POSITION].pk).update(subject_id=lead_id)
    query = {"lead_id": lead_id, "created_to": isoformat_z(events[POSITION].created_at)}
    assert [event["id"] for event in api.get_data("/api/external/events", query)] == [str(events[POSITION].pk)]

    # The lead's own two events were recorded later; one later event is looked up.
    assert rows_read("webhooks_event", lambda: api.get_data("/api/external/events", query)) <= 6


def test_pruning_reads_no_delivery_that_is_not_old(organization: Organization, events: list[Event]) -> None:
    assert rows_read("webhooks_delivery", lambda: prune(organization=organization)) == 0

    Delivery.unscoped.filter(event__in=events[:RARE]).update(
        created_at=now() - timedelta(days=91), finished_at=now() - timedelta(days=91)
    )
    assert prune(organization=organization) == RARE


def test_the_dashboard_reads_no_job_that_has_not_failed(organization: Organization, events: list[Event]) -> None:
    client = Client()
    client.force_login(owner_of(organization).user)
    for model in (Delivery, Notification):
        model.unscoped.filter(pk=model.unscoped.values("pk")[:1]).update(state=State.DEAD)

    def open_dashboard() -> None:
        page = client.get("/admin/").content.decode()
        assert "1 delivery has failed permanently" in page
        assert "1 notification could not be sent" in page

    assert rows_read("webhooks_delivery", open_dashboard) == 1
    assert rows_read("notifications_notification", open_dashboard) == 1


def test_the_json_of_a_change_is_built_before_it_is_compared(api: ApiClient, organization: Organization) -> None:
    api.book()
    lead = Lead.objects.of(organization).get().pk

    statements = explain_statements(lambda: api.patch(f"/api/external/leads/{lead}", {"first_name": "Grace"}))

    # Else a plan may compare it for each combination of statuses and sources: seconds for a change.
    [change] = [statement for statement in statements if "json_each" in statement.sql]
    [comparison] = [node for node in change.nodes() if node.get("Subplan Name") == "CTE subject"]
    assert {node.get("CTE Name", node.get("Relation Name")) for node in change.nodes(comparison)} == {"data_0", None}
