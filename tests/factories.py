"""Factories for test data, which use the services where there is one, and summaries of what an organization has."""

import json
import re
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Model, QuerySet
from psycopg import sql
from uuid_utils.compat import uuid7

from accounts.onboarding import create_organization
from appointments.models import Appointment, CallAnalysis, EventType, Note
from foundation.db.timestamps import isoformat_z, now
from leads.models import CustomField, Lead, Source
from notifications.models import Notification
from optins.models import OptIn
from organizations.actors import SYSTEM, Actor, staff_actor
from organizations.defaults import new_user_id
from organizations.isolation import TenantModel
from organizations.models import ApiKey, MemberRole, Membership, Organization, Scope, User
from organizations.services import add_member, issue_key
from statuses.models import Status
from statuses.services import save_status
from tests.client import SCHEDULE_TIME, ApiClient
from webhooks.models import Event

# By name: the rows of an organization that the service has created, as JSON by table.
RECORDED: dict[str, dict[type[Model], str]] = {}
RECORDED_ID = re.compile(r'"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|user_\w{24})"')
RECORDED_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]+"')


def make_organization(name: str = "Acme") -> Organization:
    """Create an organization with its ten statuses and an owner, owner@<name>.example.

    The service creates the first of a name. Others get the same rows with new ids and times: most tests need one, and
    that takes a third of the time.
    """
    if name not in RECORDED:
        organization = create_organization(name=name, owner=User.objects.create_user(f"owner@{name.lower()}.example"))
        RECORDED[name] = recorded_rows(organization)
        return organization
    ids: dict[str, str] = {}

    def renewed_id(match: re.Match[str]) -> str:
        is_user = match[0].startswith('"user_')
        return ids.setdefault(match[0], f'"{new_user_id() if is_user else uuid7()}"')

    time = f'"{isoformat_z(now())}"'
    rows = [RECORDED_TIME.sub(time, RECORDED_ID.sub(renewed_id, text)) for text in RECORDED[name].values()]
    with connection.cursor() as cursor:
        cursor.execute(insert_statement(*RECORDED[name]), rows)
    return Organization.objects.get(pk=json.loads(rows[0])[0]["id"])


def recorded_rows(organization: Organization) -> dict[type[Model], str]:
    owner = owner_of(organization)
    queries = {
        Organization: Organization.objects.filter(pk=organization.pk),
        User: User.objects.filter(pk=owner.user_id),
        Membership: Membership.objects.of(organization),
        Status: Status.objects.of(organization).order_by("pk"),  # new ids have the same order
    }
    return {model: rows_as_json(model, query) for model, query in queries.items()}


def rows_as_json(model: type[Model], rows: QuerySet[Any]) -> str:
    select = sql.SQL("SELECT jsonb_agg(to_jsonb(rows) ORDER BY id)::text FROM {} rows WHERE id = ANY(%s)")
    with connection.cursor() as cursor:
        cursor.execute(select.format(sql.Identifier(model._meta.db_table)), [list(rows.values_list("pk", flat=True))])
        return str(cursor.fetchone()[0])


@cache
def insert_statement(*models: type[Model]) -> str:
    insert = "INSERT INTO {table} SELECT * FROM jsonb_populate_recordset(NULL::{table}, %s)"
    inserts = [sql.SQL(insert).format(table=sql.Identifier(model._meta.db_table)) for model in models]
    parts = [sql.SQL("part{} AS ({})").format(sql.SQL(str(number)), part) for number, part in enumerate(inserts)]
    return sql.SQL("WITH {} SELECT").format(sql.SQL(", ").join(parts)).as_string(None)


def make_member(
    organization: Organization, email: str, *, role: str = MemberRole.CLOSER, **user_fields: Any
) -> Membership:
    """Create an active member who can sign in with the password `secret-of-tests`."""
    user = User.objects.create_user(email, "secret-of-tests", **user_fields)
    return add_member(organization=organization, user=user, role=role)


def make_api(organization: Organization, **key_fields: Any) -> ApiClient:
    """Create an API key with all scopes (or other `scopes`, or `expires_at`) and return a client that uses it."""
    _, text = issue_key(organization=organization, name="Tests", **{"scopes": list(Scope.values), **key_fields})
    return ApiClient(text)


def owner_of(organization: Organization) -> Membership:
    """Return the organization's only owner."""
    return Membership.objects.of(organization).get(role=MemberRole.OWNER)


def owner_actor(organization: Organization) -> Actor:
    """Return the owner as the actor of a change that is made in the admin."""
    return staff_actor(owner_of(organization).user)


