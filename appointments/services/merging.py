"""What follows for appointments when leads are merged, or a merge is undone."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from appointments.models import Appointment
from appointments.services.changes import next_appointment_of
from appointments.topics import UPDATED
from leads.merging import rows_moved
from leads.models import Lead
from leads.services import follow_appointments
from organizations.actors import Actor
from organizations.isolation import TenantModel
from webhooks.services import record_events


@receiver(rows_moved)
def follow_lead(
    *, lead: Lead, ids: Mapping[type[TenantModel], list[UUID]], previous: str, actor: Actor, **_: Any
) -> None:
    """Recompute the touch point of a lead that gained or lost appointments, and record the events of those."""
    follow_appointments(lead, next_appointment=next_appointment_of(lead))
    lead.save_columns()
    if moved := ids.get(Appointment):
        record_events(UPDATED, lead.organization, moved, actor=actor, previous=f'{{"lead":{previous}}}')
