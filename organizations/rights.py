"""Who may do what in the admin: one table, and the questions that are asked of it.

What a person may do comes from their active memberships of active organizations, read anew on each request.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from organizations.models import Membership, Organization, Role, User
from organizations.wall import lifted

EVERYONE = frozenset(Role)
OFFICE = frozenset({Role.OWNER, Role.MANAGER, Role.SALES_OPS})
LEADERS = frozenset({Role.OWNER, Role.MANAGER})
OWNERS = frozenset({Role.OWNER})
NOBODY: frozenset[Role] = frozenset()

Roles = frozenset[Role]


class Area(Enum):
    """The parts of the admin that are given to roles as a whole."""

    WORK = auto()  # leads, appointments, notes, call analyses
    RECORDS = auto()  # opt-ins, sources, events, notifications: read by all, written by nobody
    SETUP = auto()  # statuses, event types, custom fields
    CONNECTIONS = auto()  # API keys, webhook endpoints, deliveries
    TEAM = auto()  # members
    ORGANIZATION = auto()  # the organization itself


@dataclass(frozen=True)
class Rights:
    """The roles that see an area, and those that work in it."""

    view: Roles
    write: Roles


TABLE = {
    Area.WORK: Rights(view=EVERYONE, write=EVERYONE),
    Area.RECORDS: Rights(view=EVERYONE, write=NOBODY),
    Area.SETUP: Rights(view=OFFICE, write=OFFICE),
    Area.CONNECTIONS: Rights(view=OFFICE, write=OFFICE),
    Area.TEAM: Rights(view=LEADERS, write=LEADERS),
    Area.ORGANIZATION: Rights(view=LEADERS, write=OWNERS),
}

# Nobody gives a role above their own, nor changes a member above them.
RANKS = [Role.SETTER, Role.CLOSER, Role.SALES_OPS, Role.MANAGER, Role.OWNER]


def person(request: HttpRequest) -> User:
    """The signed-in user; the admin lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def is_operator(request: HttpRequest) -> bool:
    """A superuser; nobody is one before signing in."""
    return bool(request.user.is_superuser)


def held(request: HttpRequest) -> dict[UUID, str]:
    """The person's role in each of their organizations; asked of the database once a request."""
    known = vars(request)
    if "roles_held" not in known:
        known["roles_held"] = read_roles(person(request)) if request.user.is_authenticated else {}
    roles: dict[UUID, str] = known["roles_held"]
    return roles


def read_roles(user: User) -> dict[UUID, str]:
    """Roles by organization, as they are now."""
    members = Membership.unscoped.filter(user=user, is_active=True, organization__is_active=True)
    with lifted():
        return dict(members.order_by().values_list("organization_id", "role"))


def may(request: HttpRequest, roles: Roles, organization_id: UUID | None = None) -> bool:
    """True if the person has one of the roles, in the organization or (without one) in any."""
    if is_operator(request):
        return True
    if organization_id is None:
        return any(role in roles for role in held(request).values())
    return held(request).get(organization_id) in roles


def organizations_where(request: HttpRequest, roles: Roles) -> QuerySet[Organization]:
    """The organizations in which the person has one of the roles; all of them for a superuser."""
    if is_operator(request):
        return Organization.objects.all()
    return Organization.objects.filter(pk__in=[pk for pk, role in held(request).items() if role in roles])


def scoped_to(request: HttpRequest, roles: Roles, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Of rows with an `organization`, those of the organizations in which the person has one of the roles."""
    if is_operator(request):
        return rows
    return rows.filter(organization_id__in=[pk for pk, role in held(request).items() if role in roles])


def assignable(request: HttpRequest, organization_id: UUID) -> list[Role]:
    """The roles that the person may give, and whose holders they may change: none above their own."""
    if is_operator(request):
        return RANKS
    own = held(request).get(organization_id)
    return RANKS[: RANKS.index(Role(own)) + 1] if own else []
