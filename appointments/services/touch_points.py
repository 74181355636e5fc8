"""The service that recomputes touch points that have passed."""

from appointments.services.changes import update_lead
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.models import Lead
from organizations.actors import SYSTEM
from organizations.models import Organization

BATCH = 100


@atomic_with_retry
def refresh_touch_points(*, organization: Organization) -> int:
    """Recompute up to `BATCH` touch points that have passed; return their number.

    Locks the leads and skips locked ones, so several may run at once.
    """
    passed = Lead.objects.of(organization).filter(next_touch_point_at__lte=now()).order_by("next_touch_point_at")
    leads = passed.select_for_update(skip_locked=True, no_key=True)[:BATCH]
    for lead in leads:
        lead.organization = organization
        update_lead(lead, None, SYSTEM)
    return len(leads)
