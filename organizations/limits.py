"""Limits on how many rows of a kind an organization may have, so that nothing of it grows without number."""

from django.db.models import QuerySet

from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict


class LimitReached(Conflict):
    """The organization has as many rows of this kind as it may have, or more."""

    message = "An organization can have at most {limit} {rows}. {advice}"


def has_room(*, organization: Organization, rows: QuerySet, limit: int) -> bool:
    """Return whether the organization may add a row to `rows`, which has fewer than `limit` then.

    Locks the organization, so that others who add rows wait until the caller's transaction ends and count its row too.
    """
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    # A statement of its own: one that waits for the lock would not see what was committed meanwhile.
    return bool(rows.order_by()[:limit].count() < limit)
