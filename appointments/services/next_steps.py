"""The services of next steps. Each locks the lead, and keeps its own columns and touch point in line (L3, L13)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from appointments.services.leads import update_lead
from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from leads.models import Lead, NextStep
from leads.services import check_not_being_erased, check_not_erased, get_lead_for_update, recompute_next_step
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization


@atomic_with_retry
def set_next_step(
    *,
    organization: Organization,
    actor: Actor,
    lead_id: UUID,
    at: datetime,
    type: str,
    note: str = "",
    owner: Membership | None = None,
    id: UUID | None = None,
) -> NextStep:
    """Add a next step to a lead, unless it has this one; return it.

    Raises ValidationFailed if there is no such lead, Conflict if it was erased, or has `NextStep.MAX_OPEN` others, or
    if the id is another step's, or that of one that is done.
    """
    lead = get_lead_for_update(organization=organization, lead_id=lead_id)
    columns = {"at": at, "type": type, "note": note or None, "owner": owner}
    step = NextStep(id=id or uuid7(), organization=organization, lead=lead, **columns, **actor_columns(actor))
    if add_step(lead, step):
        update_lead(lead, None, actor)
    elif not lead.next_steps.filter(pk=step.pk, **columns, done_at=None).exists():
        raise Conflict("Another next step was added with this form before. To add this one, too, send it once more")
    return step


def add_step(lead: Lead, step: NextStep) -> bool:
    """Store a new step of a locked lead, and set the lead's columns, unstored. Return whether the id was free.

    Raises Conflict if the lead was erased, or has `NextStep.MAX_OPEN` other open steps.
    """
    check_not_erased(lead)
    if lead.next_steps.filter(done_at=None).exclude(pk=step.pk).count() >= NextStep.MAX_OPEN:
        raise Conflict(f"A lead can have at most {NextStep.MAX_OPEN} open next steps. Mark one as done first.")
    is_new = bool(insert_all(step, on_conflict_do_nothing=True))
    recompute_next_step(lead)
    return is_new


@atomic_with_retry
def change_next_step(
    *,
    organization: Organization,
    actor: Actor,
    lead_id: UUID,
    step_id: UUID,
    at: datetime,
    type: str,
    note: str = "",
    owner: Membership | None = None,
    version: str = "",
) -> NextStep:
    """Change an open next step. Raises as `finish_next_step` does."""
    lead, step = get_open_step(organization, lead_id, step_id, version)
    if is_touch_point(lead, step):
        lead.next_touch_point_at, lead.next_touch_point_type = at, type
    step.at, step.type, step.note, step.owner = at, type, note or None, owner
    step.save(update_fields=["at", "type", "note", "owner"])
    recompute_next_step(lead)
    update_lead(lead, None, actor)
    return step


@atomic_with_retry
def finish_next_step(
    *, organization: Organization, actor: Actor, lead_id: UUID, step_id: UUID, version: str = ""
) -> NextStep:
    """Mark a next step as done. Raises ValidationFailed if there is no such lead.

    Raises Conflict if the step is done, or gone, or no longer has the version; BeingErased while a worker erases the
    lead.
    """
    lead, step = get_open_step(organization, lead_id, step_id, version)
    if is_touch_point(lead, step):
        lead.next_touch_point_at = lead.next_touch_point_type = None
    step.done_at, step.done_by = now(), actor.name
    step.save(update_fields=["done_at", "done_by"])
    recompute_next_step(lead)
    update_lead(lead, None, actor)
    return step


def remove_steps(
    lead: Lead, steps: Mapping[str, Sequence[str | None]], touch_point: Sequence[str | None] | None = None
) -> None:
    """Delete open steps of a locked lead, given by id, if they still have the given values.

    If one was the lead's touch point, `touch_point` replaces it. The lead's columns are set, but not stored.
    """
    for step in NextStep.objects.of(lead.organization).filter(pk__in=steps.keys(), lead=lead, done_at=None):
        if steps[str(step.pk)] == step.values:
            if is_touch_point(lead, step):
                at, type = touch_point or (None, None)
                lead.next_touch_point_at, lead.next_touch_point_type = at and datetime.fromisoformat(at), type
            step.delete()
    recompute_next_step(lead)


def get_open_step(organization: Organization, lead_id: UUID, step_id: UUID, version: str = "") -> tuple[Lead, NextStep]:
    lead = get_lead_for_update(organization=organization, lead_id=lead_id)
    check_not_being_erased(lead)
    step = NextStep.objects.of(organization).filter(pk=step_id, lead=lead).first()
    if step is None:
        raise Conflict("This step is gone")
    if step.done_at:
        raise Conflict(f"This was done already, by {step.done_by}")
    if version and version != step.version:
        raise Conflict("Someone has changed this next step since you opened the page. Check it before you try again")
    return lead, step


def is_touch_point(lead: Lead, step: NextStep) -> bool:
    return (lead.next_touch_point_at, lead.next_touch_point_type) == (step.at, step.type)
