"""The services for a lead's next step, which stays due until somebody has done it or set another one."""

from datetime import datetime
from uuid import UUID

from appointments.services.changes import update_lead
from foundation.db.retry import atomic_with_retry
from leads.models import Lead
from leads.services import get_lead_for_update
from organizations.actors import Actor
from organizations.models import Organization


@atomic_with_retry
def set_next_step(
    *, organization: Organization, actor: Actor, lead_id: UUID, at: datetime, type: str, note: str = ""
) -> Lead:
    """Set a lead's next step, which replaces the former one and a touch point that staff have set.

    Until its time it is the touch point, unless an appointment comes first (docs/interface.md, L13). Records one event.
    Raises ValidationFailed if there is no such lead. Locks the lead.
    """
    lead = get_lead_for_update(organization=organization, lead_id=lead_id)
    lead.next_step_at, lead.next_step_type, lead.next_step_note = at, type, note or None
    lead.next_touch_point_at, lead.next_touch_point_type = at, type
    update_lead(lead, None, actor)
    return lead


@atomic_with_retry
def finish_next_step(*, organization: Organization, actor: Actor, lead_id: UUID) -> Lead:
    """Mark the lead's next step as done; if it was the touch point, the next appointment becomes that.

    Records one event. Raises ValidationFailed if there is no such lead. Locks the lead.
    """
    lead = get_lead_for_update(organization=organization, lead_id=lead_id)
    if (lead.next_touch_point_at, lead.next_touch_point_type) == (lead.next_step_at, lead.next_step_type):
        lead.next_touch_point_at = lead.next_touch_point_type = None
    lead.next_step_at = lead.next_step_type = lead.next_step_note = None
    update_lead(lead, None, actor)
    return lead
