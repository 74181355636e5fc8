"""The services for event types and call analyses."""

from django.db import transaction

from appointments.models import Appointment, CallAnalysis, EventType
from appointments.serializers import AppointmentDetailSerializer, EventTypeDetailSerializer
from appointments.services.changes import get_for_update
from appointments.topics import EVENT_TYPE_UPDATED, UPDATED
from foundation.api.exceptions import Conflict
from foundation.db.timestamps import now
from leads.services import check_not_erased
from organizations.actors import Actor
from organizations.models import Organization
from organizations.services import check_limit
from organizations.versions import is_other
from webhooks.events import record_event

MAX_EVENT_TYPES = 1000  # of an organization: bookings create them by name, also by mistake


@transaction.atomic
def save_event_type(*, organization: Organization, actor: Actor, event_type: EventType) -> EventType:
    """Store an event type. Locks it, or for a new one the organization. Raises Conflict at `MAX_EVENT_TYPES`."""
    rows = EventType.objects.of(organization)
    if event_type._state.adding:
        limit, advice = MAX_EVENT_TYPES, "Delete one that no appointment uses first."
        check_limit(organization=organization, rows=rows, limit=limit, name="event types", advice=advice)
    stored = rows.select_for_update(no_key=True).filter(pk=event_type.pk).first()
    before = EventTypeDetailSerializer.get_text(organization, event_type.pk)
    event_type.organization = organization
    event_type.updated_at = now() if is_other(event_type, stored) else event_type.updated_at
    event_type.save()
    if before:
        record_event(EVENT_TYPE_UPDATED, event_type, actor=actor, before=before)
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, actor: Actor, event_type: EventType) -> None:
    """Delete an event type. Raises Conflict if an appointment refers to it. Locks the event type."""
    rows = EventType.objects.of(organization).filter(pk=event_type.pk)
    rows.select_for_update().first()  # a booking that is in progress is waited for, and counts
    # Asked first, because `delete` would load all appointments that use it.
    if Appointment.objects.of(organization).filter(event_type=event_type).exists():
        raise Conflict(f"{event_type.name} can't be deleted because appointments use it")
    rows.delete()


@transaction.atomic
def save_analysis(*, organization: Organization, actor: Actor, analysis: CallAnalysis) -> CallAnalysis:
    """Store a call analysis, and record the event of its appointment, which is locked.

    Raises Conflict if the lead was erased.
    """
    appointment = get_for_update(organization, analysis.appointment_id)
    check_not_erased(appointment.lead)
    before = AppointmentDetailSerializer.get_text(organization, appointment.pk)
    analysis.organization = organization
    analysis.save()
    if AppointmentDetailSerializer.get_text(organization, appointment.pk) != before:
        appointment.save_version()
        record_event(UPDATED, appointment, actor=actor, before=before)
    return analysis
