"""Celery tasks of appointments."""

from celery import shared_task

from appointments import services
from organizations.models import Organization
from organizations.services import for_each_organization

# Bounds a run, so that an organization with very many leads delays the others by seconds only.
BATCHES_PER_RUN = 20


@shared_task(name="appointments.refresh_touch_points")
def refresh_touch_points() -> None:
    """Recompute the touch points that have passed, in every active organization. Safe to run several times at once."""
    for_each_organization(refresh_batches, Organization.objects.filter(is_active=True))


def refresh_batches(*, organization: Organization) -> None:
    for _ in range(BATCHES_PER_RUN):
        if not services.refresh_touch_points(organization=organization):
            break
