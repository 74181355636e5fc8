"""Events, deliveries and notifications, saved one by one."""

from typing import Any

from rest_framework.renderers import JSONRenderer

from notifications.models import Kind, Notification
from notifications.services import DRAIN as MAILS
from organizations.actors import Actor, columns
from organizations.models import Membership, Organization
from pipeline_backend.api import requestid
from pipeline_backend.moments import show
from pipeline_backend.outbox import Doorbell
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import DRAIN as EVENTS


def record(name: str, subject: Any, data: Any, actor: Actor) -> None:
    """An event, and a delivery for each endpoint that wants it."""
    event = Event(organization=subject.organization, type=name, subject_id=subject.pk, request_id=requestid.current(), **columns(actor))
    body = {"type": name, "timestamp": show(event.created_at), "organization_id": subject.organization.pk, "data": data}
    event.body = JSONRenderer().render(body).decode()
    event.save()
    for endpoint in Endpoint.objects.of(subject.organization).filter(is_active=True):
        if not endpoint.event_types or name in endpoint.event_types:
            Delivery.objects.create(organization=subject.organization, event=event, endpoint=endpoint)
            Doorbell.ring(EVENTS, endpoint.pk)


def notify(kind: Kind, organization: Organization, members: list[Membership], facts: dict[str, Any]) -> None:
    """A mail for each member."""
    facts = facts | {"attendees": [{"name": str(member), "email": member.user.email} for member in members]}
    for member in members:
        Notification.objects.create(organization=organization, kind=kind, recipient=member, facts=facts)
    Doorbell.ring(MAILS, organization.pk)
