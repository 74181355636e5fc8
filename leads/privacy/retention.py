"""Retention: leads of an organization without activity for so many days are erased, if its owner has chosen that.

A lead's last activity is the latest of its own last change, its touch point, and the times of its rows that
`count_as_activity` names; the last ones can be to come. Once a day, in the organization's turns and after its imports
(`leads.imports.turns`), a worker reads the leads whose last change is old enough, by index and in batches, and erases
those without later activity as `request_erasure` does, each in a transaction. The next turn continues after the last
one.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Count, F, Max, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Greatest

from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.imports.turns import Turn
from leads.models import Lead
from leads.privacy.erasing import log_erasure, request_erasure
from leads.privacy.imported_rows import FileUnread
from leads.privacy.models import IS_WITHDRAWABLE, MAX_DAYS, RETENTION, Erasure, LeadRetention
from leads.privacy.rules import load_activity, load_rules
from leads.services import lock_lead
from organizations.models import Organization, SecurityEventKind
from organizations.security_log import record_security_event

RUN_EVERY = timedelta(days=1)  # and how long after it is chosen the first run begins
BATCH = 500
MAX_LOOKED_AT, MAX_SHOWN = 10_000, 5  # leads of a preview
FOLLOWING_DAYS = (30, 90)


class Preview(NamedTuple):
    """What a retention of so many days would erase at first, and later."""

    oldest: list[Any]  # the leads whose last change is longest ago, with `active_at`
    number: int
    following: dict[int, int]  # how many more leads until so many days later, if nothing happens to them
    is_complete: bool  # otherwise there may be more: only the leads whose last change is longest ago were looked at


def preview_retention(organization: Organization, days: int) -> Preview:
    before = now() - timedelta(days=days)
    last = before + timedelta(days=max(FOLLOWING_DAYS))
    looked_at = unchanged_leads(organization, last)[:MAX_LOOKED_AT]
    oldest = unchanged_leads(organization, before).filter(active_at__lt=before, pk__in=looked_at.values("pk"))
    counts = {
        str(later): Count("pk", filter=Q(active_at__lt=before + timedelta(days=later)))
        for later in (0, *FOLLOWING_DAYS)
    }
    numbers = looked_at.aggregate(**counts, all=Count("pk"))
    return Preview(
        oldest=sorted(oldest[:MAX_SHOWN], key=lambda lead: lead.active_at),
        number=numbers["0"],
        following={later: numbers[str(later)] - numbers["0"] for later in FOLLOWING_DAYS},
        is_complete=numbers["all"] < MAX_LOOKED_AT,
    )


@transaction.atomic
def set_retention(*, organization: Organization, days: int | None) -> LeadRetention:
    """Erase leads after so many days without activity, from `RUN_EVERY` later on, or for None keep them.

    Once it returns, no lead is erased by the former number of days.
    """
    values = {"days": days, "next_run_at": now() + RUN_EVERY, "position_at": None, "position_id": None}
    rows = LeadRetention.objects.of(organization)
    retention: LeadRetention = rows.update_or_create(organization=organization, defaults=values)[0]
    text = f"erased after {days} days" if days else "kept"
    kind = SecurityEventKind.ORGANIZATION_CHANGED
    record_security_event(kind, organization=organization, details=f"Leads without activity: {text}")
    return retention


def unchanged_leads(organization: Organization, before: datetime) -> QuerySet[Any]:
    """Return the leads that were changed last before this time and aren't erased, in the order of changes.

    Each has its last activity as `active_at`, which is found by the indexes on the leads of the other tables.
    """
    leads: QuerySet[Any] = Lead.objects.of(organization).filter(updated_at__lt=before).order_by("updated_at", "pk")
    others = [latest(model.objects.of(organization), columns) for model, columns in load_activity().items()]
    active_at = Greatest("updated_at", "next_touch_point_at", *others)
    return leads.exclude(email=load_rules()[Lead].values["email"]).annotate(active_at=active_at)


def latest(rows: QuerySet[Any], columns: Sequence[str]) -> Subquery:
    """Return the latest time in these columns of the lead's rows, or null; Greatest passes over null."""
    times = [Max(name) for name in columns]
    rows = rows.filter(lead=OuterRef("pk")).order_by().values("lead")
    return Subquery(rows.annotate(at=Greatest(*times) if len(times) > 1 else times[0]).values("at"))


