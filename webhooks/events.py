"""Recording events, and replacing those about erased leads (docs/interface.md, W2 to W5)."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.db import connection, transaction
from django.db.models.functions import Now
from django.dispatch import receiver

from foundation.api import request_id
from foundation.api.sql_serializers import SQLSerializer
from foundation.db.compiled import CompiledQuery, Params, bind
from foundation.db.expressions import is_any_of
from foundation.db.prepared import preparing_cursor
from foundation.db.timestamps import isoformat_z
from foundation.outbox import State, notify_on_commit
from organizations.actors import Actor, actor_columns
from organizations.events import event_occurred, last_event_requested
from organizations.isolation import TenantModel
from organizations.models import Organization
from organizations.versions import VersionedModel, add_subjects
from webhooks.models import Attempt, Delivery, Event
from webhooks.topics import AttributionSerializer, Topic, topics

# One statement for all events of a change: a second round trip would cost a booking more than the inserts do. The ids,
# with which the bodies begin, rise in the order of the events, and so do those of the deliveries.
INSERT_EVENTS = """
WITH {data}, subject AS (
    SELECT uuidv7() AS event_id, part.* FROM ({rows} ORDER BY number) AS part
), event AS (
    INSERT INTO webhooks_event
        (id, organization_id, created_at, type, subject_id, request_id, actor_kind, actor_id, actor_name, body)
    SELECT event_id, organization_id, created_at, type, id, request_id, actor_kind, actor_id, actor_name,
        '{{"id":"' || event_id || '",' || body_start || json || previous || attribution || body_end
    FROM subject
) {changes}
INSERT INTO webhooks_delivery
    (id, organization_id, created_at, event_id, endpoint_id, state, attempts, claims, last_error, is_replay)
SELECT uuidv7(), organization_id, created_at, event_id, endpoint_id, 'PENDING', 0, 0, '', false
FROM (
    SELECT subject.organization_id, subject.created_at, event_id, endpoint.id AS endpoint_id
    FROM subject
    JOIN webhooks_endpoint AS endpoint ON endpoint.organization_id = subject.organization_id
    WHERE endpoint.is_active AND (endpoint.event_types = '{{}}' OR subject.type = ANY(endpoint.event_types))
    ORDER BY event_id
) AS delivery
RETURNING endpoint_id
"""
# `query` selects id and JSON. Materialized: where PostgreSQL expects no statuses and sources, because it analyzed their
# tables before they had rows, it would otherwise compare the JSON once for each combination of them.
DATA = "data_{number} (id, json) AS MATERIALIZED ({query})"
ROW = """
SELECT {number} AS number, data.id, data.json, {compared}, {attribution} AS attribution,
    %s::uuid AS organization_id, %s::timestamptz AS created_at, %s AS type, %s AS request_id,
    %s AS actor_kind, %s AS actor_id, %s AS actor_name, %s AS body_start, %s AS body_end
FROM data_{number} AS data
{comparison}
"""
# The fields that differ, as JSON: their old values, and their old and new ones. The subject is compared as it is shown,
# so no field is forgotten.
COMPARISON = """
    {before}
    CROSS JOIN LATERAL (
        SELECT
            ',"previous":' || json_object_agg(old.key, old.value ORDER BY old.position),
            jsonb_object_agg(old.key, json_build_array(old.value, new.value))
        FROM json_each({json}) WITH ORDINALITY AS old (key, value, position)
        JOIN json_each(data.json::json) AS new ON new.key = old.key
        WHERE old.key <> ALL (%s) AND old.value::jsonb <> new.value::jsonb
    ) AS comparison (previous, fields)
    WHERE comparison.previous IS NOT NULL
"""
COMPARE_ONE = COMPARISON.format(before="", json="%s::json")
COMPARE_EACH = COMPARISON.format(
    before="JOIN json_to_recordset(%s::json) AS before (id uuid, json json) ON before.id = data.id", json="before.json"
)
# The UTM columns of the subject's row, as a member of the body.
ATTRIBUTION = """',"attribution":' || (SELECT json_build_object({members})::text FROM {table} WHERE id = data.id)"""
INSERT_CHANGE = """
, change_{number} AS (
    INSERT INTO {table} (id, organization_id, created_at, {column}, actor_kind, actor_id, actor_name, fields)
    SELECT uuidv7(), organization_id, created_at, id, actor_kind, actor_id, actor_name, fields
    FROM subject WHERE number = {number}
)
"""
REPLACE_EVENTS = """
UPDATE webhooks_event AS event
SET type = %s,
    subject_id = subject.id,
    request_id = '',
    body = json_build_object(
        'id', event.id,
        'type', %s::text,
        'timestamp', body::json -> 'timestamp',
        'organization_id', organization_id,
        'is_test', (SELECT is_test FROM organizations_organization WHERE id = event.organization_id),
        'request_id', NULL,
        'data', subject.json,
        'actor', body::json -> 'actor'
    )::text
