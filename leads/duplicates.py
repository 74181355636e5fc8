"""Leads that may be the same person: the same mailbox, phone or name.

What two leads have in common is found by indexes on expressions (`leads_email_key`, `leads_name_key`) and on phones, at
any number of leads; the database function `leads_similar` says what counts. A task compares each lead that has changed
with all others, and keeps the pairs for the list. A lead's own page asks for them directly.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.models import DuplicateSearch, Lead, PossibleDuplicate
from organizations.models import Organization

BATCH = 200  # leads of a transaction; no organization sees newer events until it ends
# A transaction can commit later than one that has set a later `updated_at`.
SETTLED_AFTER = timedelta(seconds=60)
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

# Compares the next leads with all others. Pairs that have nothing in common any more are deleted, dismissed ones kept.
SEARCH = """
WITH batch AS MATERIALIZED (
    SELECT id, updated_at FROM leads_lead
    WHERE organization_id = %(organization)s AND (updated_at, id) > (%(at)s, %(id)s) AND updated_at <= %(until)s
    ORDER BY updated_at, id LIMIT %(size)s
), found AS MATERIALIZED (
    SELECT least(batch.id, similar_lead.id) AS first_id, greatest(batch.id, similar_lead.id) AS second_id,
        max(similar_lead.reasons) AS reasons
    FROM batch CROSS JOIN LATERAL leads_similar(%(organization)s, batch.id) AS similar_lead
    GROUP BY 1, 2
), stale AS (
    DELETE FROM leads_possibleduplicate WHERE NOT is_dismissed AND id IN (
        SELECT pair.id FROM batch JOIN leads_possibleduplicate AS pair ON pair.first_id = batch.id
        UNION ALL
        SELECT pair.id FROM batch JOIN leads_possibleduplicate AS pair ON pair.second_id = batch.id
    ) AND (first_id, second_id) NOT IN (SELECT first_id, second_id FROM found)
), added AS (
    INSERT INTO leads_possibleduplicate (id, organization_id, created_at, first_id, second_id, reasons, is_dismissed)
    SELECT uuidv7(), %(organization)s, %(now)s, first_id, second_id, reasons, false FROM found
    ORDER BY first_id, second_id
    ON CONFLICT (first_id, second_id) DO UPDATE SET reasons = excluded.reasons
        WHERE leads_possibleduplicate.reasons <> excluded.reasons
)
SELECT updated_at, id, count(*) OVER () FROM batch ORDER BY updated_at DESC, id DESC LIMIT 1
"""
SIMILAR = """
SELECT similar_lead.id, similar_lead.reasons
FROM leads_similar(%(organization)s, %(lead)s) AS similar_lead
WHERE NOT EXISTS (
    SELECT FROM leads_possibleduplicate
    WHERE first_id = least(similar_lead.id, %(lead)s) AND second_id = greatest(similar_lead.id, %(lead)s)
        AND is_dismissed
)
ORDER BY similar_lead.reasons DESC, similar_lead.id
"""
REASONS = "SELECT reasons FROM leads_similar(%(organization)s, %(lead)s) WHERE id = %(other)s"

# Remembers that a lead and others are not the same person, as far as those are still there.
DISMISS = """
INSERT INTO leads_possibleduplicate (id, organization_id, created_at, first_id, second_id, reasons, is_dismissed)
SELECT uuidv7(), %(organization)s, %(now)s, least(other.id, %(lead)s), greatest(other.id, %(lead)s), 0, true
FROM (
    SELECT id FROM leads_lead WHERE organization_id = %(organization)s AND id = ANY(%(others)s)
    ORDER BY id FOR KEY SHARE
) AS other
ON CONFLICT (first_id, second_id) DO UPDATE SET is_dismissed = true
"""


class Similar(NamedTuple):
    lead_id: UUID
    reasons: int


@atomic_with_retry
def search_batch(*, organization: Organization) -> int:
    """Compare the next changed leads with all others and store the pairs; return their number, 0 if another does it."""
    searches = DuplicateSearch.objects.of(organization)
    searches.get_or_create(organization=organization, defaults={"searched_at": BEGINNING, "searched_id": UUID(int=0)})
    search = searches.select_for_update(skip_locked=True).first()
    if search is None:
        return 0
    params = {
        "organization": organization.pk,
        "at": search.searched_at,
        "id": search.searched_id,
        "until": now() - SETTLED_AFTER,
        "now": now(),
        "size": BATCH,
    }
    with connection.cursor() as cursor:
        cursor.execute(SEARCH, params)
        row = cursor.fetchone()
    if row is None:
        return 0
    search.searched_at, search.searched_id, count = row
    search.save(update_fields=["searched_at", "searched_id"])
    return int(count)


def find_similar(lead: Lead) -> list[Similar]:
    with connection.cursor() as cursor:
        cursor.execute(SIMILAR, {"organization": lead.organization_id, "lead": lead.pk})
        return [Similar(*row) for row in cursor.fetchall()]


def reasons_in_common(lead: Lead, other_id: UUID) -> int:
    """Return what two leads have in common, also if the pair was dismissed; 0 for nothing."""
    with connection.cursor() as cursor:
        cursor.execute(REASONS, {"organization": lead.organization_id, "lead": lead.pk, "other": other_id})
        row = cursor.fetchone()
        return row[0] if row else 0


@transaction.atomic
def dismiss(*, organization: Organization, leads: tuple[UUID, UUID]) -> None:
    """Remember that these are two people. Locks them. Raises Conflict if one is gone."""
    first, second = sorted(leads)
    if len(Lead.objects.of(organization).select_for_update(no_key=True).filter(pk__in=leads).order_by("pk")) < 2:
        raise Conflict("One of these leads was merged meanwhile, so nothing was remembered")
    PossibleDuplicate.objects.of(organization).update_or_create(
        organization=organization,
        first_id=first,
        second_id=second,
        defaults={"is_dismissed": True},
        create_defaults={"is_dismissed": True, "reasons": 0},
    )


def keep_dismissals(*, organization: Organization, keep: UUID, merge: UUID) -> dict[str, list[UUID]]:
    """Dismiss the pairs of the lead `keep` with each lead whose pair with `merge` is dismissed.

    Return what undoing it needs. Locks the other leads against deletion.
    """
    merged, kept = (dismissed_with(organization, lead_id) for lead_id in (merge, keep))
    added = merged - kept - {keep}
    dismiss_pairs(organization, keep, added)
    return {"merged": sorted(merged), "added": sorted(added)}


def restore_dismissals(*, organization: Organization, keep: UUID, restored: UUID, stored: dict[str, list[str]]) -> None:
    """Undo `keep_dismissals`, whose result was stored. Locks the other leads against deletion."""
    added = [UUID(id) for id in stored["added"]]
    rows = PossibleDuplicate.objects.of(organization)
    # A search finds what they have in common again.
    rows.filter(Q(first=keep, second__in=added) | Q(second=keep, first__in=added)).delete()
    dismiss_pairs(organization, restored, [UUID(id) for id in stored["merged"]])


def dismissed_with(organization: Organization, lead_id: UUID) -> set[UUID]:
    rows = PossibleDuplicate.objects.of(organization).filter(Q(first=lead_id) | Q(second=lead_id), is_dismissed=True)
    return {id for pair in rows.values_list("first_id", "second_id") for id in pair} - {lead_id}


def dismiss_pairs(organization: Organization, lead_id: UUID, others: Collection[UUID]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            DISMISS, {"organization": organization.pk, "now": now(), "lead": lead_id, "others": list(others)}
        )


def describe_reasons(reasons: int) -> str:
    return ", ".join(text for value, text in PossibleDuplicate.REASONS.items() if reasons & value).capitalize()
