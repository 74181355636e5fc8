"""The steps of an import that people do: upload, choose columns, start and cancel. `worker` does the others."""

import logging
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from leads.imports.importers import IMPORTERS, guess_mapping, normalize
from leads.imports.models import OPEN, WORKING, Import, ImportColumn, ImportRow, ImportState, Verdict
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from organizations.services import check_limit
from pipeline_backend.api.exceptions import Conflict, ValidationFailed
from pipeline_backend.db.deletes import delete_in_batches
from pipeline_backend.db.timestamps import now

logger = logging.getLogger(__name__)

TASK = "leads.run_imports"
MAX_OPEN = 20
KEEP_ROWS = timedelta(days=7)  # after the end, or after the last step of an import that nobody went on with
KEEP_IMPORTS = timedelta(days=365)
MAX_COLUMNS_REMEMBERED = 2000  # of an organization, for each kind of import


@transaction.atomic
def add_import(
    *,
    organization: Organization,
    actor: Actor,
    kind: str,
    file_name: str,
    content: bytes,
    time_zone: str,
    id: UUID | None = None,
) -> Import:
    """Store an uploaded file, to be read by a worker, and return its import.

    `id` is the new row's, if it is chosen before. Locks the organization. Raises Conflict if it has `MAX_OPEN` imports
    that have not ended.
    """
    rows, advice = Import.objects.of(organization).filter(state__in=OPEN), "Finish or cancel one first."
    check_limit(organization=organization, rows=rows, limit=MAX_OPEN, name="open imports", advice=advice)
    columns = actor_columns(actor) | {"kind": kind, "file_name": file_name, "file": content, "time_zone": time_zone}
    new: Import = Import.objects.create(organization=organization, **({"id": id} if id else {}), **columns)
    enqueue_on_commit()
    return new


@transaction.atomic
def choose_columns(*, file_import: Import, mapping: Sequence[str], sends_invitations: bool = False) -> None:
    """Store what the columns are, and let a worker check the rows.

    Raises ValidationFailed for a column that is missing, unknown or chosen twice, and Conflict while a worker works on
    the import or after its start. Locks it.
    """
    stored = lock(file_import, ImportState.MAPPING, ImportState.CHECKED)
    names = [name for name in mapping if name]
    importer = IMPORTERS[stored.kind](stored)
    labels = {column.name: column.label for column in importer.columns()}
    twice = [labels.get(name, name) for name, count in Counter(names).items() if count > 1]
    missing = importer.missing_columns(names)
    if len(mapping) != len(stored.header) or not labels.keys() >= set(names):
        raise ValidationFailed({"mapping": ["is not one of this file's; open the page again"]})
    if twice:
        raise ValidationFailed({"": [f"Choose only one column for: {', '.join(twice)}"]})
    if missing:
        raise ValidationFailed({"": [f"Choose a column for: {', '.join(missing)}"]})
    stored.mapping, stored.sends_invitations = list(mapping), sends_invitations
    remember_columns(stored)
    begin(stored, ImportState.CHECKING)


@transaction.atomic
def start_import(*, file_import: Import) -> None:
    """Let a worker import the rows that were not refused. Repeating it is safe. Locks the import."""
    stored = lock(file_import, ImportState.CHECKED, ImportState.IMPORTING, ImportState.DONE)
    if stored.state == ImportState.CHECKED:
        refused = stored.counts.get(Verdict.REFUSED, 0)
        begin(stored, ImportState.IMPORTING)
        stored.counts = {Verdict.REFUSED.value: refused} if refused else {}
        stored.save(update_fields=["counts"])


@transaction.atomic
def cancel_import(*, file_import: Import) -> None:
    """Stop an import; what it has done already stays. Repeating it is safe. Locks the import."""
    stored = lock(file_import, *ImportState)
    if stored.is_open:
        finish(stored, ImportState.CANCELED)


