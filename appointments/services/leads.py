"""The services that keep a lead's touch point and status in line with its appointments and next steps."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Min
from django.dispatch import receiver

from appointments.models import Appointment
from appointments.topics import UPDATED
from foundation.db.compiled import CompiledQuery, Param
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.merging import rows_moved
from leads.models import Lead
from leads.services import recompute_next_step, recompute_touch_point, save_lead, save_leads
from notifications.services import cancel_lead_mails
from organizations.actors import SYSTEM, Actor
from organizations.isolation import TenantModel
from organizations.models import Organization
from statuses.models import Status, StatusRole
from webhooks.events import record_events

BATCH = 100
# Compiled for the benchmark "create an appointment of a known lead".
NEXT_TIME: CompiledQuery[tuple[datetime]] = CompiledQuery(
    lambda: (
        Appointment.objects.of(Param("organization"))
        .filter(lead=Param("lead"))
        .upcoming(Param("now", "timestamptz"))
        .order_by("schedule_time")
        .values_list("schedule_time")[:1]
    )
)


def update_lead(lead: Lead, status: Status | None, actor: Actor) -> None:
    """Update touch point and status of a locked lead after an appointment or next step of it changed, with one event.

    None keeps the status. A cancellation keeps it too while another appointment is upcoming (docs/interface.md, S9).
    """
    upcoming = next_appointment_of(lead)
    stays_booked = upcoming is not None and status is not None and status.role == StatusRole.CANCELED
    recompute_touch_point(lead, next_appointment=upcoming, status=None if stays_booked else status)
    save_lead(lead, actor=actor)


def update_leads(organization: Organization, leads: Sequence[Lead], actor: Actor) -> None:
    """Update the touch points of locked leads, whose statuses stay, with a few statements for all of them."""
    appointments = Appointment.objects.of(organization).filter(lead__in=[lead.pk for lead in leads]).upcoming()
    earliest = dict(appointments.order_by().values_list("lead").annotate(Min("schedule_time")))
    for lead in leads:
        lead.organization = organization
        recompute_touch_point(lead, next_appointment=earliest.get(lead.pk))
    save_leads(organization, leads, actor=actor)


def next_appointment_of(lead: Lead) -> datetime | None:
    found = NEXT_TIME.first(organization=lead.organization_id, lead=lead.pk, now=now())
    return found[0] if found else None


def cancel_mails_to(lead: Lead) -> None:
    appointments = Appointment.objects.of(lead.organization).filter(lead=lead)
    cancel_lead_mails(organization=lead.organization, subject_ids=appointments.values("pk"))


@receiver(rows_moved)
def follow_lead(
    *, lead: Lead, ids: Mapping[type[TenantModel], list[UUID]], previous: str, actor: Actor, **_: Any
) -> None:
    recompute_next_step(lead)
    recompute_touch_point(lead, next_appointment=next_appointment_of(lead))
    lead.save_columns()
    if lead.unsubscribed_at:
        cancel_mails_to(lead)
    if moved := ids.get(Appointment):
        record_events(UPDATED, lead.organization, moved, actor=actor, previous=f'{{"lead":{previous}}}')


@atomic_with_retry
def refresh_touch_points(*, organization: Organization) -> int:
    """Recompute up to `BATCH` passed touch points; return their number. Skips locked leads, so several may run."""
    passed = Lead.objects.of(organization).filter(next_touch_point_at__lte=now()).order_by("next_touch_point_at")
    leads = list(passed.select_for_update(skip_locked=True, no_key=True)[:BATCH])
    update_leads(organization, leads, SYSTEM)
    return len(leads)
