"""The rows of an organization that simulated leads refer to, as plain ids and names."""

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from appointments.models import AppointmentSource, EventType
from leads.models import CustomField
from leads.services import get_or_create_source
from organizations.actors import SYSTEM, Actor, api_key_actor, staff_actor
from organizations.models import ApiKey, MemberRole, Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo.actions import random_custom_values
from pipeline_backend.demo.campaigns import TRAFFIC_SOURCES
from pipeline_backend.demo.organization_setup import load_organization
from statuses.models import Board, StatusRole
from statuses.services import default_statuses

# How often each outcome occurs among past appointments that were not canceled, in percent.
OUTCOME_WEIGHTS = {
    StatusRole.WON: 18,
    StatusRole.LOST: 22,
    StatusRole.NO_SHOW: 20,
    StatusRole.FOLLOW_UP: 14,
    StatusRole.RESCHEDULED: 8,
    StatusRole.PARTIAL_PAYMENT: 6,
    StatusRole.UNQUALIFIED: 12,
}
# Custom values are drawn from this many prepared sets, because drawing each value separately would be slow.
CUSTOM_VALUE_SETS = 50


class ActorColumns(NamedTuple):
    """An actor as the columns of the history tables."""

    kind: str
    id: str
    name: str


class Host(NamedTuple):
    """A member who hosts appointments."""

    id: str
    actor: ActorColumns


@dataclass(frozen=True)
class OrganizationSnapshot:
    """What a simulation refers to. Ids are strings, and the dicts of statuses are keyed by role."""

    organization_id: str
    now: datetime
    rng: random.Random
    lead_statuses: dict[str, str]
    appointment_statuses: dict[str, str]
    status_names: dict[str, str]
    sources: dict[str, str]
    event_types: dict[str, list[EventType]]
    hosts: list[Host]
    setters: list[str]
    integration: ActorColumns
    system: ActorColumns
    lead_custom_values: list[str]
    appointment_custom_values: list[str]

    def random_outcome(self) -> StatusRole:
        """Return a random outcome for a past appointment, among those that the organization has a status for."""
        roles = [role for role in OUTCOME_WEIGHTS if role in self.appointment_statuses] or [StatusRole.CANCELED]
        return self.rng.choices(roles, [OUTCOME_WEIGHTS.get(role, 1) for role in roles])[0]

    def random_time(self, start: datetime, end: datetime) -> datetime:
        """Return a random time between the two, with milliseconds, as all stored times have."""
        return start + timedelta(milliseconds=int((end - start).total_seconds() * 1000 * self.rng.random()))


def take_snapshot(organization: Organization, seed: str) -> OrganizationSnapshot:
    """Return the organization's rows as they are stored now. Creates missing sources."""
    data, rng = load_organization(organization), random.Random(seed)  # noqa: S311  # sample data, not security
    api_key = ApiKey.objects.of(organization).order_by("created_at", "id").first()
    source_names = [*(utm_source for utm_source, _, _ in TRAFFIC_SOURCES), *AppointmentSource.values]
    statuses = default_statuses(organization, *((board, role) for board in Board for role in StatusRole))
    appointment_statuses = {role: status for (board, role), status in statuses.items() if board == Board.APPOINTMENT}
    # If nobody is active, former members take part, because each appointment needs a host.
    hosts = data.members_with_role(MemberRole.CLOSER) or data.members
    setters = data.members_with_role(MemberRole.SETTER) or data.members
    return OrganizationSnapshot(
        organization_id=str(organization.pk),
        now=now(),
        rng=rng,
        lead_statuses={role.value: str(status.pk) for (board, role), status in statuses.items() if board == Board.LEAD},
        appointment_statuses={role.value: str(status.pk) for role, status in appointment_statuses.items()},
        status_names={role.value: status.name for role, status in appointment_statuses.items()},
        sources={name: str(get_or_create_source(organization=organization, name=name).pk) for name in source_names},
        event_types={
            source.value: data.event_types_of(None if source == AppointmentSource.MANUAL else source.value)
            for source in AppointmentSource
        },
        hosts=[Host(str(member.pk), as_columns(staff_actor(member.user))) for member in hosts],
        setters=[str(member.pk) for member in setters],
        integration=as_columns(api_key_actor(api_key) if api_key else SYSTEM),
        system=as_columns(SYSTEM),
        lead_custom_values=[
            json.dumps(random_custom_values(data, rng, CustomField.Entity.LEAD)) for _ in range(CUSTOM_VALUE_SETS)
        ],
        appointment_custom_values=[
            json.dumps(random_custom_values(data, rng, CustomField.Entity.APPOINTMENT))
            for _ in range(CUSTOM_VALUE_SETS)
        ],
    )


def as_columns(actor: Actor) -> ActorColumns:
    """Return the actor as plain text."""
    return ActorColumns(actor.kind.value, actor.id, actor.name)
