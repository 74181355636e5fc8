"""Erasing a lead: at once if little is stored about it, else by a worker in short transactions."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app
from django.db import OperationalError, transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Greatest
from kombu.exceptions import OperationalError as BrokerError
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled

from foundation.api.exceptions import ValidationFailed
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_or_get
from leads.models import Lead, LeadMerge
from leads.privacy.history import forget_history, has_many_entries
from leads.privacy.imports import forget_imported_rows, has_many_candidates
from leads.privacy.models import Erasure
from leads.privacy.rules import AnyModel, batches, find_rows, load_rules
from leads.privacy.saved_views import forget_views
from leads.topics import ERASED
from notifications.services import erase_notifications
from organizations.actors import Actor, ActorKind, actor_columns
from organizations.models import Organization, SecurityEventKind, User
from organizations.security_log import record_security_event
from organizations.versions import VersionedModel
from webhooks.models import Event
from webhooks.services import record_event, replace_events

logger = logging.getLogger(__name__)

TASK = "leads.run_erasure"
BATCH = 500  # rows, events or other entries of a transaction
# Up to this many of each kind, a request erases the lead itself, in less than a second; a statement may take five.
SMALL = 500
# More imported rows than these may take longer: one has up to 100,000 characters.
SMALL_IMPORTED = 50
STALE = timedelta(seconds=30)  # since the last batch; then another worker may continue
TOO_SLOW = (QueryCanceled, LockNotAvailable, DeadlockDetected)


def request_erasure(*, organization: Organization, actor: Actor, lead_id: UUID) -> Erasure:
    """Erase the lead, or let a worker do it if it takes long. Returns the request, which says whether it is finished.

    Requesting it again is safe. Locks the lead, so that no one merges it. May run in the caller's transaction. Raises
    ValidationFailed if the organization has no such lead.
    """
    with transaction.atomic():
        lead: Lead | None = Lead.objects.of(organization).for_update().filter(pk=lead_id).first()
        if lead is None:
            raise ValidationFailed({"lead_id": ["is not known in the organization"]})
        lead.organization = organization
        # As if a worker had given it up, so that the first one takes it at once.
        free = now() - STALE
        new = Erasure(organization=organization, lead_id=lead_id, updated_at=free, **actor_columns(actor))
        erasure, is_new = insert_or_get(new, lambda: open_erasure(lead))
        if not is_new or finish_in_time(erasure, lead):
            return erasure
        details = f"Lead {lead_id}: requested; a worker erases it"
        record_security_event(SecurityEventKind.LEAD_ERASED, organization=organization, details=details)
        transaction.on_commit(partial(enqueue, organization.pk, erasure.pk))
    return erasure


def open_erasure(lead: Lead) -> Erasure | None:
    """Return the request to erase the lead that isn't finished, if there is one."""
    erasure: Erasure | None = Erasure.objects.of(lead.organization).filter(lead_id=lead.pk, finished_at=None).first()
    return erasure


def is_small(lead: Lead) -> bool:
    """Return whether the lead has at most `SMALL` rows, events and history entries, and few imported rows to compare.

    Reads no more of them than that.
    """
    rows = find_rows(lead, limit=SMALL)
    ids = [id for found in rows.values() for id in found]
    if len(ids) > SMALL or has_many_candidates(lead, SMALL_IMPORTED):
        return False
    events = Event.objects.of(lead.organization).filter(subject_id__in=ids).order_by().values_list("pk")[: SMALL + 1]
    return len(events) <= SMALL and not has_many_entries(ids, SMALL)


def finish_in_time(erasure: Erasure, lead: Lead) -> bool:
    """Erase a small lead now. Returns False if it isn't, or a statement or lock took longer than a request may wait."""
    try:
        with transaction.atomic():
            if not is_small(lead):
                return False
            finish(erasure)
    except OperationalError as error:
        if not isinstance(error.__cause__, TOO_SLOW):
            raise
        return False
    return True


# --- What workers do


def run_erasure(*, organization: Organization, erasure_id: UUID) -> None:
    """Erase the lead in short transactions, which delay nobody, unless another worker does. Safe to be killed."""
    erasure = take_erasure(organization, erasure_id)
    if erasure is None:
        return
    lead = Lead.objects.of(organization).get(pk=erasure.lead_id)
    lead.organization = organization
    after_batch = partial(store_progress, erasure, Counter())
    forget_imported_rows(lead, after_batch)
    rules = load_rules()
    for model, ids in reversed(find_rows(lead).items()):
        for some in batches(ids, BATCH):
            counts = forget_traces(lead, model, some, after_batch)
            # The lead and its merges stay until the end, because all other rows are found through them.
            if model not in (Lead, LeadMerge):
                apply_rule(model, some)
                # Rows that stay are counted at the end.
                counts[str(model._meta.verbose_name_plural)] += len(some) if rules[model].is_deleted else 0
            store_progress(erasure, counts)
    finish(erasure)


@transaction.atomic
def take_erasure(organization: Organization, erasure_id: UUID) -> Erasure | None:
    """Return the request for this worker alone, or None if it is finished or another worker has it.

    It stays this worker's as long as `store_progress` is called at least every `STALE`.
    """
    rows = free_erasures(organization).select_for_update(skip_locked=True)
    erasure: Erasure | None = rows.filter(pk=erasure_id).first()
    if erasure:
        erasure.organization, erasure.updated_at = organization, now()
        erasure.save(update_fields=["updated_at"])
    return erasure


