"""Worlds for tests, made through the services."""

from typing import Any

from django.apps import apps
from django.db import connection
from psycopg import sql

from appointments.models import Appointment, CallAnalysis, EventType, Note
from leads.models import CustomField, Lead, Source
from notifications.models import Notification
from optins.models import OptIn
from organizations.actors import Actor, staff_actor
from organizations.isolation.tenancy import TenantModel
from organizations.models import ApiKey, Membership, Organization, Role, User
from organizations.services import add_member, issue_key
from pipeline_backend.onboarding import create_organization
from statuses.models import Status
from statuses.services import save_status
from tests.client import TIME, Api
from webhooks.models import Event


def make_organization(name: str = "Acme") -> Organization:
    """An organization with its ten statuses and an owner, owner@<name>.example."""
    return create_organization(name=name, owner_email=f"owner@{name.lower()}.example").organization


def make_member(organization: Organization, email: str, *, role: str = Role.CLOSER, **person: Any) -> Membership:
    """An active member who can sign in with the password `secret-of-tests`."""
    user = User.objects.create_user(email, "secret-of-tests", **person)
    return add_member(organization=organization, user=user, role=role)


def make_api(organization: Organization, **key: Any) -> Api:
    """An integrator with a key of the organization (`scopes`, `expires_at` if wanted)."""
    _, text = issue_key(organization=organization, name="Tests", **key)
    return Api(text)


def owner_of(organization: Organization) -> Membership:
    """The member that every organization opens with."""
    return Membership.objects.of(organization).get(role=Role.OWNER)


def owner_actor(organization: Organization) -> Actor:
    """The owner at the admin, for staff's services."""
    return staff_actor(owner_of(organization).user)


def deactivate(member: Membership) -> None:
    """Someone leaves the organization."""
    member.is_active = False
    member.save(update_fields=["is_active"])


def make_status(organization: Organization, name: str, **fields: Any) -> Status:
    """A status beside the ten, which automatic moves don't use."""
    return save_status(
        organization=organization,
        status=Status(organization=organization, name=name, **{"role": "FOLLOW_UP", **fields}),
    )


def make_event_type(organization: Organization, name: str, **fields: Any) -> EventType:
    """An event type as an integration with a provider makes it."""
    return EventType.objects.create(organization=organization, name=name, **fields)


def make_provider_appointment(
    organization: Organization, email: str = "grace@example.com", **fields: Any
) -> Appointment:
    """An appointment that a scheduler provider manages, with a lead of its own."""
    source, _ = Source.objects.of(organization).get_or_create(organization=organization, name="SCHEDULER_A")
    booked = Status.objects.of(organization).get(role="APPOINTMENT_BOOKED", is_appointment_default=True)
    sources = {"first_source": source, "last_source": source}
    lead = Lead.objects.of(organization).filter(email=email).first()
    lead = lead or Lead.objects.create(
        organization=organization, email=email, first_name="Grace", status=booked, **sources
    )
    own = {
        "source": "SCHEDULER_A",
        "external_reference": "ref-1",
        "schedule_time": TIME,
        "outcome": booked,
        **sources,
        **fields,
    }
    return Appointment.objects.create(organization=organization, lead=lead, **own)


def make_note(organization: Organization, appointment_id: str, text: str, *mentions: Membership) -> Note:
    """A staff member's note."""
    note = Note.objects.create(organization=organization, appointment_id=appointment_id, note=text)
    note.mention_users.set(mentions)
    return note


def make_analysis(organization: Organization, appointment_id: str, **fields: Any) -> CallAnalysis:
    """What the analysis platform says of the call."""
    own = {
        "call_analysis_call_id": "call-77",
        "ai_generated_title": "A good call",
        "ai_rationale": "They asked for the contract.",
        "ai_suggested_outcome": "Won",
        "ai_confidence_score": 0.875,
    }
    return CallAnalysis.objects.create(organization=organization, appointment_id=appointment_id, **{**own, **fields})


def make_custom_field(organization: Organization, entity: str, key: str, **fields: Any) -> CustomField:
    """A column that the organization adds; its label is the key with a capital."""
    return CustomField.objects.create(
        organization=organization, entity=entity, key=key, **{"label": key.capitalize(), **fields}
    )


def change(model: type[TenantModel], organization: Organization, id: str, **fields: Any) -> None:
    """Set columns that the interface can't: moments, values, provider's facts."""
    assert model.objects.of(organization).filter(pk=id).update(**fields) == 1


def events_of(organization: Organization) -> list[str]:
    """The types of the organization's events, sorted."""
    return sorted(Event.objects.of(organization).values_list("type", flat=True))


def mails_of(organization: Organization) -> list[tuple[str, str]]:
    """The kinds and recipients of the organization's notifications, sorted."""
    return sorted(Notification.objects.of(organization).values_list("kind", "recipient__user__email"))


def facts(organization: Organization) -> dict[str, Any]:
    """What the organization has, in numbers, with its events and mails."""
    counted = {"appointments": Appointment, "leads": Lead, "opt_ins": OptIn, "event_types": EventType}
    counts = {name: model.objects.of(organization).count() for name, model in counted.items()}
    return {**counts, "events": events_of(organization), "mails": mails_of(organization)}


def everything(organization: Organization) -> list[tuple[str, str]]:
    """Every row of the organization, except that a key was used: what must be the same after a refusal. One query, as it is asked so often."""
    models = [model for model in apps.get_models() if issubclass(model, TenantModel) and model is not ApiKey]
    of_one = "SELECT {name}, to_jsonb(rows)::text FROM {table} rows WHERE organization_id = {organization}"
    parts = [
        sql.SQL(of_one).format(
            name=sql.Literal(model.__name__),
            table=sql.Identifier(model._meta.db_table),
            organization=sql.Literal(organization.pk),
        )
        for model in models
    ]
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(parts))
        return sorted(cursor.fetchall())
