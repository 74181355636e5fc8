"""Handing a member's open work over to others, for example before the member leaves."""

import json
from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest
from django.utils.text import get_text_list

from appointments import conditions
from appointments.models import Appointment
from appointments.notifications import active_members
from appointments.services.changes import edit_appointment
from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.models import ERASED_EMAIL, Lead, NextStep
from leads.serializers import LeadDetailSerializer
from leads.topics import UPDATED
from notifications.models import Kind
from notifications.services import build_notifications, insert_notifications
from organizations.actors import Actor
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from webhooks.events import record_events

# Rows of each kind that are handed over at once, so that it takes seconds: each call sends invitations.
LIMITS = {"leads": 2_000, "next_steps": 2_000, "calls": 200}
BATCH = 100  # leads of a transaction
NAMES = {"leads": ("lead", "leads"), "next_steps": ("next step", "next steps"), "calls": ("call", "calls")}


def open_work(member: Membership) -> dict[str, QuerySet[Any]]:
    """Return leads whose setter the member is, open next steps that they own, and upcoming calls that they host.

    Erased leads are left out, but not their calls: erasing cancels none.
    """
    organization = member.organization
    leads = Lead.objects.of(organization).filter(setter=member).exclude(email__endswith=ERASED_EMAIL)
    return {
        "leads": leads.order_by("pk"),
        "next_steps": NextStep.objects.of(organization).filter(owner=member, done_at=None).order_by("pk"),
        "calls": conditions.still_to_come(Appointment.objects.of(organization).filter(host=member), now()).order_by(
            "pk"
        ),
    }


def describe_work(counts: Mapping[str, int]) -> str:
    """Return such as "2 leads and 1 call", or "" for nothing."""
    parts = [f"{count:,} {NAMES[kind][count != 1]}" for kind, count in counts.items() if count]
    return str(get_text_list(parts, "and"))


def hand_over(
    *, organization: Organization, actor: Actor, member: Membership, to: Mapping[str, Membership]
) -> dict[str, int]:
    """Give the member's open work of each kind in `to` to another member; return how much of each was handed over.

    At most `LIMITS` of each; the rest is left. Records each lead's and appointment's event, and notifies the new
    owners, but not the actor. Each call, all next steps, and each batch of leads are a transaction: until one ends, no
    organization sees newer events. A next step that is edited at the same time keeps the owner of the edit. What was
    handed over before an error stays, and its new owners are notified. Raises Conflict as `check_new_owner` does.
    """
    to = {kind: owner for kind, owner in to.items() if owner != member}  # handing leads to their own setter would loop
    work, counts = open_work(member), dict.fromkeys(LIMITS, 0)
    try:
        if host := to.get("calls"):
            for id in list(work["calls"].values_list("pk", flat=True)[: LIMITS["calls"]]):
                counts["calls"] += hand_over_call(organization, actor, id, member, host)
        if owner := to.get("next_steps"):
            ids = list(work["next_steps"].values_list("pk", flat=True)[: LIMITS["next_steps"]])
            with transaction.atomic():
                check_new_owner(owner)
                steps = NextStep.objects.of(organization).filter(pk__in=ids, owner=member, done_at=None)
                counts["next_steps"] = steps.update(owner=owner)
        if setter := to.get("leads"):
            while counts["leads"] < LIMITS["leads"] and (
                count := hand_over_leads(organization, actor, work["leads"], setter)
            ):
                counts["leads"] += count
    finally:
        notify_owners(organization, actor, member, to, counts)
    return counts


def check_new_owner(owner: Membership) -> None:
    """Lock the member. Raises Conflict if they have been deactivated, or made a viewer, since they were chosen."""
    rows = Membership.objects.of(owner.organization).filter(CAN_BE_ASSIGNED, pk=owner.pk)
    if rows.select_for_update(of=["self"], no_key=True).first() is None:
        raise Conflict(f"{owner} can't take over work any more. What has not been handed over stays as it is")


@atomic_with_retry
def hand_over_call(organization: Organization, actor: Actor, id: UUID, member: Membership, host: Membership) -> bool:
    """Return False if the call has another host by now. Locks the new host, then the appointment and its lead."""
    check_new_owner(host)
    call = Appointment.objects.of(organization).for_update().filter(pk=id, host=member).first()
    if call is None:
        return False
    edit_appointment(organization=organization, actor=actor, appointment=call, host=host)
    return True


@atomic_with_retry
def hand_over_leads(organization: Organization, actor: Actor, leads: QuerySet[Lead], setter: Membership) -> int:
    """Give a batch of the leads to the setter, and return how many. Locks the setter, then the leads."""
    check_new_owner(setter)
    ids = list(leads.for_update().values_list("pk", flat=True)[:BATCH])  # type: ignore[attr-defined]
    if ids:
        # All of them show the same setter.
        before = json.loads(LeadDetailSerializer.get_text(organization, ids[0]) or "{}")
        rows = Lead.objects.of(organization).filter(pk__in=ids)
        rows.update(setter=setter, updated_at=Greatest(Value(now()), F("updated_at") + timedelta(milliseconds=1)))
        previous = json.dumps({"setter": before["setter"]})
        record_events(UPDATED, organization, ids, actor=actor, previous=previous)
    return len(ids)


def notify_owners(
    organization: Organization,
    actor: Actor,
    member: Membership,
    to: Mapping[str, Membership],
    counts: Mapping[str, int],
) -> None:
    shares: dict[Any, dict[str, int]] = defaultdict(dict)
    for kind, owner in to.items():
        shares[owner.pk][kind] = counts[kind]
    rows = []
    for owner in active_members(organization).filter(pk__in=shares).exclude(user_id=actor.id):
        if work := describe_work(shares[owner.pk]):
            context = {"organization": organization.name, "author": actor.name, "member": str(member), "work": work}
            rows += build_notifications(
                organization=organization, kind=Kind.HANDED_OVER, recipients=[owner], context=context
            )
    insert_notifications(rows)
