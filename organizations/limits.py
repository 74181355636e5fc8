"""Limits on how many rows of a kind an organization may have, so that no table grows without bound."""

from django.db.models import QuerySet

from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict


def can_add_row(*, organization: Organization, rows: QuerySet, limit: int) -> bool:
    """Return whether `rows`, the organization's rows of one kind, are fewer than `limit`, so that one may be added.

    Locks the organization, so that concurrent calls wait until the caller's transaction ends and count its row too.
    """
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    # A second statement, because the one that waits for the lock does not see what was committed meanwhile.
    return bool(rows.order_by()[:limit].count() < limit)


def check_limit(*, organization: Organization, rows: QuerySet, limit: int, name: str, advice: str) -> None:
    """Lock the organization, and raise Conflict if `rows`, which the message calls `name`, are `limit` or more."""
    if not can_add_row(organization=organization, rows=rows, limit=limit):
        raise Conflict(f"An organization can have at most {limit} {name}. {advice}")
