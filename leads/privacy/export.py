"""Everything that is stored about a lead, as JSON.

It is written to a file row by row, and rows are read in batches that are bounded in characters: a lead can have
thousands of rows, and a row a megabyte of text.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import IO, Any
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Exists, IntegerField, JSONField, Model, OuterRef, QuerySet, TextField
from django.db.models.expressions import RawSQL

from foundation.db.timestamps import now
from leads.models import CustomField, Lead
from leads.privacy.models import UndoneMerge
from leads.privacy.rules import AnyModel, batches, find_rows, load_rules
from notifications.models import Notification
from organizations.models import Membership
from webhooks.models import Delivery, Event

HIDDEN = {"organization", "lease_token"}  # of no meaning to a person
BATCH, BATCH_SIZE = 500, 1_000_000  # rows, and bytes of their text; a larger row is read alone


@transaction.atomic
def export_lead(lead: Lead, file: IO[bytes]) -> None:
    organization, rows = lead.organization, find_rows(lead)
    ids = [id for found in rows.values() for id in found]
    head = {
        "exported_at": now(),
        "organization": organization.name,
        "custom_fields": {str(field.pk): field.label for field in CustomField.objects.of(organization)},
    }
    file.write(to_json(head).removesuffix("\n}").encode())
    for model, found in rows.items():
        name = str(model._meta.verbose_name_plural).replace(" ", "_")
        write_list(file, name, describe_rows(model._base_manager.all(), "pk", found))
    # They name both leads.
    merged = UndoneMerge.objects.of(organization).filter(
        lead_id=lead.pk, began_at__lte=OuterRef("created_at"), ended_at__gte=OuterRef("created_at")
    )
    events = Event.objects.of(organization).exclude(Exists(merged))
    notifications = Notification.objects.of(organization).exclude(Exists(merged))
    event_ids = [row[1] for row in order_of(events, "subject_id", ids)]
    sent = chain.from_iterable(read_batches(events, "pk", event_ids))
    write_list(file, "events", ({"id": event.pk, **json.loads(event.body)} for event in sent))
    write_list(file, "deliveries", describe_rows(Delivery.objects.of(organization), "event", event_ids))
    write_list(file, "notifications", describe_rows(notifications, "subject_id", ids))
    file.write(b"\n}")


def to_json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, indent=2, ensure_ascii=False)


def write_list(file: IO[bytes], name: str, rows: Iterable[dict[str, Any]]) -> None:
    file.write(f",\n  {json.dumps(name)}: [".encode())
    separator = end = ""
    for row in rows:
        # In JSON no text has a line end, so all of them are between the members.
        file.write(f"{separator}\n    {to_json(row).replace(chr(10), chr(10) + '    ')}".encode())
        separator, end = ",", "\n  "
    file.write(f"{end}]".encode())


def order_of(rows: QuerySet[Any], column: str, values: Sequence[UUID]) -> list[tuple[Any, UUID, int]]:
    size = RawSQL(f'octet_length("{rows.model._meta.db_table}"::text)', (), IntegerField())  # noqa: S611  our own name
    found: list[tuple[Any, UUID, int]] = []
    for some in batches(values, 1000):
        some_rows = rows.filter(**{f"{column}__in": some}).order_by()
        found += some_rows.annotate(text_size=size).values_list("created_at", "pk", "text_size")
    return sorted(found)


def read_batches(rows: QuerySet[Any], column: str, values: Sequence[UUID]) -> Iterator[list[Any]]:
    batch: list[UUID] = []
    size = 0
    for _, id, row_size in order_of(rows, column, values):
        if batch and (len(batch) == BATCH or size + row_size > BATCH_SIZE):
            yield list(rows.filter(pk__in=batch).order_by("created_at", "pk"))
            batch, size = [], 0
        batch.append(id)
        size += row_size
    yield list(rows.filter(pk__in=batch).order_by("created_at", "pk"))


def describe_rows(rows: QuerySet[Any], column: str, values: Sequence[UUID]) -> Iterator[dict[str, Any]]:
    """Yield the columns of each row by name. After the id of a row outside the lead's tables comes that row's name."""
    for batch in read_batches(rows, column, values):
        names = names_of_references(batch)
        for row in batch:
            columns: dict[str, Any] = {}
            for field in row._meta.concrete_fields:
                if field.name in HIDDEN:
                    continue
                columns[field.attname] = value = getattr(row, field.attname)
                if field.is_relation and (name := names.get((field.related_model, value))):
                    columns[field.name] = name
            yield columns


def names_of_references(rows: list[Model]) -> dict[tuple[AnyModel, object], str]:
    tables = load_rules()
    ids: dict[AnyModel, set[object]] = defaultdict(set)
    for row in rows:
        for field in row._meta.concrete_fields:
            target: Any = field.related_model
            if field.is_relation and target not in tables:
                ids[target].add(getattr(row, field.attname))
    names = {}
    for model, wanted in ids.items():
        # An event has a long text, and its name needs none.
        long = [field.name for field in model._meta.concrete_fields if isinstance(field, JSONField | TextField)]
        found = model._base_manager.filter(pk__in=wanted - {None}).defer(*long)
        for row in found.select_related("user") if model is Membership else found:
            names[model, row.pk] = str(row)
    return names
