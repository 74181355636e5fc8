"""Celery tasks of leads."""

import threading

from celery import shared_task

from foundation.outbox import publish
from leads.duplicates import search_batch
from leads.imports.services import TASK
from leads.imports.turns import waiting_organizations
from leads.imports.worker import run_turn
from leads.merging import prune_snapshots
from organizations.models import Organization
from organizations.services import BATCHES_PER_RUN, for_each_organization

# Imports that a process works on at once, so that two of a worker's four threads stay free for all other tasks.
IMPORTS_AT_ONCE = 2
import_places = threading.BoundedSemaphore(IMPORTS_AT_ONCE)


@shared_task(name=TASK)
def run_imports() -> None:
    """Run one turn of erasures and imports, then queue the next turn. Safe to run concurrently.

    Does nothing while the process works on `IMPORTS_AT_ONCE` imports, which send a message at their end. Without a
    broker, takes the next turns itself.
    """
    is_sent = False
    while not is_sent and waiting_organizations() and import_places.acquire(blocking=False):
        try:
            run_turn()
        finally:
            # Release before sending: another thread may receive the message at once and needs a free place.
            import_places.release()
            is_sent = publish(TASK)


@shared_task(name="leads.search_duplicates")
def search_duplicates() -> None:
    for_each_organization(search_batch, Organization.objects.filter(is_active=True), 5 * BATCHES_PER_RUN)


@shared_task(name="leads.prune")
def prune() -> None:
    for_each_organization(prune_snapshots, Organization.objects.all())
