"""Changes of a lead through the API, and what those of an appointment have in common with them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from foundation.api.emails import email_key
from foundation.api.sql_serializers import Json
from foundation.db.retry import atomic_with_retry
from leads.custom_values import merge_custom_values
from leads.models import CustomField
from leads.serializers import LeadDetailSerializer
from leads.services import check_reference_owner, edit_lead, find_members, find_reference_owner, lock_known_lead
from organizations.actors import Actor
from organizations.models import Membership, Organization
from organizations.versions import VersionedModel, check_version

NO_PHONE = {"phone_e164": None, "phone_country": None}


@atomic_with_retry
def patch_lead(
    *, organization: Organization, actor: Actor, lead_id: UUID, version: datetime | None, changes: Mapping[str, Any]
) -> Json | None:
    """Change a lead as `edit_lead` does, and return it as its detail shows it.

    `changes` has values of `LeadUpdateInputSerializer`; None clears one. Raises ResourceNotFound, PreconditionFailed
    unless the lead has the `version` (None: any), ValidationFailed, and Conflict for an erased lead or another one's
    reference. Locks the lead, or the one into which it was merged.
    """
    lead = lock_known_lead(organization, lead_id)
    check_version(lead, version, LeadDetailSerializer)
    values: dict[str, Any] = {name: changes[name] or "" for name in ("first_name", "last_name") if name in changes}
    if "phone" in changes:
        phone = changes["phone"]
        values |= {"phone_e164": phone.e164, "phone_country": phone.country} if phone else NO_PHONE
    values |= changed_members(lead, ["setter"], changes)
    if "custom_fields" in changes:
        values["custom_values"] = merge_custom_values(lead, CustomField.Entity.LEAD, changes["custom_fields"])
    if "external_reference" in changes:
        values["external_reference"] = reference = changes["external_reference"]
        check_reference_owner(reference, find_reference_owner(organization, reference), lead)
    edit_lead(organization=organization, actor=actor, lead=lead, **values)
    return LeadDetailSerializer.get(organization, lead.pk)


def changed_members(
    row: VersionedModel, roles: Iterable[str], changes: Mapping[str, Any]
) -> dict[str, Membership | None]:
    """Return the members that `<role>_email` in the changes name, by role; None for null.

    The row's own member may be named even if no longer active. Raises ValidationFailed as `find_members` does.
    """
    emails = {role: changes[f"{role}_email"] for role in roles if f"{role}_email" in changes}
    current = {role: member for role, email in emails.items() if is_email_of(member := getattr(row, role), email)}
    named = {role: email for role, email in emails.items() if role not in current}
    return {**dict.fromkeys(named), **current, **find_members(row.organization, named)}


def is_email_of(member: Membership | None, email: str | None) -> bool:
    return member is not None and email is not None and email_key(member.user.email) == email_key(email)
