"""A call's people: host, setter and triager, and who is told of it."""

from typing import Any

from django.db.models import Q
from django.db.models.functions import Lower

from appointments.models import Appointment
from organizations.models import Membership, Organization, Role
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.compiled import CompiledQuery, Param

PARTICIPANT_ROLES = ("host", "setter", "triager")


def active_members() -> Any:
    """The organization's active members, with what is needed to tell them something."""
    return (
        Membership.objects.of(Param("organization"))
        .filter(is_active=True, user__is_active=True)
        .select_related("user", "mail_preference")
    )


MEMBERS_BY_EMAIL: CompiledQuery[Membership] = CompiledQuery(
    lambda: active_members().alias(folded=Lower("user__email")).filter(folded__any=Param("emails"))
)
OWNERS: CompiledQuery[Membership] = CompiledQuery(lambda: active_members().filter(role=Role.OWNER))
MEMBERS_BY_ID_AND_OWNERS: CompiledQuery[Membership] = CompiledQuery(
    lambda: active_members().filter(Q(pk__any=Param("ids")) | Q(role=Role.OWNER))
)


def resolve_members(organization: Organization, wanted: dict[str, Any]) -> dict[str, Membership]:
    """Host, setter and triager by their e-mails, or 400 naming the fields."""
    emails = {role: wanted[f"{role}_email"].lower() for role in PARTICIPANT_ROLES if wanted.get(f"{role}_email")}
    if not emails:
        return {}
    known = {
        member.user.email.lower(): member
        for member in MEMBERS_BY_EMAIL.all(organization=organization.pk, emails=list(emails.values()))
    }
    unknown = [role for role, email in emails.items() if email not in known]
    if unknown:
        raise ValidationFailed(
            {f"{role}_email": ["must belong to an active member of the organization"] for role in unknown}
        )
    return {role: known[email] for role, email in emails.items()}


def recipients_for_booking(organization: Organization, people: dict[str, Membership]) -> list[Membership]:
    """Who is told of a new call: each of its people once; the owners if there is none."""
    return list({member.pk: member for member in people.values()}.values()) or OWNERS.all(organization=organization.pk)


def recipients(appointment: Appointment) -> list[Membership]:
    """Who is told of a stored call: the active among its people; the owners if there is none."""
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    members = MEMBERS_BY_ID_AND_OWNERS.all(organization=appointment.organization_id, ids=list(ids))
    return [member for member in members if member.pk in ids] or [
        member for member in members if member.role == Role.OWNER
    ]
