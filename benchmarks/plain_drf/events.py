"""Webhook events, their deliveries, and notifications, saved row by row."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import transaction
from rest_framework.renderers import JSONRenderer

from appointments.models import Appointment, Note
from foundation.api.request_id import current_request_id
from foundation.db.timestamps import isoformat_z
from foundation.outbox import WAKE_UP_TASK, Job
from leads.models import Lead
from notifications.models import Kind, Notification
from optins.models import UTM_FIELDS, OptIn
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from webhooks.models import Delivery, Endpoint, Event


def record_event(type: str, subject: Appointment | Lead | Note | OptIn, data: object, actor: Actor) -> None:
    """Save an event, and a delivery for each endpoint that subscribes to its type."""
    organization = subject.organization
    event = Event(
        organization=organization,
        type=type,
        subject_id=subject.pk,
        request_id=current_request_id(),
        **actor_columns(actor),
    )
    body = {
        "type": type,
        "timestamp": isoformat_z(event.created_at),
        "organization_id": organization.pk,
        "request_id": event.request_id,
        "data": data,
        "actor": asdict(actor),
    }
    if isinstance(subject, Appointment):
        body["attribution"] = {name: getattr(subject, name) for name in UTM_FIELDS}
    event.body = JSONRenderer().render(body).decode()
    event.save()
    for endpoint in Endpoint.objects.of(organization).filter(is_active=True):
        if not endpoint.event_types or type in endpoint.event_types:
            Delivery.objects.create(organization=organization, event=event, endpoint=endpoint)
            send_task_on_commit(Delivery, endpoint.pk)


def notify(kind: Kind, organization: Organization, members: list[Membership], context: dict[str, Any]) -> None:
    """Save an e-mail notification for each member."""
    attendees = [{"name": str(member), "email": member.user.email} for member in members]
    for member in members:
        Notification.objects.create(
            organization=organization, kind=kind, recipient=member, context=context | {"attendees": attendees}
        )
    send_task_on_commit(Notification, organization.pk)


def send_task_on_commit(model: type[Job], id: UUID) -> None:
    """Send the task that delivers a group's jobs once the transaction has committed."""
    transaction.on_commit(partial(current_app.send_task, WAKE_UP_TASK, (model._meta.label_lower, str(id))))
