"""Permissions: what each role may see and change in the admin, and the scopes of API keys.

Those in the admin come from the user's active memberships of active organizations (`User.roles`), read again on each
request.
"""

from dataclasses import dataclass
from enum import Enum, auto
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from organizations.models import MemberRole, Organization, Scope, User

Roles = frozenset[MemberRole]

ALL_ROLES: Roles = frozenset(MemberRole)
BACK_OFFICE: Roles = frozenset({MemberRole.OWNER, MemberRole.MANAGER, MemberRole.SALES_OPS})
OWNERS_AND_MANAGERS: Roles = frozenset({MemberRole.OWNER, MemberRole.MANAGER})
OWNERS_ONLY: Roles = frozenset({MemberRole.OWNER})
SELLERS: Roles = frozenset({MemberRole.CLOSER, MemberRole.SETTER})
NO_ROLES: Roles = frozenset()


class Area(Enum):
    WORK = auto()  # leads, appointments, notes, call analyses
    RECORDS = auto()  # opt-ins
    SOURCES = auto()
    MESSAGES = auto()  # events, notifications: copies of personal data
    PRIVACY = auto()  # exporting all of a lead (view), erasing it (write)
    SETUP = auto()  # statuses, event types, custom fields
    CONNECTIONS = auto()  # API keys, webhook endpoints, deliveries
    TEAM = auto()  # members
    ORGANIZATION = auto()  # the organization itself


@dataclass(frozen=True)
class Permission:
    """The roles that may view an area, write all of its rows, or write their own (`TenantAdmin.own_rows`)."""

    view: Roles
    write: Roles
    write_own: Roles = NO_ROLES

    @property
    def add(self) -> Roles:
        return self.write | self.write_own


PERMISSIONS = {
    Area.WORK: Permission(view=ALL_ROLES, write=BACK_OFFICE, write_own=SELLERS),
    Area.RECORDS: Permission(view=ALL_ROLES, write=NO_ROLES),
    Area.SOURCES: Permission(view=ALL_ROLES, write=BACK_OFFICE),
    Area.MESSAGES: Permission(view=BACK_OFFICE, write=NO_ROLES),
    Area.PRIVACY: Permission(view=BACK_OFFICE, write=OWNERS_AND_MANAGERS),
    Area.SETUP: Permission(view=BACK_OFFICE, write=BACK_OFFICE),
    Area.CONNECTIONS: Permission(view=BACK_OFFICE, write=BACK_OFFICE),
    Area.TEAM: Permission(view=OWNERS_AND_MANAGERS, write=OWNERS_AND_MANAGERS),
    Area.ORGANIZATION: Permission(view=OWNERS_AND_MANAGERS, write=OWNERS_ONLY),
}

# From least to most. No one may assign a role above their own, or change a member who has one.
ROLE_ORDER = list(reversed(MemberRole))


def current_user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def is_operator(request: HttpRequest) -> bool:
    return bool(request.user.is_superuser)


def roles_by_organization(request: HttpRequest) -> dict[UUID, str]:
    return request.user.roles if isinstance(request.user, User) else {}


def has_role(request: HttpRequest, roles: Roles, organization_id: UUID | None = None) -> bool:
    """Return whether the user has one of the roles: in this organization, or without one in any."""
    if is_operator(request):
        return True
    ids = organization_ids(request, roles)
    return bool(ids) if organization_id is None else organization_id in ids


def organizations_with_role(request: HttpRequest, roles: Roles) -> QuerySet[Organization]:
    if is_operator(request):
        return Organization.objects.all()
    return Organization.objects.filter(pk__in=organization_ids(request, roles))


def filter_by_role(request: HttpRequest, roles: Roles, rows: QuerySet) -> QuerySet:
    return rows if is_operator(request) else rows.filter(organization_id__in=organization_ids(request, roles))


def organization_ids(request: HttpRequest, roles: Roles) -> list[UUID]:
    """Return the ids of the organizations in which the user has one of the roles; none for being an operator."""
    return [pk for pk, role in roles_by_organization(request).items() if role in roles]


def assignable_roles(request: HttpRequest, organization_id: UUID) -> list[MemberRole]:
    """Return the roles that the user may assign, and whose holders they may change: none above their own."""
    if is_operator(request):
        return ROLE_ORDER
    own_role = roles_by_organization(request).get(organization_id)
    return roles_up_to(own_role) if own_role else []


def roles_up_to(role: str) -> list[MemberRole]:
    return ROLE_ORDER[: ROLE_ORDER.index(MemberRole(role)) + 1]


class HasScope(BasePermission):
    """Requires the scope of the view or path: without one, `read` for GET and HEAD, and `write` for other methods."""

    def has_permission(self, request: Request, view: object) -> bool:
        by_method = Scope.READ if request.method in {"GET", "HEAD"} else Scope.WRITE
        needed = getattr(view, "scope", None) or by_method
        if needed not in request.auth.key.scopes:
            raise PermissionDenied(f"This API key lacks the scope {needed}")
        return True
