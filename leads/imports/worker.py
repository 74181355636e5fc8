"""The steps of an import that workers do: read the file, check the rows, and import them, in batches.

Each batch is a transaction that takes the import, and stores how far it has come.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import orjson
from django.db import DataError, IntegrityError, connection, transaction

from leads.imports.files import read_rows
from leads.imports.importers import IMPORTERS, Importer, Plan
from leads.imports.models import WORKING, Import, ImportRow, ImportState, Verdict
from leads.imports.services import finish
from leads.imports.workbooks import FileRefused
from organizations.actors import Actor
from organizations.models import Organization
from pipeline_backend.api.exceptions import DomainError, ValidationFailed
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all

logger = logging.getLogger(__name__)

READ_BATCH, CHECK_BATCH = 1000, 500
READ_TEXT = 5_000_000  # characters, after which a batch ends
STALE = timedelta(seconds=30)  # without a batch, so that another worker may go on

STORE_VERDICTS = """
UPDATE leads_importrow AS stored SET verdict = result.verdict, details = result.details
FROM json_to_recordset(%s::json) AS result (id uuid, verdict text, details text)
WHERE stored.organization_id = %s AND stored.id = result.id
"""


class Overtaken(Exception):
    """Another worker has gone on with the import, or somebody has canceled it."""


def run(*, organization: Organization, import_id: UUID) -> None:
    """Do what a worker has to do of an import, until people have to go on or it ends.

    Safe to run several times at once, and to be killed: the next run goes on where this one has stopped.
    """
    file_import = Import.objects.of(organization).filter(pk=import_id).first()
    if file_import is None:
        return
    file_import.organization = organization
    try:
        if file_import.state == ImportState.READING:
            read_file(file_import)
        elif file_import.state == ImportState.CHECKING:
            check_rows(file_import)
        elif file_import.state == ImportState.IMPORTING:
            import_rows(file_import)
    except Overtaken:
        logger.info("import %s: another worker goes on", import_id)


def run_waiting(*, organization: Organization) -> None:
    """Go on with the organization's imports that no worker works on."""
    waiting = Import.objects.of(organization).filter(state__in=WORKING, updated_at__lt=now() - STALE)
    for import_id in list(waiting.values_list("pk", flat=True)):
        run(organization=organization, import_id=import_id)


def take(file_import: Import) -> Import:
    """Lock the import for a batch and return it. Raises Overtaken if it isn't where this worker has left it."""
    rows = Import.objects.of(file_import.organization).defer("file")
    here = {"pk": file_import.pk, "state": file_import.state, "position": file_import.position}
    stored: Import | None = rows.select_for_update(skip_locked=True, no_key=True).filter(**here).first()
    if stored is None:
        raise Overtaken
    stored.organization = file_import.organization
    return stored


def store_progress(stored: Import, position: int, verdicts: Counter[str] | None = None) -> None:
    """Store how far a batch has come, in its transaction."""
    stored.position, stored.updated_at = position, now()
    stored.counts = dict(Counter(stored.counts) + (verdicts or Counter()))
    stored.save(update_fields=["position", "updated_at", "counts", "total", "header"])


def read_file(file_import: Import) -> None:
    """Store the file's rows, after those that an interrupted run has stored."""
    batch: list[tuple[int, list[str]]] = []
    length, stored_until = 0, file_import.position
    header: list[str] | None = None
    try:
        for number, cells in read_rows(bytes(file_import.file or b"")):
            if header is None:
                header = file_import.header = [cell.strip() for cell in cells]
                continue
            if number <= stored_until:
                continue
            batch.append((number, cells))
            length += sum(map(len, cells))
            if len(batch) == READ_BATCH or length > READ_TEXT:
                store_rows(file_import, batch)
                batch, length = [], 0
        store_rows(file_import, batch, is_last=True)
    except FileRefused as error:
        refuse_file(file_import, str(error))


@transaction.atomic
def restart(file_import: Import) -> None:
    """Go back to the beginning of the check, which knows the keys of all rows before, and changes nothing."""
    stored = take(file_import)
    stored.counts = {}
    store_progress(stored, 0)
    file_import.position = 0


@transaction.atomic
def store_rows(file_import: Import, batch: Sequence[tuple[int, list[str]]], *, is_last: bool = False) -> None:
    """Store some rows of the file; after the last ones let people choose the columns."""
    stored = take(file_import)
    insert_all(
        *(
            ImportRow(organization=stored.organization, file_import=stored, number=number, cells=cells)
            for number, cells in batch
        )
    )
    stored.total += len(batch)
    stored.header = file_import.header
    store_progress(stored, batch[-1][0] if batch else stored.position)
    file_import.position = stored.position
    if is_last:
        stored.state, stored.file, stored.position = ImportState.MAPPING, None, 0
        stored.save(update_fields=["state", "file", "position"])