def deactivate(member: Membership) -> None:
    """Make the member inactive, as when someone leaves the organization."""
    member.is_active = False
    member.save(update_fields=["is_active"])


def make_status(organization: Organization, name: str, **fields: Any) -> Status:
    """Create a status in addition to the ten defaults; automatic status changes don't use it."""
    return save_status(
        organization=organization,
        actor=SYSTEM,
        status=Status(organization=organization, name=name, **{"role": "FOLLOW_UP", **fields}),
    )


def make_event_type(organization: Organization, name: str, **fields: Any) -> EventType:
    """Create an event type directly, as a provider integration would."""
    return EventType.objects.create(organization=organization, name=name, **fields)


def make_provider_appointment(
    organization: Organization, email: str = "grace@example.com", **fields: Any
) -> Appointment:
    """Create an appointment that a scheduling provider manages, and its lead if there is none with this e-mail."""
    source, _ = Source.objects.of(organization).get_or_create(organization=organization, name="SCHEDULER_A")
    booked = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED", is_appointment_default=True)
    sources = {"first_source": source, "last_source": source}
    lead = Lead.objects.of(organization).filter(email=email).first()
    lead = lead or Lead.objects.create(
        organization=organization, email=email, first_name="Grace", status=booked, **sources
    )
    values = {
        "source": "SCHEDULER_A",
        "external_reference": "ref-1",
        "schedule_time": SCHEDULE_TIME,
        "outcome": booked,
        **sources,
        **fields,
    }
    return Appointment.objects.create(organization=organization, lead=lead, **values)


def make_note(organization: Organization, appointment_id: str, text: str, *mentions: Membership) -> Note:
    """Create a staff member's note, which mentions these members."""
    note = Note.objects.create(organization=organization, appointment_id=appointment_id, note=text)
    note.mention_users.set(mentions)
    return note


def make_analysis(organization: Organization, appointment_id: str, **fields: Any) -> CallAnalysis:
    """Create a call analysis, as the analysis platform would."""
    values = {
        "call_analysis_call_id": "call-77",
        "ai_generated_title": "A good call",
        "ai_rationale": "They asked for the contract.",
        "ai_suggested_outcome": "Won",
        "ai_confidence_score": 0.875,
    }
    return CallAnalysis.objects.create(organization=organization, appointment_id=appointment_id, **{**values, **fields})


def make_custom_field(organization: Organization, entity: str, key: str, **fields: Any) -> CustomField:
    """Create a custom field; its label is the capitalized key unless `label` is given."""
    return CustomField.objects.create(
        organization=organization, entity=entity, key=key, **{"label": key.capitalize(), **fields}
    )


def set_columns(model: type[TenantModel], organization: Organization, id: str, **columns: Any) -> None:
    """Update columns of a row that the API can't change, such as timestamps or a provider's data."""
    assert model.objects.of(organization).filter(pk=id).update(**columns) == 1


def events_of(organization: Organization) -> list[str]:
    """Return the types of the organization's events, sorted."""
    return sorted(Event.objects.of(organization).values_list("type", flat=True))


def notifications_of(organization: Organization) -> list[tuple[str, str]]:
    """Return kind and recipient of each of the organization's notifications, sorted."""
    return sorted(Notification.objects.of(organization).values_list("kind", "recipient__user__email"))


def summary_of(organization: Organization) -> dict[str, Any]:
    """Return how many rows of the main models the organization has, and its events and notifications."""
    models = {"appointments": Appointment, "leads": Lead, "opt_ins": OptIn, "event_types": EventType}
    counts = {name: model.objects.of(organization).count() for name, model in models.items()}
    return {**counts, "events": events_of(organization), "notifications": notifications_of(organization)}


@cache
def snapshot_statement() -> str:
    """Return one statement for all tables, the same text each time, so that PostgreSQL plans it once per connection."""
    models = [model for model in apps.get_models() if issubclass(model, TenantModel) and model is not ApiKey]
    select_rows = "SELECT {name}, to_jsonb(rows)::text FROM {table} rows WHERE organization_id = %(organization)s"
    selects = [
        sql.SQL(select_rows).format(name=sql.Literal(model.__name__), table=sql.Identifier(model._meta.db_table))
        for model in models
    ]
    return sql.SQL(" UNION ALL ").join(selects).as_string(None)


def snapshot_of(organization: Organization) -> list[tuple[str, str]]:
    """Return all rows of the organization, as (model, JSON), sorted. Compare two to prove that nothing changed.

    API keys are left out, because using one updates `last_used_at`.
    """
    with connection.cursor() as cursor:
        cursor.execute(snapshot_statement(), {"organization": organization.pk})
        return sorted(cursor.fetchall())
