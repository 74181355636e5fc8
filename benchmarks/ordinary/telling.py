"""Events, deliveries and notifications, saved one by one."""

from functools import partial
from typing import Any

from celery import current_app
from django.db import transaction
from rest_framework.renderers import JSONRenderer

from notifications.models import Kind, Notification
from notifications.services import WAKE_UP_TASK as MAILS
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.api import request_id
from pipeline_backend.db.timestamps import isoformat_z
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import WAKE_UP_TASK as EVENTS


def record(name: str, subject: Any, data: Any, actor: Actor) -> None:
    """An event, and a delivery for each endpoint that wants it."""
    event = Event(
        organization=subject.organization,
        type=name,
        subject_id=subject.pk,
        request_id=request_id.current_request_id(),
        **actor_columns(actor),
    )
    body = {
        "type": name,
        "timestamp": isoformat_z(event.created_at),
        "organization_id": subject.organization.pk,
        "data": data,
    }
    event.body = JSONRenderer().render(body).decode()
    event.save()
    for endpoint in Endpoint.objects.of(subject.organization).filter(is_active=True):
        if not endpoint.event_types or name in endpoint.event_types:
            Delivery.objects.create(organization=subject.organization, event=event, endpoint=endpoint)
            ring(EVENTS, endpoint.pk)


def notify(kind: Kind, organization: Organization, members: list[Membership], facts: dict[str, Any]) -> None:
    """A mail for each member."""
    facts = facts | {"attendees": [{"name": str(member), "email": member.user.email} for member in members]}
    for member in members:
        Notification.objects.create(organization=organization, kind=kind, recipient=member, context=facts)
    ring(MAILS, organization.pk)


def ring(task: str, id: Any) -> None:
    """A Celery task after the commit."""
    transaction.on_commit(partial(current_app.send_task, task, (str(id),)))
