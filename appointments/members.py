"""The members of an appointment (host, setter, triager), and the members who are notified about it."""

from collections.abc import Iterable, Mapping

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from appointments.models import Appointment
from organizations.models import MemberRole, Membership, Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param

PARTICIPANT_ROLES = ("host", "setter", "triager")


def active_members() -> QuerySet[Membership]:
    """Return the query for the organization's active members, joined with the rows that a notification reads."""
    members: QuerySet[Membership] = (
        Membership.objects.of(Param("organization"))
        .filter(is_active=True, user__is_active=True)
        .select_related("user", "mail_preference")
    )
    return members


MEMBERS_BY_EMAIL: CompiledQuery[Membership] = CompiledQuery(
    lambda: active_members().alias(lowercase_email=Lower("user__email")).filter(lowercase_email__any=Param("emails"))
)
ACTIVE_OWNERS: CompiledQuery[Membership] = CompiledQuery(lambda: active_members().filter(role=MemberRole.OWNER))
MEMBERS_BY_ID_AND_OWNERS: CompiledQuery[Membership] = CompiledQuery(
    lambda: active_members().filter(Q(pk__any=Param("ids")) | Q(role=MemberRole.OWNER))
)


def resolve_members(organization: Organization, data: Mapping[str, object]) -> dict[str, Membership]:
    """Return the members that `host_email`, `setter_email` and `triager_email` name, by role.

    Raises ValidationFailed for each field whose e-mail belongs to no active member.
    """
    emails = {role: str(data[f"{role}_email"]).lower() for role in PARTICIPANT_ROLES if data.get(f"{role}_email")}
    if not emails:
        return {}
    members = {
        member.user.email.lower(): member
        for member in MEMBERS_BY_EMAIL.all(organization=organization.pk, emails=list(emails.values()))
    }
    unknown = [role for role, email in emails.items() if email not in members]
    if unknown:
        raise ValidationFailed(
            {f"{role}_email": ["must belong to an active member of the organization"] for role in unknown}
        )
    return {role: members[email] for role, email in emails.items()}


def recipients_for_booking(organization: Organization, participants: Iterable[Membership]) -> list[Membership]:
    """Return the members to notify about a new appointment: its participants, or the owners if it has none."""
    # One member can have several roles, and is notified once.
    unique = {member.pk: member for member in participants}
    return list(unique.values()) or ACTIVE_OWNERS.all(organization=organization.pk)


def recipients(appointment: Appointment) -> list[Membership]:
    """Return the members to notify about a stored appointment: its active participants or, without any, the owners."""
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    # One query for participants and owners: only its result shows whether the owners are needed.
    members = MEMBERS_BY_ID_AND_OWNERS.all(organization=appointment.organization_id, ids=list(ids))
    participants = [member for member in members if member.pk in ids]
    return participants or [member for member in members if member.role == MemberRole.OWNER]
