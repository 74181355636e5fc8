"""Who may do what in the admin: one table, and the questions that are asked of it.

What a person may do comes from their active memberships of active organizations, read anew on each request.
"""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from organizations.isolation import bypass_rls
from organizations.models import Membership, Organization, Role, User

ALL_ROLES = frozenset(Role)
BACK_OFFICE = frozenset({Role.OWNER, Role.MANAGER, Role.SALES_OPS})
LEADERS = frozenset({Role.OWNER, Role.MANAGER})
OWNERS_ONLY = frozenset({Role.OWNER})
NO_ROLES: frozenset[Role] = frozenset()

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
class Permission:
    """The roles that see an area, and those that work in it."""

    view: Roles
    write: Roles


PERMISSIONS = {
    Area.WORK: Permission(view=ALL_ROLES, write=ALL_ROLES),
    Area.RECORDS: Permission(view=ALL_ROLES, write=NO_ROLES),
    Area.SETUP: Permission(view=BACK_OFFICE, write=BACK_OFFICE),
    Area.CONNECTIONS: Permission(view=BACK_OFFICE, write=BACK_OFFICE),
    Area.TEAM: Permission(view=LEADERS, write=LEADERS),
    Area.ORGANIZATION: Permission(view=LEADERS, write=OWNERS_ONLY),
}

# Nobody gives a role above their own, nor changes a member above them.
ROLE_ORDER = [Role.SETTER, Role.CLOSER, Role.SALES_OPS, Role.MANAGER, Role.OWNER]


def current_user(request: HttpRequest) -> User:
    """The signed-in user; the admin lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


def is_operator(request: HttpRequest) -> bool:
    """A superuser; nobody is one before signing in."""
    return bool(request.user.is_superuser)


def roles_by_organization(request: HttpRequest) -> dict[UUID, str]:
    """The person's role in each of their organizations; asked of the database once a request."""
    known = vars(request)
    if "roles_held" not in known:
        known["roles_held"] = read_roles(current_user(request)) if request.user.is_authenticated else {}
    roles: dict[UUID, str] = known["roles_held"]
    return roles


def read_roles(user: User) -> dict[UUID, str]:
    """Roles by organization, as they are now."""
    members = Membership.unscoped.filter(user=user, is_active=True, organization__is_active=True)
    with bypass_rls():
        return dict(members.order_by().values_list("organization_id", "role"))


def has_role(request: HttpRequest, roles: Roles, organization_id: UUID | None = None) -> bool:
    """True if the person has one of the roles, in the organization or (without one) in any."""
    if is_operator(request):
        return True
    if organization_id is None:
        return any(role in roles for role in roles_by_organization(request).values())
    return roles_by_organization(request).get(organization_id) in roles


def organizations_with_role(request: HttpRequest, roles: Roles) -> QuerySet[Organization]:
    """The organizations in which the person has one of the roles; all of them for a superuser."""
    if is_operator(request):
        return Organization.objects.all()
    return Organization.objects.filter(
        pk__in=[pk for pk, role in roles_by_organization(request).items() if role in roles]
    )


def filter_by_role(request: HttpRequest, roles: Roles, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Of rows with an `organization`, those of the organizations in which the person has one of the roles."""
    if is_operator(request):
        return rows
    return rows.filter(organization_id__in=[pk for pk, role in roles_by_organization(request).items() if role in roles])


def assignable_roles(request: HttpRequest, organization_id: UUID) -> list[Role]:
    """The roles that the person may give, and whose holders they may change: none above their own."""
    if is_operator(request):
        return ROLE_ORDER
    own = roles_by_organization(request).get(organization_id)
    return ROLE_ORDER[: ROLE_ORDER.index(Role(own)) + 1] if own else []