def run_retention(turn: Turn) -> None:
    """Erase the organization's leads without activity, if it is time to, until the turn is over. Raises Overtaken.

    A lead that can't be erased because of an error is tried again in the next run. While a file is unread, the next
    turn reads it first: otherwise each erasure would cancel its import, for as long as the run takes.
    """
    chosen = LeadRetention.objects.of(turn.organization).filter(days__isnull=False, next_run_at__lte=now())
    retention: LeadRetention | None = chosen.first()
    if retention is None or turn.is_over:
        return
    # No more, if the owner has chosen something else.
    same = chosen.filter(days=retention.days, next_run_at=retention.next_run_at)
    before = now() - timedelta(days=retention.days or 0)
    try:
        while leads := next_leads(turn.organization, before, retention):
            for lead_id, changed_at, active_at in leads:
                if turn.keep():
                    return
                former = retention.position_at, retention.position_id
                retention.position_at, retention.position_id = changed_at, lead_id
                try:
                    if active_at < before and not erase_inactive(turn.organization, lead_id, before, same):
                        return
                except FileUnread:
                    retention.position_at, retention.position_id = former
                    return
        retention.position_at, retention.position_id = None, None
        retention.next_run_at = now() + RUN_EVERY
    finally:
        same.update(**{name: getattr(retention, name) for name in ("position_at", "position_id", "next_run_at")})


def withdraw_requests(organization: Organization) -> None:
    """Withdraw what `run_retention` has requested and no worker has begun, if its reason is gone.

    The owner has switched it off, something has happened to the lead, or the organization is inactive. Nothing may be
    erased at the same time. Locks each lead.
    """
    days = LeadRetention.objects.of(organization).values_list("days", flat=True).first()
    requests = Erasure.objects.of(organization).filter(IS_WITHDRAWABLE, finished_at=None)
    before = now() - timedelta(days=days or MAX_DAYS)
    for lead_id in list(requests.values_list("lead_id", flat=True)):
        with transaction.atomic():
            lock_lead(organization, lead_id)  # a person's request takes this one over
            leads = unchanged_leads(organization, before).filter(pk=lead_id, active_at__lt=before)
            erasure = requests.filter(lead_id=lead_id).first()
            if erasure and (days is None or not organization.is_active or not leads.exists()):
                log_erasure(erasure, "withdrawn")
                erasure.delete()


def next_leads(
    organization: Organization, before: datetime, retention: LeadRetention
) -> list[tuple[UUID, datetime, datetime]]:
    """Return id, last change and last activity of the leads after the position."""
    leads, at = unchanged_leads(organization, before), retention.position_at
    if at:
        leads = leads.filter(updated_at__gte=at).exclude(updated_at=at, pk__lte=retention.position_id)
    return list(leads.values_list("pk", "updated_at", "active_at")[:BATCH])


@atomic_with_retry
def erase_inactive(organization: Organization, lead_id: UUID, before: datetime, same: QuerySet[LeadRetention]) -> bool:
    """Erase the lead unless there was activity meanwhile. Locks the lead, then the setting.

    Returns False if the run has to stop: `same`, the setting, is gone, or the lead is large, and the next turn erases
    it before others are looked at.
    """
    # Unlike other changes this locks the key, too: a row that refers to the lead is added before, or waits.
    list(Lead.objects.of(organization).select_for_update().filter(pk=lead_id).values_list("pk"))
    # A second statement, because the one that waits for the lock does not see what was stored meanwhile.
    if not unchanged_leads(organization, before).filter(pk=lead_id, active_at__lt=before).exists():
        return True
    today = now().date()
    count = Case(When(erased_on=today, then=F("erased_count") + 1), default=Value(1))
    if not same.update(erased_count=count, erased_on=today):
        return False
    return request_erasure(organization=organization, actor=RETENTION, lead_id=lead_id).finished_at is not None
