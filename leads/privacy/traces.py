"""What is stored about rows without a foreign key to them: events, notifications, history entries and the like."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Q

from foundation.db.expressions import is_any_of
from leads.imports.models import ImportUndo
from leads.imports.turns import Turn
from leads.models import Lead
from leads.privacy.history import forget_history
from leads.privacy.models import UndoneMerge
from leads.privacy.rules import batches, find_rows
from leads.topics import ERASED
from notifications.services import erase_notifications
from organizations.idempotency import erase_responses
from organizations.models import Organization
from webhooks.events import replace_events
from webhooks.topics import Topic

BATCH = 500  # rows, events or other entries of a transaction


def forget_traces(
    topic: Topic,
    organization: Organization,
    subjects: Mapping[UUID, UUID],
    turn: Turn | None = None,
    *,
    keeps_notifications: bool = False,
) -> Counter[str]:
    """Erase what is stored about these rows; count the events and notifications.

    The events become events of the topic about the stored row that `subjects` has for each of them. Each batch is a
    transaction; without a turn, may run in the caller's. Stops when the turn is over, and raises Overtaken if it is
    lost.
    """
    subject_ids = list(subjects)
    erase_responses(organization=organization, ids=subject_ids)
    ImportUndo.objects.of(organization).filter(is_any_of("subject_id", subject_ids)).delete()
    about: dict[str, Any] = {"organization": organization, "limit": BATCH}
    steps: dict[str, Callable[[], int]] = {
        "events": partial(replace_events, **about, topic=topic, subjects=subjects),
        "notifications": partial(erase_notifications, **about, subject_ids=subject_ids),
        "history": partial(forget_history, subject_ids, BATCH),
    }
    if keeps_notifications:
        del steps["notifications"]
    counts: Counter[str] = Counter()
    for name, step in steps.items():
        while count := step():
            counts[name] += count
            if turn and turn.keep():
                break
    del counts["history"]
    return counts


def find_undone_merges(
    organization: Organization, lead_ids: Sequence[UUID], limit: int | None = None
) -> list[UndoneMerge]:
    """Return the leads' undone merges, after those that the other leads were part of meanwhile.

    With `limit`, stop once more than `limit` are found.
    """
    rows = UndoneMerge.objects.of(organization)
    waiting = deque(rows.filter(lead_id__in=lead_ids)[: limit + 1 if limit else None])
    found = {merge.pk: merge for merge in waiting}
    while waiting and not (limit and len(found) > limit):
        merge = waiting.popleft()
        meanwhile = rows.filter(began_at__lte=merge.ended_at, ended_at__gte=merge.began_at)
        others = [other for other in meanwhile.filter(is_any_of("lead_id", merge.subject_ids)) if other.pk not in found]
        found |= {other.pk: other for other in others}
        waiting += others
    return [*reversed(found.values())]


def subjects_of(merge: UndoneMerge, limit: int | None = None) -> list[UUID]:
    """Return the other lead, and all rows that belong to it or did then; about `limit` if there are more."""
    other = merge.subject_ids[0]
    leads = Lead.objects.of(merge.organization).filter(Q(pk=other) | Q(merges__previous_id=other))
    found = [id for lead in leads.distinct() for ids in find_rows(lead, limit=limit).values() for id in ids]
    return list(dict.fromkeys([*merge.subject_ids, *found]))


def forget_undone_merges(lead: Lead, lead_ids: Sequence[UUID], turn: Turn | None = None) -> bool:
    """Erase what is stored about other rows from the time when they were part of the same merge; False if not all.

    `lead_ids` are the lead's and those of leads that were merged into it. The events become events about the lead.
    """
    organization = lead.organization
    for merge in find_undone_merges(organization, lead_ids):
        between = (merge.began_at, merge.ended_at)
        for ids in batches(subjects_of(merge), BATCH):
            erase_responses(organization=organization, ids=ids)
            about: dict[str, Any] = {"organization": organization, "limit": BATCH, "between": between}
            subjects = dict.fromkeys(ids, lead.pk)
            while (
                replace_events(**about, topic=ERASED, subjects=subjects)
                or erase_notifications(**about, subject_ids=ids)
                or forget_history(ids, BATCH, between)
            ):
                if turn and turn.keep():
                    return False
        merge.delete()
    return True
