"""What an organization has, at hand for inventing lives: ids instead of rows, and one source of chance."""

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from appointments.models import AppointmentSource, EventType
from leads.models import CustomField
from leads.services import get_or_create_source
from organizations.actors import SYSTEM, Actor, api_key_actor, staff_actor
from organizations.models import ApiKey, Membership, Organization
from organizations.models import Role as MemberRole
from pipeline_backend.db.timestamps import now
from pipeline_backend.demo.actions import random_custom_values
from pipeline_backend.demo.campaigns import CHANNELS
from pipeline_backend.demo.organization_setup import DemoOrganization, load_organization
from statuses.models import Board, Role
from statuses.services import default_statuses

OUTCOME_WEIGHTS = {
    Role.WON: 18,
    Role.LOST: 22,
    Role.NO_SHOW: 20,
    Role.FOLLOW_UP: 14,
    Role.RESCHEDULED: 8,
    Role.PARTIAL_PAYMENT: 6,
    Role.UNQUALIFIED: 12,
}
VARIANTS = 50


class ActorColumns(NamedTuple):
    """An actor, as the columns of the histories."""

    kind: str
    id: str
    name: str


class Host(NamedTuple):
    """A member who holds calls."""

    id: str
    by: ActorColumns


@dataclass(frozen=True)
class OrganizationSnapshot:
    """Everything that a life can come upon."""

    organization_id: str
    now: datetime
    chance: random.Random
    lead_statuses: dict[str, str]
    call_statuses: dict[str, str]
    status_names: dict[str, str]
    sources: dict[str, str]
    types: dict[str, list[EventType]]
    hosts: list[Host]
    setters: list[str]
    integration: ActorColumns
    system: ActorColumns
    lead_values: list[str]
    call_values: list[str]

    def fate(self) -> Role:
        """What becomes of a call: one of the outcomes that the organization has."""
        known = [role for role in OUTCOME_WEIGHTS if role in self.call_statuses] or [Role.CANCELED]
        return self.chance.choices(known, [OUTCOME_WEIGHTS.get(role, 1) for role in known])[0]

    def between(self, start: datetime, end: datetime) -> datetime:
        """Some moment, to the millisecond."""
        return start + timedelta(milliseconds=int((end - start).total_seconds() * 1000 * self.chance.random()))


def take_snapshot(organization: Organization, seed: str) -> OrganizationSnapshot:
    """The organization as it is now."""
    world, chance = load_organization(organization), random.Random(seed)  # noqa: S311  # invents people, guards nothing
    key = ApiKey.objects.of(organization).order_by("created_at", "id").first()
    names = [*(channel for channel, _, _ in CHANNELS), *AppointmentSource.values]
    found = default_statuses(organization, *((board, role) for board in Board for role in Role))
    return OrganizationSnapshot(
        organization_id=str(organization.pk),
        now=now(),
        chance=chance,
        lead_statuses={role.value: str(status.pk) for (board, role), status in found.items() if board == Board.LEAD},
        call_statuses={
            role.value: str(status.pk) for (board, role), status in found.items() if board == Board.APPOINTMENT
        },
        status_names={role.value: status.name for (board, role), status in found.items() if board == Board.APPOINTMENT},
        sources={name: str(get_or_create_source(organization=organization, name=name).pk) for name in names},
        types={
            source.value: world.types_of(None if source == AppointmentSource.MANUAL else source.value)
            for source in AppointmentSource
        },
        hosts=[
            Host(str(member.pk), as_columns(staff_actor(member.user)))
            for member in members_with_role(world, MemberRole.CLOSER)
        ],
        setters=[str(member.pk) for member in members_with_role(world, MemberRole.SETTER)],
        integration=as_columns(api_key_actor(key) if key else SYSTEM),
        system=as_columns(SYSTEM),
        lead_values=[json.dumps(random_custom_values(world, chance, CustomField.Entity.LEAD)) for _ in range(VARIANTS)],
        call_values=[
            json.dumps(random_custom_values(world, chance, CustomField.Entity.APPOINTMENT)) for _ in range(VARIANTS)
        ],
    )


def members_with_role(world: DemoOrganization, role: str) -> list[Membership]:
    """Who can be chosen; everybody who ever was a member, if nobody is active."""
    return world.team(role) or world.members


def as_columns(actor: Actor) -> ActorColumns:
    """The actor as plain text."""
    return ActorColumns(actor.kind.value, actor.id, actor.name)
