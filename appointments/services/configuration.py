"""The services for what staff add to appointments: event types and call analyses."""

from django.conf import settings
from django.db import transaction
from django.db.models import ProtectedError

from appointments.models import CallAnalysis, EventType
from organizations.limits import LimitReached, can_add_row
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict


class EventTypeInUse(Conflict):
    """Appointments refer to the event type, so it can't be deleted."""

    message = "{name} can't be deleted because appointments use it"


@transaction.atomic
def save_event_type(*, organization: Organization, event_type: EventType) -> EventType:
    """Store a new or changed event type and return it. Booked appointments keep their category.

    For a new one, locks the organization, and raises LimitReached if it has `MAX_EVENT_TYPES` event types.
    """
    event_types = EventType.objects.of(organization)
    limit = settings.MAX_EVENT_TYPES
    if event_type._state.adding and not can_add_row(organization=organization, rows=event_types, limit=limit):
        advice = "Delete one that no appointment uses first."
        raise LimitReached(limit=limit, rows="event types", advice=advice)
    event_type.organization = organization
    event_type.save()
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, event_type: EventType) -> None:
    """Delete an event type. Raises EventTypeInUse if an appointment refers to it."""
    try:
        EventType.objects.of(organization).get(pk=event_type.pk).delete()
    except ProtectedError:
        raise EventTypeInUse(name=event_type.name) from None


@transaction.atomic
def save_analysis(*, organization: Organization, analysis: CallAnalysis) -> CallAnalysis:
    """Store a new or changed call analysis and return it."""
    analysis.organization = organization
    analysis.save()
    return analysis