def lock(file_import: Import, *states: str) -> Import:
    """Return the import, locked. Raises Conflict in another state."""
    stored: Import = Import.objects.of(file_import.organization).select_for_update(no_key=True).get(pk=file_import.pk)
    if stored.state not in states:
        raise Conflict(f"This is not possible at the moment: {stored.get_state_display().lower()}")
    return stored


def begin(stored: Import, state: ImportState) -> None:
    """Begin a step that a worker does."""
    stored.state, stored.position, stored.counts, stored.updated_at = state, 0, {}, now()
    stored.save(update_fields=["state", "position", "counts", "updated_at", "mapping", "sends_invitations"])
    enqueue_on_commit()


def finish(stored: Import, state: ImportState, problem: str = "") -> None:
    """End a locked import. Its file goes at once, its rows after `KEEP_ROWS`."""
    stored.state, stored.problem, stored.file, stored.finished_at = state, problem, None, now()
    stored.updated_at = stored.finished_at
    stored.save(update_fields=["state", "problem", "file", "finished_at", "updated_at", "counts", "position"])


def remember_columns(stored: Import) -> None:
    """Store what the columns were chosen to be, and forget the oldest of too many. Locks the organization."""
    # So that two imports don't wait for each other's columns.
    Organization.objects.select_for_update(no_key=True).get(pk=stored.organization_id)
    # A name with an @ is probably no name, but the first row of a file without a header.
    named = zip(stored.header, stored.mapping, strict=True)
    chosen = {normalize(text): name for text, name in named if "@" not in text}
    columns = ImportColumn.objects.of(stored.organization).filter(kind=stored.kind)
    columns.bulk_create(
        [
            ImportColumn(organization=stored.organization, kind=stored.kind, name=text, field=name)
            for text, name in chosen.items()
            if text
        ],
        update_conflicts=True,
        unique_fields=["organization", "kind", "name"],
        update_fields=["field", "updated_at"],
    )
    newest = columns.order_by("-updated_at", "-id").values("pk")[:MAX_COLUMNS_REMEMBERED]
    columns.exclude(pk__in=newest).delete()


def guess_columns(file_import: Import) -> list[str]:
    """Return the field that each column means: as last chosen in the organization, else by its name."""
    names = [normalize(text) for text in file_import.header]
    remembered = ImportColumn.objects.of(file_import.organization).filter(kind=file_import.kind, name__in=names)
    columns = IMPORTERS[file_import.kind](file_import).columns()
    return guess_mapping(file_import.header, columns, dict(remembered.values_list("name", "field")))


def is_waiting(file_import: Import) -> bool:
    """Return whether a worker works on an older import of the organization first."""
    working = Import.objects.of(file_import.organization).filter(state__in=WORKING)
    return bool(file_import.is_working and working.filter(pk__lt=file_import.pk).exists())


def enqueue_on_commit() -> None:
    """Send workers the message that an import waits, once the transaction has committed."""
    transaction.on_commit(enqueue)


def enqueue() -> None:
    """Send the message in a thread, so that no request waits for the broker."""
    threading.Thread(target=publish, daemon=True).start()


def publish() -> bool:
    """Send the message, and return whether it was sent. Without the broker, beat's task finds the import later."""
    try:
        current_app.send_task(TASK, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("Message broker unreachable (%s); beat will find the import", type(error).__name__)
        return False
    return True


def prune_imports(*, organization: Organization) -> None:
    """Delete the rows of imports that have not gone on for a week, and imports and remembered columns after a year."""
    imports = Import.objects.of(organization).exclude(state__in=WORKING).defer("file")
    for old in imports.filter(updated_at__lt=now() - KEEP_ROWS):
        if old.is_open:
            cancel_import(file_import=old)
        delete_in_batches(ImportRow.objects.of(organization).filter(file_import=old))
    delete_in_batches(imports.filter(created_at__lt=now() - KEEP_IMPORTS))
    delete_in_batches(ImportColumn.objects.of(organization).filter(updated_at__lt=now() - KEEP_IMPORTS))
