"""The services for what staff add to appointments: event types and call analyses."""

from django.conf import settings
from django.db import transaction
from django.db.models import ProtectedError

from appointments.models import CallAnalysis, EventType
from organizations.limits import check_limit
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict


@transaction.atomic
def save_event_type(*, organization: Organization, event_type: EventType) -> EventType:
    """Store a new or changed event type and return it. Booked appointments keep their category.

    For a new one, locks the organization, and raises Conflict if it has `MAX_EVENT_TYPES` event types.
    """
    if event_type._state.adding:
        rows, advice = EventType.objects.of(organization), "Delete one that no appointment uses first."
        limit = settings.MAX_EVENT_TYPES
        check_limit(organization=organization, rows=rows, limit=limit, name="event types", advice=advice)
    event_type.organization = organization
    event_type.save()
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, event_type: EventType) -> None:
    """Delete an event type. Raises Conflict if an appointment refers to it."""
    try:
        EventType.objects.of(organization).get(pk=event_type.pk).delete()
    except ProtectedError:
        raise Conflict(f"{event_type.name} can't be deleted because appointments use it") from None


@transaction.atomic
def save_analysis(*, organization: Organization, analysis: CallAnalysis) -> CallAnalysis:
    """Store a new or changed call analysis and return it."""
    analysis.organization = organization
    analysis.save()
    return analysis
