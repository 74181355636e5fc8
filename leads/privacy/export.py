"""Everything that is stored about a lead, as JSON."""

import json
from collections import defaultdict
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Model, QuerySet

from foundation.db.timestamps import now
from leads.models import CustomField, Lead
from leads.privacy.rules import AnyModel, find_rows, load_rules
from notifications.models import Notification
from organizations.models import Membership
from webhooks.models import Delivery, Event

HIDDEN = {"organization", "lease_token"}  # of no meaning to a person


@transaction.atomic
def export_lead(lead: Lead) -> str:
    """Return all that is stored about the lead as indented JSON: its rows by table, and what was sent about them."""
    rows = find_rows(lead)
    ids = [id for found in rows.values() for id in found]
    tables = {
        str(model._meta.verbose_name_plural).replace(" ", "_"): describe_rows(model._base_manager.filter(pk__in=found))
        for model, found in rows.items()
    }
    organization = lead.organization
    events = Event.objects.of(organization).filter(subject_id__in=ids).order_by("created_at", "id")
    deliveries = Delivery.objects.of(organization).filter(event__in=events).order_by("created_at", "id")
    notifications = Notification.objects.of(organization).filter(subject_id__in=ids).order_by("created_at", "id")
    data = {
        "exported_at": now(),
        "organization": organization.name,
        "custom_fields": {str(field.pk): field.label for field in CustomField.objects.of(organization)},
        **tables,
        "events": [{"id": event.pk, **json.loads(event.body)} for event in events],
        "deliveries": describe_rows(deliveries),
        "notifications": describe_rows(notifications),
    }
    return json.dumps(data, cls=DjangoJSONEncoder, indent=2, ensure_ascii=False)


def describe_rows(rows: QuerySet[Any]) -> list[dict[str, Any]]:
    """Return each row's columns by name, and after the id of a row outside the lead's tables that row's name."""
    found = list(rows.order_by("created_at", "pk"))
    names = names_of_references(found)
    described = []
    for row in found:
        columns: dict[str, Any] = {}
        for field in row._meta.concrete_fields:
            if field.name in HIDDEN:
                continue
            columns[field.attname] = value = getattr(row, field.attname)
            if field.is_relation and (name := names.get((field.related_model, value))):
                columns[field.name] = name
        described.append(columns)
    return described


def names_of_references(rows: list[Model]) -> dict[tuple[AnyModel, object], str]:
    """Return the names of the rows that these refer to, by model and id, with one query for each model."""
    tables = load_rules()
    ids: dict[AnyModel, set[object]] = defaultdict(set)
    for row in rows:
        for field in row._meta.concrete_fields:
            target: Any = field.related_model
            if field.is_relation and target not in tables:
                ids[target].add(getattr(row, field.attname))
    names = {}
    for model, wanted in ids.items():
        found = model._base_manager.filter(pk__in=wanted - {None})
        for row in found.select_related("user") if model is Membership else found:
            names[model, row.pk] = str(row)
    return names
