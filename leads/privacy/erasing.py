"""Erasing a lead: at once if little is stored about it, else by a worker in short transactions."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models import F, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from psycopg.errors import DeadlockDetected, LockNotAvailable, QueryCanceled

from foundation.db.expressions import is_any_of
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_or_get
from foundation.outbox import send_on_commit
from leads.imports.services import TASK
from leads.imports.turns import Overtaken, Turn
from leads.models import Lead, LeadMerge
from leads.privacy.history import has_many_entries
from leads.privacy.imported_rows import FileUnread, cancel_unread_imports, forget_imported_rows, has_many_candidates
from leads.privacy.models import Erasure
from leads.privacy.references import keep_hashes
from leads.privacy.rules import AnyModel, batches, find_rows, load_rules
from leads.privacy.saved_views import views_about
from leads.privacy.traces import BATCH, find_undone_merges, forget_traces, forget_undone_merges, subjects_of
from leads.services import lock_known_lead
from leads.topics import ERASED
from organizations.actors import Actor, ActorKind, actor_columns
from organizations.models import Organization, SavedView, SecurityEventKind, User
from organizations.security_log import record_security_event
from organizations.versions import VersionedModel
from webhooks.events import record_event
from webhooks.models import Event

# Up to this many of each kind, a request erases the lead itself, in less than a second even if each is as large as it
# can be: meanwhile no organization sees its newest events.
SMALL = 100
FEW_MERGES = 5  # that were undone: for each, what belongs to the other lead is read
# More imported rows than these may take longer: one has up to 100,000 characters.
SMALL_IMPORTED = 50
LAST_BATCH = 10_000  # rows of a statement of the last transaction, in which most are erased already
PAUSE = timedelta(minutes=1)  # after an error
TOO_SLOW = (QueryCanceled, LockNotAvailable, DeadlockDetected)


@atomic_with_retry
def request_erasure(*, organization: Organization, actor: Actor, lead_id: UUID) -> Erasure:
    """Erase the lead, or let a worker do it if it takes long. Returns the request, which says whether it is finished.

    The id of a merged lead erases the one that it is part of. Requesting it again is safe. Locks the lead, so that no
    one merges it. May run in the caller's transaction. Raises ResourceNotFound if the organization has no such lead,
    and FileUnread for `RETENTION` while a file of the organization has not been read.
    """
    lead = lock_known_lead(organization, lead_id)
    new = Erasure(organization=organization, lead_id=lead.pk, updated_at=now() - PAUSE, **actor_columns(actor))
    erasure, is_new = insert_or_get(new, lambda: open_erasure(lead))
    if not is_new and erasure.waits_for_files:
        # The retention's: as the actor's own, it is neither withdrawn nor does it wait.
        Erasure.objects.of(organization).filter(pk=erasure.pk).update(**actor_columns(actor))
    if not is_new or finish_in_time(erasure, lead):
        return erasure
    log_erasure(erasure, "requested; a worker erases it")
    send_on_commit(TASK)
    return erasure


def log_erasure(erasure: Erasure, text: str) -> None:
    """Add an entry to the security log. Its text names an actor who isn't a user, and so can't be that of the entry."""
    is_staff = erasure.actor_kind == ActorKind.STAFF
    kind = "API key " if erasure.actor_kind == ActorKind.API_KEY else ""
    actor = "" if is_staff else f" by {kind}{erasure.actor_name[:100]}"
    record_security_event(
        SecurityEventKind.LEAD_ERASED,
        organization=erasure.organization,
        actor=User.objects.filter(pk=erasure.actor_id).first() if is_staff else None,
        details=f"Lead {erasure.lead_id}{actor}: {text}".rstrip(": "),
    )


def open_erasure(lead: Lead) -> Erasure | None:
    erasure: Erasure | None = Erasure.objects.of(lead.organization).filter(lead_id=lead.pk, finished_at=None).first()
    return erasure


def is_small(lead: Lead) -> bool:
    """Return whether little is stored about the lead. Reads no more than `SMALL` rows of each kind."""
    rows = find_rows(lead, limit=SMALL)
    ids = [id for found in rows.values() for id in found]
    undone = find_undone_merges(lead.organization, rows[Lead][: SMALL + 1], limit=FEW_MERGES)
    if len(undone) > FEW_MERGES:
        return False
    others = sum(len(subjects_of(merge, SMALL)) for merge in undone)
    if len(ids) + others > SMALL or has_many_candidates(lead, SMALL_IMPORTED):
        return False
    events = Event.objects.of(lead.organization).filter(subject_id__in=ids).order_by().values_list("pk")[: SMALL + 1]
    return len(events) <= SMALL and not has_many_entries(ids, SMALL)


def finish_in_time(erasure: Erasure, lead: Lead) -> bool:
    """Erase a small lead now. Returns False if it isn't, or a statement or lock took longer than a request may wait.

    Raises FileUnread if the erasure waits for files.
    """
    try:
        with transaction.atomic():
            if not is_small(lead):
                return False
            cancel_unread_imports(lead.organization, waits=erasure.waits_for_files)
            list(forget_imported_rows(lead))
            finish(erasure)
    except OperationalError as error:
        if not isinstance(error.__cause__, TOO_SLOW):
            raise
        return False
    return True


# --- What workers do


def run_next_erasure(turn: Turn) -> bool:
    """Work on the organization's oldest request until the turn is over; return whether there was one to work on.

    The next turn continues after the last batch. After an error, or if a file must be read first, the request waits for
    a minute, so that it holds up neither the others nor the organization's imports. Raises Overtaken if the turn is
    lost.
    """
    waiting = Erasure.objects.of(turn.organization).filter(finished_at=None, updated_at__lte=now() - PAUSE)
    erasure: Erasure | None = waiting.order_by("updated_at", "pk").first()
    if erasure is None:
        return False
    erasure.organization = turn.organization
    try:
        run_erasure(erasure, turn)
    except Overtaken:
        raise
    except Exception as error:
        erasure.updated_at = now()
        if not (erasure.position or {}).get("is_end"):
            erasure.position = None  # the organization's imports work in the meantime
        erasure.save(update_fields=["updated_at", "position"])
        if not isinstance(error, FileUnread):
            raise
    return True


def run_erasure(erasure: Erasure, turn: Turn) -> None:
    lead = Lead.objects.of(erasure.organization).get(pk=erasure.lead_id)
    lead.organization = erasure.organization
    cancel_unread_imports(lead.organization, waits=erasure.waits_for_files)
    # The organization's imports don't work meanwhile, so what has been compared stays compared.
    for position in forget_imported_rows(lead, erasure.position, turn):
        store_progress(erasure, turn, position=position)
        if turn.is_over:
            return
    forget_views(lead)  # while the former names are stored
    done: dict[str, str] = (erasure.position or {}).get("done", {})  # of rows that stay, the last ids by model
    rows = find_rows(lead)
    if not forget_undone_merges(lead, rows[Lead], turn):
        return
    for model, ids in reversed(rows.items()):
        label = model._meta.label
        for some in batches([id for id in sorted(ids) if str(id) > done.get(label, "")], BATCH):
            counts = forget_traces(ERASED, lead.organization, dict.fromkeys(some, lead.pk), turn)
            has_traces = bool(counts) and turn.is_over
            # The lead and its merges stay until the end, because all other rows are found through them.
            changed = 0 if has_traces or model in (Lead, LeadMerge) else apply_rule(model, some)
            if load_rules()[model].is_deleted:  # rows that stay are counted at the end
                counts[str(model._meta.verbose_name_plural)] += changed
            elif not has_traces:
                done[label] = str(some[-1])
            position = {**(erasure.position or {}), "done": done}
            store_progress(erasure, turn, counts=dict(Counter(erasure.counts) + counts), position=position)
            if has_traces or (changed and turn.is_over):
                return
    finish(erasure)


def forget_views(lead: Lead) -> None:
    SavedView.objects.of(lead.organization).filter(pk__in=views_about(lead)).delete()


def store_progress(erasure: Erasure, turn: Turn, **columns: object) -> None:
    """Raise Overtaken if the turn is lost."""
    turn.extend()
    for name, value in columns.items():
        setattr(erasure, name, value)
    erasure.save(update_fields=list(columns))


@atomic_with_retry
def finish(erasure: Erasure) -> None:
    """Erase what is left of the lead; record `lead.erased` and an entry in the security log, in one transaction.

    Locks the request, the lead and the rows that stay. Imported rows were compared before: a transaction that lasts
    holds up the events of all organizations.
    """
    organization = erasure.organization
    lead = Lead.objects.of(organization).get(pk=erasure.lead_id)
    lead.organization = organization
    views = views_about(lead)  # before the first lock
    if not Erasure.objects.of(organization).select_for_update().filter(pk=erasure.pk, finished_at=None):
        return
    # Unlike other changes this locks the key, too: rows that refer to the lead are added before or after, never during.
    lead = Lead.objects.of(organization).select_for_update().get(pk=erasure.lead_id)
    lead.organization = organization
    SavedView.objects.of(organization).filter(pk__in=views).delete()
    cancel_unread_imports(organization, waits=erasure.waits_for_files)
    rows = find_rows(lead, lock=True)
    forget_undone_merges(lead, rows[Lead])
    total = Counter(
        {str(model._meta.verbose_name_plural): len(ids) for model, ids in rows.items() if model is not Lead}
    )
    for model, ids in reversed(rows.items()):
        for some in batches(ids, LAST_BATCH):
            apply_rule(model, some)
            total.update(forget_traces(ERASED, organization, dict.fromkeys(some, lead.pk)))
    total.update(erasure.counts)
    actor = Actor(ActorKind(erasure.actor_kind), erasure.actor_id, erasure.actor_name)
    record_event(ERASED, lead, actor=actor)
    log_erasure(erasure, ", ".join(f"{count} {name}" for name, count in total.items() if count))
    erasure.finished_at = now()
    erasure.save(update_fields=["finished_at"])


@transaction.atomic
def apply_rule(model: AnyModel, ids: Sequence[UUID]) -> int:
    """Delete or empty these rows, after those that refer to them; return how many were not empty yet."""
    rule = load_rules()[model]
    keep_hashes(model, ids)
    rows = model._base_manager.filter(is_any_of("pk", ids))
    if rule.is_deleted:
        rows.delete()
        return len(ids)
    if not rule.values:
        return 0
    if not any(isinstance(value, Combinable) for value in rule.values.values()):
        filled = list(rows.exclude(**rule.values).values_list("pk", flat=True))
        rows = model._base_manager.filter(is_any_of("pk", filled))
    count: int = rows.update(**rule.values)
    if issubclass(model, VersionedModel):
        next_version = F("updated_at") + timedelta(milliseconds=1)
        rows.update(updated_at=Greatest(next_version, Value(now())))
    return count