@transaction.atomic
def refuse_file(file_import: Import, problem: str) -> None:
    """End the import of a file that can't be read."""
    stored = take(file_import)
    stored.rows.all().delete()
    finish(stored, ImportState.FAILED, problem)


def check_rows(file_import: Import) -> None:
    """Store for each row what the import would do with it."""
    restart(file_import)
    importer = IMPORTERS[file_import.kind](file_import)
    first_rows: dict[str, int] = {}  # by the key that may come only once
    while check_batch(file_import, importer, first_rows):
        pass


@transaction.atomic
def check_batch(file_import: Import, importer: Importer, first_rows: dict[str, int]) -> bool:
    """Check the next rows; return whether there were any. After the last ones people may start the import."""
    stored = take(file_import)
    rows = list(stored.rows.filter(number__gt=stored.position).order_by("number")[:CHECK_BATCH])
    if not rows:
        stored.state = ImportState.CHECKED
        stored.save(update_fields=["state"])
        return False
    plans = importer.plan(rows, lock=False)
    for plan in plans:
        key = importer.key_of(plan)
        first = first_rows.setdefault(key, plan.row.number) if key else plan.row.number
        if first != plan.row.number:
            plan.problems.append(f"The same {importer.key_label} is in row {first} already")
    store_verdicts(stored, plans)
    store_progress(stored, rows[-1].number, Counter(plan.verdict.value for plan in plans))
    file_import.position = stored.position
    return True


def import_rows(file_import: Import) -> None:
    """Import the rows that the check did not refuse."""
    name = f"{file_import.actor_name} (import)"
    actor = Actor(file_import.actor_kind, file_import.actor_id, name)  # type: ignore[arg-type]
    is_going = True
    while is_going:
        # Anew for each batch: what it has read once must not become old while the import goes on for minutes.
        importer = IMPORTERS[file_import.kind](file_import)
        try:
            is_going = import_batch(file_import, importer, actor, importer.batch_size)
        except (DomainError, IntegrityError, DataError):
            # Something is wrong with one of the rows. Alone, each of the others can be done.
            for _ in range(importer.batch_size):
                is_going = is_going and import_alone(file_import, importer, actor)


def import_alone(file_import: Import, importer: Importer, actor: Actor) -> bool:
    """Import the next row, or refuse it. Returns whether there was one."""
    try:
        return import_batch(file_import, importer, actor, 1)
    except DomainError as error:
        problem = str(next(iter(error.errors.values()))[0]) if isinstance(error, ValidationFailed) else str(error)
    except (IntegrityError, DataError):
        problem = "The database refuses the row, because it contradicts another record"
    return import_batch(file_import, importer, actor, 1, refusal=problem)


def import_batch(file_import: Import, importer: Importer, actor: Actor, size: int, refusal: str = "") -> bool:
    """Import the next rows, or refuse them; return whether there were any. Ends the import after the last ones."""
    position = store_batch(file_import, importer, actor, size, refusal)
    # After the commit: a transaction that is tried again begins where it began before.
    file_import.position = position or file_import.position
    return position is not None


@atomic_with_retry
def store_batch(file_import: Import, importer: Importer, actor: Actor, size: int, refusal: str) -> int | None:
    """Do the work of `import_batch`; return the number of the last row, or None without one.

    Locks the import, and the leads or appointments of the rows.
    """
    stored = take(file_import)
    rows = stored.rows.filter(number__gt=stored.position).exclude(verdict=Verdict.REFUSED).order_by("number")
    # Locked, so that a lead that is being erased isn't added again from a row that goes with it.
    batch = list(rows.select_for_update()[:size])
    if not batch:
        finish(stored, ImportState.DONE)
        return None
    if refusal:
        plans = [Plan(row, problems=[refusal]) for row in batch]
    else:
        plans = importer.plan(batch, lock=True)
        importer.apply(plans, actor)
    store_verdicts(stored, plans)
    store_progress(stored, batch[-1].number, Counter(plan.verdict.value for plan in plans))
    return stored.position


def store_verdicts(stored: Import, plans: Sequence[Plan]) -> None:
    """Store what the report says about the rows."""
    results = [{"id": plan.row.pk, "verdict": plan.verdict, "details": plan.details} for plan in plans]
    with connection.cursor() as cursor:
        cursor.execute(STORE_VERDICTS, [orjson.dumps(results).decode(), stored.organization_id])