FROM json_to_recordset(%s::json) AS subject (row_id uuid, id uuid, json json)
WHERE event.organization_id = %s AND event.id = ANY(%s) AND event.subject_id = subject.row_id
"""


class NewEvents(NamedTuple):
    """The events of a topic about the subjects of a query, as parts of `INSERT_EVENTS`."""

    topic: Topic
    data_sql: str
    data_params: Params
    row_params: Params
    comparison: str  # empty: these events have no `previous`

    def row(self, number: int) -> str:
        attribution = "''"
        if self.topic.has_attribution:
            members = ", ".join(f"'{name}', {name}" for name in AttributionSerializer.fields)
            attribution = ATTRIBUTION.format(members=members, table=self.topic.serializer.model._meta.db_table)
        compared = (
            "comparison.previous, comparison.fields" if self.comparison else "'' AS previous, NULL::jsonb AS fields"
        )
        return ROW.format(number=number, compared=compared, attribution=attribution, comparison=self.comparison)

    def change(self, number: int) -> str:
        """Return the insert into the subject's change history; empty if it has none, or if there is no change."""
        model: Any = self.topic.serializer.model
        if not (self.comparison and issubclass(model, VersionedModel)):
            return ""
        foreign_key = model._meta.get_field("changes").remote_field
        table = foreign_key.model._meta.db_table
        return INSERT_CHANGE.format(number=number, table=table, column=foreign_key.column)


_waiting: ContextVar[list[NewEvents] | None] = ContextVar("waiting", default=None)


def store_changes(row: VersionedModel, serializer: type[SQLSerializer]) -> str | None:
    """Store a locked row's changes with a new version; return its JSON before, for `record_event`.

    Returns None if no serialized field has changed.
    """
    if not row.is_changed():
        row.save_columns()
        return None
    before = serializer.get_text(row.organization, row.pk)
    row.save_version()
    return before


def record_event(
    topic: Topic,
    subject: TenantModel,
    *,
    actor: Actor,
    before: str | None = None,
    details: Mapping[str, object] | None = None,
) -> None:
    """Store an event and a delivery for each subscribed endpoint, in the caller's transaction (docs/interface.md, W2).

    `before` is the subject's JSON before a change: the old values of differing fields are `previous`; if none differs,
    no event is recorded. A versioned row's old and new values are also stored in its change history. The body is the
    subject as stored now, so call this after all other writes, with those of the `details` that the topic has. The
    dispatcher is notified after the commit.
    """
    comparison = [before, list(topic.serializer.untracked)] if before else []
    values = {"id": subject.pk}
    insert_events(topic, subject.organization, actor, topic.serializer.query_by_id(), values, comparison, details)


@receiver(event_occurred)
def record_by_name(signal: object, sender: object, topic: str, **arguments: Any) -> None:
    """Record an event of an app below this one."""
    record_event(topics()[topic], **arguments)


@receiver(last_event_requested)
def find_last_event(signal: object, sender: object, organization: Organization, **_: object) -> uuid.UUID | None:
    """Return the id of the last event in the events list, if there is one."""
    id: uuid.UUID | None = Event.objects.of(organization).visible().reverse().values_list("id", flat=True).first()
    return id


def record_events(
    topic: Topic,
    organization: Organization,
    ids: Sequence[uuid.UUID],
    *,
    actor: Actor,
    previous: str = "",
    before: Mapping[uuid.UUID, str] | None = None,
) -> None:
    """Record the same event of many subjects, as `record_event` does.

    `previous` is JSON of a change's old values; `before` has the JSON of each subject before its change.
    """
    if not ids:
        return
    comparison, compare = [previous, []] if previous else [], COMPARE_ONE
    if before is not None:
        texts = ",".join(f'{{"id":"{id}","json":{before[id]}}}' for id in ids)
        comparison, compare = [f"[{texts}]", list(topic.serializer.untracked)], COMPARE_EACH
    values = {"ids": list(ids)}
    insert_events(topic, organization, actor, topic.serializer.query_by_ids(), values, comparison, compare=compare)


