"""The members of an appointment (host, setter, triager), and the members who are notified about it."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from appointments.models import Appointment
from organizations.models import MemberRole, Membership, Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CombinedQuery, CompiledQuery, Param

PARTICIPANT_ROLES = ("host", "setter", "triager")


def active_members(organization: Organization | UUID | Param) -> QuerySet[Membership]:
    """Return the query for the organization's active members, joined with the rows that a notification reads."""
    members: QuerySet[Membership] = (
        Membership.objects.of(organization)
        .filter(is_active=True, user__is_active=True)
        .select_related("user", "mail_preference")
    )
    return members


def active_member_with_email(name: str) -> CompiledQuery[Membership]:
    """Return the query for the active member with the address in this parameter, compared as the unique index does."""
    return CompiledQuery(
        lambda: (
            active_members(Param("organization"))
            .alias(lowercase_email=Lower("user__email"))
            .filter(lowercase_email=Lower(Param(name, "text")))
        )
    )


# Compiled for the benchmark "create an appointment", whose bookings name a host.
PARTICIPANTS = CombinedQuery(*(active_member_with_email(f"{role}_email") for role in PARTICIPANT_ROLES))


def resolve_members(organization: Organization, data: Mapping[str, object]) -> dict[str, Membership]:
    """Return the members that `host_email`, `setter_email` and `triager_email` name, by role.

    Raises ValidationFailed for each field whose e-mail belongs to no active member.
    """
    emails = {f"{role}_email": data.get(f"{role}_email") or None for role in PARTICIPANT_ROLES}
    if not any(emails.values()):
        return {}
    found = PARTICIPANTS.first(organization=organization.pk, **emails)
    members = {role: member for role, member in zip(PARTICIPANT_ROLES, found, strict=True) if member}
    unknown = [role for role in PARTICIPANT_ROLES if emails[f"{role}_email"] and role not in members]
    if unknown:
        raise ValidationFailed(
            {f"{role}_email": ["must belong to an active member of the organization"] for role in unknown}
        )
    return members


def recipients_for_booking(organization: Organization, participants: Iterable[Membership]) -> list[Membership]:
    """Return the members to notify about a new appointment: its participants, or the owners if it has none."""
    # One member can have several roles, and is notified once.
    unique = {member.pk: member for member in participants}
    return list(unique.values()) or list(active_members(organization).filter(role=MemberRole.OWNER))


def recipients(appointment: Appointment) -> list[Membership]:
    """Return the members to notify about a stored appointment: its active participants or, without any, the owners."""
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    # One query for participants and owners: only its result shows whether the owners are needed.
    members = active_members(appointment.organization_id).filter(Q(pk__in=ids) | Q(role=MemberRole.OWNER))
    participants = [member for member in members if member.pk in ids]
    return participants or [member for member in members if member.role == MemberRole.OWNER]
