"""Queueing notifications."""

from typing import Any

from notifications.models import Kind, Notification
from organizations.models import Membership, Organization
from pipeline_backend.outbox import Doorbell

DRAIN = "notifications.drain"


def queue(*, organization: Organization, kind: Kind, recipients: list[Membership], facts: dict[str, Any]) -> None:
    """A row for each recipient who wants mail, in the transaction of the change; a ring after its commit."""
    wanting = [member for member in recipients if member.wants_mail]
    people = {"attendees": [{"name": str(member), "email": member.user.email} for member in recipients]}
    Notification.unscoped.bulk_create(Notification(organization=organization, kind=kind, recipient=member, facts=facts | people) for member in wanting)
    if wanting:
        Doorbell.ring(DRAIN, organization.pk)