def insert_events(
    topic: Topic,
    organization: Organization,
    actor: Actor,
    query: CompiledQuery[tuple[uuid.UUID, str]],
    values: Mapping[str, object],
    comparison: Params,
    details: Mapping[str, object] | None = None,
    *,
    compare: str = COMPARE_ONE,
) -> None:
    """Insert the event for each subject of the query, with its deliveries, or let `one_statement` do so at its end."""
    add_subjects(topic.name, [values["id"]] if "id" in values else values["ids"])  # type: ignore[arg-type, list-item]
    event = build_event(topic, organization, actor)
    # The database returns `json` as finished JSON text, so the body is put together around it instead of parsing it.
    body_start = orjson.dumps(envelope(event))[1:-1].decode() + ',"data":'
    last_members: dict[str, object] = {"actor": asdict(actor)}
    if topic.details:
        last_members = {"details": {name: (details or {}).get(name) for name in topic.details.fields}} | last_members
    columns = [event.organization_id, event.created_at, event.type, event.request_id, *actor_columns(actor).values()]
    row_params = [*columns, body_start, "," + orjson.dumps(last_members)[1:].decode(), *comparison]
    data = query.statement
    data_params = bind(data.params, {"organization": organization.pk, **values})
    events = NewEvents(topic, data.sql, data_params, row_params, compare if comparison else "")
    waiting = _waiting.get()
    if waiting is None:
        insert_now([events])
    else:
        waiting.append(events)


@contextmanager
def one_statement() -> Iterator[None]:
    """Record the events of the block in one statement at its end, and none if it raises.

    Their order, ids and timestamps are as without it. The bodies show the subjects as stored at the end.
    """
    waiting: list[NewEvents] = []
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
    if waiting:
        insert_now(waiting)


def insert_now(waiting: Sequence[NewEvents]) -> None:
    numbered = list(enumerate(waiting))
    sql = INSERT_EVENTS.format(
        data=", ".join(DATA.format(number=number, query=events.data_sql) for number, events in numbered),
        rows=" UNION ALL ".join(events.row(number) for number, events in numbered),
        changes="".join(events.change(number) for number, events in numbered),
    )
    params = [param for events in waiting for param in events.data_params]
    params += [param for events in waiting for param in events.row_params]
    with preparing_cursor() as cursor:
        cursor.execute(sql, params)
        endpoint_ids = {row[0] for row in cursor.fetchall()}
    for endpoint_id in endpoint_ids:
        notify_on_commit(Delivery, endpoint_id)


def build_event(topic: Topic, organization: Organization, actor: Actor) -> Event:
    columns = {"request_id": request_id.current_request_id(), **actor_columns(actor)}
    return Event(organization=organization, type=topic.name, **columns)


def envelope(event: Event) -> dict[str, object]:
    """Return the fields that every event's body has between its id and `data`, in their order."""
    return {
        "type": event.type,
        "timestamp": isoformat_z(event.created_at),
        "organization_id": event.organization_id,
        "is_test": event.organization.is_test,
        "request_id": event.request_id if event.request_id != request_id.NO_REQUEST else None,
    }


@transaction.atomic
def replace_events(
    *,
    organization: Organization,
    subjects: Mapping[uuid.UUID, uuid.UUID],
    topic: Topic,
    limit: int,
    between: tuple[datetime, datetime] | None = None,
) -> int:
    """Turn up to `limit` events about these rows into events of the topic; return how many.

    With `between`, only those of these times, both included.

    `subjects` has the row that the topic is then about, which must be stored, for each of the rows. The events keep
    their id, time, place in the list and actor. Pending deliveries are canceled, and responses, which can repeat what
    was sent, are emptied. Locks them.
    """
    events = Event.objects.of(organization).filter(is_any_of("subject_id", [*subjects])).exclude(type=topic.name)
    if between:
        events = events.filter(created_at__range=between)
    # Without an order, which could make PostgreSQL read the events of all subjects in that order.
    first_ids = list(events.order_by().values_list("pk", flat=True)[:limit])
    if not first_ids:
        return 0
    ids = list(events.filter(pk__in=first_ids).order_by("pk").select_for_update().values_list("pk", flat=True))
    deliveries = Delivery.objects.of(organization).filter(event__in=ids)
    # First of all: this waits for a worker that is storing a result, whose attempt is then emptied below.
    canceled = {"state": State.CANCELED, "next_attempt_at": None, "lease_token": None, "finished_at": Now()}
    deliveries.filter(state=State.PENDING).update(**canceled)
    Attempt.objects.of(organization).filter(delivery__in=deliveries).update(response="")
    query = topic.serializer.query_by_ids()
    texts = dict(query.all(organization=organization.pk, ids=[*set(subjects.values())]))
    data = ",".join(f'{{"row_id":"{row}","id":"{id}","json":{texts[id]}}}' for row, id in subjects.items())
    with connection.cursor() as cursor:
        cursor.execute(REPLACE_EVENTS, [topic.name, topic.name, f"[{data}]", organization.pk, ids])
    return len(first_ids)
