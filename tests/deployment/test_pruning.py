"""What is deleted after a while, and in what steps (docs/operate.md, "What grows")."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import call_command
from django.db import connection, models
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from uuid_utils.compat import uuid7

from foundation.outbox import State
from notifications.models import Kind, Notification
from organizations.actors import SYSTEM
from organizations.models import Organization, PasswordReset, SecurityEvent, SecurityEventKind, Session
from pipeline_backend.celery import app
from tests.databases import url_of
from tests.factories import make_api, owner_of
from webhooks.models import Attempt, Delivery, Event, Replay
from webhooks.services import add_endpoint, send_test

DOCS = (Path(__file__).resolve().parents[2] / "docs/operate.md").read_text()
GROWTH = DOCS.partition("## What grows")[2].partition("\n## ")[0]
DAY = timedelta(days=1)
ENDED: dict[str, Any] = {"state": State.DONE, "next_attempt_at": None}


def prune() -> None:
    """Run the periodic tasks."""
    app.loader.import_default_modules()
    for name in ("organizations.prune", "webhooks.prune"):
        app.tasks[name].apply(throw=True)


def make_security_event(organization: Organization, at: datetime) -> models.Model:
    event = SecurityEvent.objects.create(kind=SecurityEventKind.KEY_ISSUED, organization=organization)
    SecurityEvent.objects.filter(pk=event.pk).update(created_at=at)
    return event


def make_log_entry(organization: Organization, at: datetime) -> models.Model:
    user = owner_of(organization).user
    return LogEntry.objects.create(user=user, action_flag=CHANGE, object_repr="x", action_time=at)


def make_password_reset(organization: Organization, at: datetime) -> models.Model:
    id = uuid7()
    return PasswordReset.objects.create(id=id, group_id=id, email="ada@example.com", created_at=at)


def make_session(organization: Organization, at: datetime) -> models.Model:
    return Session.objects.create(session_key=uuid7().hex, session_data="", expire_date=at)


def make_notification(organization: Organization, at: datetime) -> models.Model:
    values = {"kind": Kind.CALL_BOOKED, "context": {}, "created_at": at - DAY, "finished_at": at, **ENDED}
    return Notification.objects.create(organization=organization, **values)


def make_delivery(organization: Organization, at: datetime) -> Delivery:
    endpoint = add_endpoint(organization=organization, url="https://hooks.example.com/")[0]
    event = send_test(endpoint=endpoint, actor=SYSTEM)
    replay = Replay.objects.create(organization=organization, endpoint=endpoint, created_at=at, actor_kind="SYSTEM")
    Delivery.objects.of(organization).filter(event=event).update(
        created_at=at - DAY, finished_at=at, replay=replay, **ENDED
    )
    delivery: Delivery = Delivery.objects.of(organization).get(event=event)
    Attempt.objects.create(organization=organization, delivery=delivery, duration_ms=1)
    return delivery


@pytest.mark.parametrize(
    ("make", "days"),
    [
        (make_security_event, 365),
        (make_log_entry, 1095),
        (make_password_reset, 1),
        (make_session, 0),
        (make_notification, 90),
        (make_delivery, 90),
    ],
)
def test_rows_are_deleted_at_their_age_and_not_earlier(
    organization: Organization, make: Callable[[Organization, datetime], models.Model], days: int
) -> None:
    limit = timezone.now() - days * DAY
    old, young = make(organization, limit - DAY / 24), make(organization, limit + DAY / 24)

    prune()

    assert set(type(old)._base_manager.values_list("pk", flat=True)) == {young.pk}


def test_attempts_and_replays_go_with_their_deliveries_and_events_stay(organization: Organization) -> None:
    limit = timezone.now() - 90 * DAY
    old, young = make_delivery(organization, limit - DAY), make_delivery(organization, limit + DAY)

    prune()

    assert [attempt.delivery for attempt in Attempt.objects.of(organization)] == [young]
    assert [replay.pk for replay in Replay.objects.of(organization)] == [young.replay_id]
    assert Event.objects.of(organization).filter(pk__in=[old.event_id, young.event_id]).count() == 2


def test_old_events_are_deleted_if_the_operator_says_so_but_the_last_one_and_those_to_be_sent(
    organization: Organization, other_organization: Organization, settings: Settings
) -> None:
    settings.KEEP_EVENTS_DAYS = 30
    limit = timezone.now() - 30 * DAY
    old, waiting, young, last = [make_delivery(organization, timezone.now()) for _ in range(4)]
    theirs = make_delivery(other_organization, timezone.now())
    Delivery.unscoped.filter(pk=waiting.pk).update(state=State.PENDING)
    events = Event.objects.of(organization)
    rows = events.exclude(pk=young.event_id) | Event.objects.of(other_organization)
    rows.update(created_at=limit - DAY / 24)
    events.filter(pk=young.event_id).update(created_at=limit + DAY / 24)
    api = make_api(organization)

    prune()

    assert set(events.values_list("pk", flat=True)) == {waiting.event_id, young.event_id, last.event_id}
    assert set(Delivery.objects.of(organization).values_list("pk", flat=True)) == {waiting.pk, young.pk, last.pk}
    assert Event.objects.of(other_organization).filter(pk=theirs.event_id).exists()
    assert api.list_events(after=str(last.event_id)) == []
    response = api.get(f"/api/external/events?after={old.event_id}")
    assert (response.status_code, response.json()["message"]) == (400, "after is not known in the organization")


@pytest.mark.parametrize("make", [make_notification, make_delivery])
def test_what_is_still_to_be_sent_is_kept_whatever_its_age(
    organization: Organization, make: Callable[[Organization, datetime], models.Model]
) -> None:
    row = make(organization, timezone.now() - 1000 * DAY)
    # As after a replay of an old delivery, and while a retry waits.
    type(row)._base_manager.update(state=State.PENDING, finished_at=None)

    prune()

    assert type(row)._base_manager.filter(pk=row.pk).exists()


def test_many_rows_are_deleted_in_several_short_steps(organization: Organization) -> None:
    expired = timezone.now() - DAY
    rows = [Session(session_key=f"{number:032}", session_data="", expire_date=expired) for number in range(4001)]
    Session.objects.bulk_create(rows)

    with CaptureQueriesContext(connection) as queries:
        call_command("clearsessions")

    deletes = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert Session.objects.count() == 0
    assert len(deletes) == 3


def test_rows_that_somebody_else_is_changing_are_skipped(transactional_db: None) -> None:
    Session.objects.create(session_key="x", session_data="", expire_date=timezone.now() - DAY)
    Session.objects.create(session_key="y", session_data="", expire_date=timezone.now() - DAY)
    with psycopg.connect(url_of(connection.settings_dict)) as other:
        other.execute("SELECT FROM organizations_session WHERE session_key = 'x' FOR UPDATE")
        call_command("clearsessions")
        assert list(Session.objects.values_list("pk", flat=True)) == ["x"]

    call_command("clearsessions")
    assert Session.objects.count() == 0


def test_the_docs_say_for_each_table_what_becomes_of_its_rows() -> None:
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]

    assert [table for table in tables if f"`{table}`" not in GROWTH] == []


def test_the_query_of_the_docs_shows_the_size_of_each_table(db: None) -> None:
    (query,) = re.findall(r'psql "\$DATABASE_URL" -c "(.+?)"', GROWTH, re.DOTALL)

    with connection.cursor() as cursor:
        cursor.execute(query)
        rows = {name: (table, indexes, size) for name, table, indexes, size in cursor.fetchall()}

    assert len(rows) == 15
    assert all(size > 0 for _, _, size in rows.values())
