"""The recipients of a change before it is made, from the functions that notify them when it is."""

from collections import defaultdict
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from appointments.models import Appointment
from appointments.notifications import build_participant_notifications, needs_notification
from appointments.services.changes import cancel, effects_of, move, replace_outcome
from notifications.models import ChannelKind, Kind
from organizations.models import Membership
from statuses.models import Status
from webhooks.models import Endpoint


@dataclass(frozen=True)
class Audience:
    """The recipients of a change: members by the kind of their e-mail, the Slack channel, and webhooks."""

    members: dict[Kind, list[Membership]]
    slack: bool
    webhooks: bool
    has_invitation: bool  # whether the e-mails update an entry in calendars


def preview_move(appointment: Appointment, to: datetime) -> Audience:
    changed = copy(appointment)
    move(changed, to)
    return audience_of(changed, appointment.outcome)


def preview_outcome(appointment: Appointment, outcome: Status) -> Audience:
    changed = copy(appointment)
    if outcome != appointment.outcome:
        replace_outcome(changed, outcome)
    return audience_of(changed, appointment.outcome)


def preview_cancellation(appointment: Appointment) -> Audience:
    changed = copy(appointment)
    cancel(changed)
    return audience_of(changed, appointment.outcome)


def audience_of(changed: Appointment, previous: Status | None) -> Audience:
    """Return the recipients of an appointment's unsaved changes. `previous` is the outcome before them."""
    topic, kind, _ = effects_of(changed, previous)
    members: defaultdict[Kind, list[Membership]] = defaultdict(list)
    rows = build_participant_notifications(kind, changed) if kind and needs_notification(kind, changed) else []
    for row in rows:
        if row.recipient:
            members[Kind(row.kind)].append(row.recipient)
    endpoints = Endpoint.objects.of(changed.organization).filter(is_active=True)
    return Audience(
        members=dict(members),
        slack=any(row.medium == ChannelKind.SLACK for row in rows),
        webhooks=endpoints.filter(Q(event_types=[]) | Q(event_types__contains=[topic.name])).exists(),
        has_invitation=any(row.context["uid"] for row in rows),
    )
