"""Celery tasks of leads."""

import threading
from uuid import UUID

from celery import shared_task

from leads.duplicates import BATCH, search_batch
from leads.imports.services import TASK, publish
from leads.imports.turns import is_any_waiting
from leads.imports.worker import run_turn
from leads.merging import prune_snapshots
from leads.privacy import erasing
from organizations.models import Organization
from organizations.services import for_each_organization

# Bounds a run, so that an organization with very many leads delays the others by seconds only.
BATCHES_PER_RUN = 20

# Imports on which a process works at once. So a worker's other threads, two of four, stay free for all other tasks.
IMPORTS_AT_ONCE = 2
import_places = threading.BoundedSemaphore(IMPORTS_AT_ONCE)


@shared_task(name=TASK)
def run_imports() -> None:
    """Work on imports for one turn, and send the message for the next one. Safe to run several times at once.

    Does nothing while the process works on as many imports as it may: those that run send a message when they end.
    Without a broker it takes the next turns itself.
    """
    is_sent = False
    while not is_sent and is_any_waiting() and import_places.acquire(blocking=False):
        try:
            run_turn()
        finally:
            # In this order: the message of an import that came meanwhile may have found no place.
            import_places.release()
            is_sent = publish()


# Remove after 0.3: messages that version 0.2 has published carry the names below.
@shared_task(name="leads.run_import")
def run_import(organization_id: str, import_id: str) -> None:
    """Work on imports."""
    run_imports()


@shared_task(name="leads.run_waiting_imports")
def run_waiting_imports() -> None:
    """Work on imports."""
    run_imports()


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


@shared_task(name=erasing.TASK)
def run_erasure(organization_id: str, erasure_id: str) -> None:
    """Erase a lead. Safe to run several times at once."""
    organization = Organization.objects.filter(pk=organization_id).first()
    if organization:
        erasing.run_erasure(organization=organization, erasure_id=UUID(erasure_id))


@shared_task(name="leads.run_waiting_erasures")
def run_waiting_erasures() -> None:
    """Erase the leads whose message was lost, or whose worker was killed, in every organization."""
    for_each_organization(erasing.run_waiting_erasures, Organization.objects.all())
