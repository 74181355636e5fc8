"""Celery tasks of leads."""

from uuid import UUID

from celery import shared_task

from leads.duplicates import BATCH, search_batch
from leads.imports.services import TASK
from leads.imports.worker import run, run_waiting
from leads.merging import prune_snapshots
from organizations.models import Organization
from organizations.services import for_each_organization

# Bounds a run, so that an organization with very many leads delays the others by seconds only.
BATCHES_PER_RUN = 20


@shared_task(name=TASK)
def run_import(organization_id: str, import_id: str) -> None:
    """Go on with an import. Safe to run several times at once."""
    organization = Organization.objects.filter(pk=organization_id).first()
    if organization:
        run(organization=organization, import_id=UUID(import_id))


@shared_task(name="leads.run_waiting_imports")
def run_waiting_imports() -> None:
    """Go on with the imports of which no worker was told, or whose worker was killed."""
    for_each_organization(run_waiting, Organization.objects.filter(is_active=True))


@shared_task(name="leads.search_duplicates")
def search_duplicates() -> None:
    """Compare the leads that have changed with all others, in every active organization. Safe to run twice at once."""
    for_each_organization(search_batches, Organization.objects.filter(is_active=True))


def search_batches(*, organization: Organization) -> None:
    """Search in one organization, as much as a run may."""
    for _ in range(BATCHES_PER_RUN):
        if search_batch(organization=organization) < BATCH:
            break


@shared_task(name="leads.prune")
def prune() -> None:
    """Delete what undoes old merges, in every organization."""
    for_each_organization(prune_snapshots, Organization.objects.all())
