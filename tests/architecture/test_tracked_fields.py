"""No shown field can change unseen: `previous` of an event covers each, or the serializer names it as untracked."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import models

from appointments.models import Appointment
from appointments.serializers import AppointmentDetailSerializer
from foundation.api.sql_serializers import SQLSerializer
from leads.models import Lead, LeadMerge, Source
from leads.serializers import LeadDetailSerializer
from optins.models import UTM_FIELDS
from organizations.models import Membership, Organization
from organizations.versions import VersionedModel
from statuses.models import Status
from tests.client import ApiClient
from tests.factories import make_analysis, make_custom_field, make_event_type

# Columns whose change `previous` does not show: those that no service changes in a stored row, except by erasing its
# lead; the version; and an appointment's lead, because merging records its own `previous`.
UNTRACKED_COLUMNS = {
    Lead: {"id", "organization", "created_at", "updated_at"},
    Appointment: {
        *("id", "organization", "created_at", "updated_at", "lead", "source"),
        *("first_source", "last_source", *UTM_FIELDS),
    },
}


@pytest.fixture(params=[LeadDetailSerializer, AppointmentDetailSerializer])
def serializer(request: pytest.FixtureRequest) -> type[SQLSerializer]:
    serializer: type[SQLSerializer] = request.param
    return serializer


@pytest.fixture
def row(serializer: type[SQLSerializer], api: ApiClient, organization: Organization) -> VersionedModel:
    """A stored row of the serializer's model, with a custom field."""
    api.book()
    entity = "LEAD" if serializer is LeadDetailSerializer else "APPOINTMENT"
    make_custom_field(organization, entity, "color")
    stored: VersionedModel = serializer.model.objects.of(organization).get()  # type: ignore[attr-defined]
    return stored


def shown(serializer: type[SQLSerializer], row: VersionedModel) -> dict[str, Any]:
    fields: dict[str, Any] = orjson.loads(serializer.get_text(row.organization, row.pk) or "{}")
    return fields


def differences(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name, value in before.items() if value != after[name]}


def other_value(field: models.Field, row: VersionedModel) -> Any:
    """Return a value that the row does not have in this column."""
    organization, value = row.organization, getattr(row, field.name)
    if field.is_relation:
        if field.related_model is Source:
            return Source.objects.create(organization=organization, name=f"other {field.name}")
        if field.name == "event_type":
            # A scheduler's, because only those have an owner.
            return make_event_type(organization, "Other", provider="SCHEDULER_A", owner_name="Hana")
        if field.related_model is Status:
            return Status.objects.of(organization).get(role="NO_SHOW")
        return Membership.objects.of(organization).get()
    if field.choices:
        return next(choice for choice, _ in field.choices if choice != value)
    match field:
        case models.BooleanField():
            return not value
        case models.DateTimeField():
            return (value or row.created_at) + timedelta(days=1)
        case models.JSONField():
            custom_field = make_custom_field(organization, type(row).__name__.upper(), "size")
            return {str(custom_field.pk): "L"}
        case models.IntegerField():  # of any size
            return (value or 0) + 1
    return [row.pk] if field.name == "invited" else "other"[: field.max_length]


def test_every_field_that_can_change_is_tracked(
    serializer: type[SQLSerializer], row: VersionedModel, organization: Organization
) -> None:
    """Each column in turn gets another value; together they change every field that is not named as untracked."""
    fields = [field for field in row._meta.concrete_fields if field.name not in UNTRACKED_COLUMNS[type(row)]]
    changed: set[str] = set()
    for field in fields:
        value, before = other_value(field, row), shown(serializer, row)
        setattr(row, field.name, value)
        row.save(update_fields=[field.name])
        differing = differences(before, shown(serializer, row))
        assert bool(differing) == (field.name not in row.unversioned), field.name
        changed |= differing
    before = shown(serializer, row)
    if isinstance(row, Appointment):
        make_analysis(organization, str(row.pk))
    else:
        LeadMerge.objects.create(organization=organization, lead=row, previous_id=row.status_id)
    changed |= differences(before, shown(serializer, row))

    assert changed == serializer.fields.keys() - set(serializer.untracked)
