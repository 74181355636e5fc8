"""A call's people: host, setter and triager, and who is told of it."""

from typing import Any

from django.db.models import Q
from django.db.models.functions import Lower

from appointments.models import Appointment
from organizations.models import Membership, Organization, Role
from pipeline_backend.api.exceptions import Invalid
from pipeline_backend.rows import Fixed, Slot

ROLES = ("host", "setter", "triager")


def active() -> Any:
    """The organization's active members, with what is needed to tell them something."""
    return Membership.objects.of(Slot("organization")).filter(is_active=True, user__is_active=True).select_related("user", "mail_preference")


BY_EMAIL: Fixed[Membership] = Fixed(lambda: active().alias(folded=Lower("user__email")).filter(Q(folded__any=Slot("emails")) | Q(role=Role.OWNER)))
BY_ID: Fixed[Membership] = Fixed(lambda: active().filter(Q(pk__any=Slot("ids")) | Q(role=Role.OWNER)))


def invited(organization: Organization, wanted: dict[str, Any]) -> tuple[dict[str, Membership], list[Membership]]:
    """Host, setter and triager by their e-mails, or 400 naming the fields; and who is told, found in the same statement."""
    emails = {role: wanted[f"{role}_email"].lower() for role in ROLES if wanted.get(f"{role}_email")}
    members = BY_EMAIL.all(organization=organization.pk, emails=list(emails.values()))
    known = {member.user.email.lower(): member for member in members}
    unknown = [role for role, email in emails.items() if email not in known]
    if unknown:
        raise Invalid({f"{role}_email": ["must belong to an active member of the organization"] for role in unknown})
    people = {role: known[email] for role, email in emails.items()}
    return people, told(members, {member.pk for member in people.values()})


def recipients(appointment: Appointment) -> list[Membership]:
    """Who is told of a stored call."""
    ids = {appointment.host_id, appointment.setter_id, appointment.triager_id} - {None}
    return told(BY_ID.all(organization=appointment.organization_id, ids=list(ids)), ids)


def told(members: list[Membership], ids: set[Any]) -> list[Membership]:
    """The active among the call's people; the owners if there is none."""
    return [member for member in members if member.pk in ids] or [member for member in members if member.role == Role.OWNER]
