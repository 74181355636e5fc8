"""The recipients of a change before it is made, from the functions that notify them when it is."""

from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from appointments.lead_notifications import find_message
from appointments.models import Appointment
from appointments.notifications import build_participant_notifications
from appointments.services.changes import Effects, change_for_lead, effects_of
from notifications.models import ChannelKind, Kind, LeadMessage
from organizations.models import Membership
from statuses.models import Status
from webhooks.models import Endpoint


@dataclass(frozen=True)
class Audience:
    members: dict[Kind, list[Membership]]
    slack: bool
    webhooks: bool
    has_invitation: bool  # whether the e-mails update an entry in calendars
    lead_message: LeadMessage | None  # that the lead gets, if staff make the change


def preview(appointment: Appointment, change: Callable[..., None], *values: datetime | Status) -> Audience:
    """Return the recipients of `change(appointment, *values)`: `cancel`, `move` or `replace_outcome`."""
    changed, members = copy(appointment), defaultdict[Kind, list[Membership]](list)
    if appointment.outcome not in values:  # the outcome that it has already is no change
        change(changed, *values)
    topic, kind, _ = effects_of(changed, appointment.outcome)
    rows = build_participant_notifications(kind, changed) if kind else []
    for row in rows:
        if row.recipient:
            members[Kind(row.kind)].append(row.recipient)
    lead_change = change_for_lead(changed, Effects(topic, kind)) if kind else None
    endpoints = Endpoint.objects.of(changed.organization).filter(is_active=True)
    return Audience(
        members=dict(members),
        slack=any(row.medium == ChannelKind.SLACK for row in rows),
        webhooks=endpoints.filter(Q(event_types=[]) | Q(event_types__contains=[topic.name])).exists(),
        has_invitation=any(row.context["uid"] for row in rows),
        lead_message=find_message(lead_change, changed) if lead_change else None,
    )
