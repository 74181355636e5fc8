"""Leads for the tests of merging, and the services with the owner as the actor."""

from typing import Any
from uuid import UUID

from leads.merging import merge_leads, undo_merge
from leads.models import Lead, LeadMerge
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import owner_actor


def make_lead(api: ApiClient, email: str, **fields: Any) -> UUID:
    """Submit an opt-in of a new lead with this e-mail, and return the lead's id."""
    return UUID(api.submit(email=email, **fields).json()["data"]["lead_id"])


def book(api: ApiClient, email: str, reference: str, **fields: Any) -> str:
    """Book an appointment of the lead with this e-mail, and return its id."""
    response = api.book(lead_email=email, external_reference=reference, **fields)
    assert response.status_code == 201, response.content
    return str(response.json()["data"]["id"])


def merge(organization: Organization, keep: UUID, other: UUID, *values: str) -> Lead:
    """Merge the second lead into the first one, with these values of the second."""
    return merge_leads(
        organization=organization, actor=owner_actor(organization), keep=keep, merge=other, values=values
    )


def undo(organization: Organization, merged_id: UUID) -> Lead:
    """Undo the merge of the lead that had this id."""
    row = LeadMerge.objects.of(organization).get(previous_id=merged_id)
    return undo_merge(organization=organization, actor=owner_actor(organization), merge_id=row.pk)