def free_erasures(organization: Organization) -> QuerySet[Erasure]:
    """Return the organization's requests that aren't finished, and that no worker has."""
    rows: QuerySet[Erasure] = Erasure.objects.of(organization).filter(finished_at=None, updated_at__lte=now() - STALE)
    return rows


def run_waiting_erasures(*, organization: Organization) -> None:
    """Erase the organization's leads that no worker is erasing, one after the other."""
    # What failed last comes last, so that it delays no other.
    for erasure_id in list(free_erasures(organization).order_by("updated_at").values_list("pk", flat=True)):
        run_erasure(organization=organization, erasure_id=erasure_id)


@transaction.atomic
def store_progress(erasure: Erasure, counts: Counter[str]) -> None:
    """Add the counts of erased rows, and set `updated_at`, so that no other worker takes over."""
    stored = Erasure.objects.of(erasure.organization).select_for_update().get(pk=erasure.pk)
    stored.counts, stored.updated_at = dict(Counter(stored.counts) + counts), now()
    stored.save(update_fields=["counts", "updated_at"])


@atomic_with_retry
def finish(erasure: Erasure) -> None:
    """Erase what is left of the lead, in one transaction, unless another worker has. Locks the request and the lead."""
    rows = Erasure.objects.of(erasure.organization).select_for_update().filter(pk=erasure.pk, finished_at=None)
    stored: Erasure | None = rows.first()
    if stored is None:
        return
    actor = Actor(ActorKind(stored.actor_kind), stored.actor_id, stored.actor_name)
    erase_lead(organization=erasure.organization, actor=actor, lead_id=stored.lead_id, counts=stored.counts)
    erasure.finished_at = stored.finished_at = now()
    stored.save(update_fields=["finished_at"])


@atomic_with_retry
def erase_lead(
    *, organization: Organization, actor: Actor, lead_id: UUID, counts: dict[str, int] | None = None
) -> None:
    """Erase all personal data of a lead; record `lead.erased` and an entry in the security log (interface.md, L20).

    Runs in one transaction, which takes long for a large lead: requests call `request_erasure`. `counts` is how many
    rows earlier transactions have erased, by kind. Erasing again erases what has been added since. Locks the lead
    and the rows that stay. Raises ValidationFailed if the organization has no such lead.
    """
    # Unlike other changes this locks the key, too: rows that refer to the lead are added before or after, never during.
    lead: Lead | None = Lead.objects.of(organization).select_for_update().filter(pk=lead_id).first()
    if lead is None:
        raise ValidationFailed({"lead_id": ["is not known in the organization"]})
    lead.organization = organization
    forget_views(lead)
    forget_imported_rows(lead)
    rows = find_rows(lead, lock=True)
    total = Counter(
        {str(model._meta.verbose_name_plural): len(ids) for model, ids in rows.items() if model is not Lead}
    )
    for model, ids in reversed(rows.items()):
        for some in batches(ids, BATCH):
            apply_rule(model, some)
            total.update(forget_traces(lead, model, some))
    total.update(counts or {})
    record_event(ERASED, lead, actor=actor)
    details = ", ".join(f"{count} {name}" for name, count in total.items() if count)
    record_security_event(
        SecurityEventKind.LEAD_ERASED,
        organization=organization,
        actor=User.objects.filter(pk=actor.id).first() if actor.kind == ActorKind.STAFF else None,
        details=f"Lead {lead_id}: {details}".rstrip(": "),
    )


def forget_traces(
    lead: Lead, model: AnyModel, ids: Sequence[UUID], after_batch: Callable[[], object] | None = None
) -> Counter[str]:
    """Erase the events, notifications and history entries about these rows; return how many of the first two.

    No foreign key leads to them. Each batch is a transaction, and `after_batch` is called after it; may run in the
    caller's.
    """
    organization, subject_ids = lead.organization, list(ids)
    about: dict[str, Any] = {"organization": organization, "subject_ids": subject_ids, "limit": BATCH}
    steps: dict[str, Callable[[], int]] = {
        "events": partial(replace_events, **about, topic=ERASED, subject=lead),
        "notifications": partial(erase_notifications, **about),
    }
    counts = Counter({name: erase_all(step, after_batch) for name, step in steps.items()})
    erase_all(partial(forget_history, model, subject_ids, BATCH), after_batch)
    return counts


def erase_all(step: Callable[[], int], after_batch: Callable[[], object] | None) -> int:
    """Repeat a step until it erases nothing more; return how much it erased."""
    total = 0
    while count := step():
        total += count
        if after_batch:
            after_batch()
    return total


@transaction.atomic
def apply_rule(model: AnyModel, ids: Sequence[UUID]) -> None:
    """Delete or empty these rows of a model, after those that refer to them."""
    rule = load_rules()[model]
    found = model._base_manager.filter(pk__in=ids)
    if rule.is_deleted:
        found.delete()
    elif rule.values:
        found.update(**rule.values)
        if issubclass(model, VersionedModel):
            next_version = F("updated_at") + timedelta(milliseconds=1)
            found.update(updated_at=Greatest(next_version, Value(now())))


# --- The message


def enqueue(organization_id: UUID, erasure_id: UUID) -> None:
    """Send the message in a thread, so that no request waits for the broker."""
    threading.Thread(target=publish, args=[str(organization_id), str(erasure_id)], daemon=True).start()


def publish(organization_id: str, erasure_id: str) -> None:
    """Send the message. Without the broker, beat's task finds the request later."""
    try:
        current_app.send_task(TASK, (organization_id, erasure_id), retry=False)
    except (BrokerError, OSError) as error:
        logger.warning("Message broker unreachable (%s); beat will find the erasure", type(error).__name__)
