"""The steps of an import that workers do: read the file, check the rows, and import them, in batches.

Each batch is a transaction that locks the import and stores its position. A worker does batches until the turn of the
organization is over, and the next turn continues after the last batch.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from time import monotonic

import orjson
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import F, Min, QuerySet

from foundation.api.exceptions import DomainError, ValidationFailed
from foundation.api.fields import MAX_TEXT_LENGTH
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from leads.imports.files import read_rows
from leads.imports.importers import IMPORTERS, TOO_MANY_WORDS, Importer, Plan
from leads.imports.models import Import, ImportRow, ImportState, Verdict
from leads.imports.services import (
    MAX_STORED,
    TOO_MUCH_STORED,
    finish,
    guess_columns,
    prune_ended,
    stored_size,
    working_imports,
)
from leads.imports.terms import MAX_TERMS, terms_of
from leads.imports.turns import Overtaken, Turn, begin_turn
from leads.imports.workbooks import FileRefused
from leads.privacy.erasing import run_next_erasure
from organizations.actors import Actor
from organizations.models import Organization

logger = logging.getLogger(__name__)

READ_BATCH, CHECK_BATCH = 500, 500
# Until the transaction of a batch ends, no organization sees newer events (docs/decisions/0002). So a batch ends when
# it has taken this time, and the next one plans as many rows as would have fit. Rows are stored in slices, each of as
# many rows as the batch has already: new leads are fast only together, and a slice takes about as long as those before.
BATCH_SECONDS = 0.1
FIRST_SLICE, MAX_BATCH = 10, 200
READ_TEXT = 1_000_000  # characters, after which a batch ends: canceling the import waits for it
ROWS_AT_A_TIME = 50  # that are loaded until a batch has `READ_TEXT` characters; each has at most 100,000
MAX_CELL = MAX_TEXT_LENGTH + 1  # the longest field, with the apostrophe that guards a text against being a formula

STORE_VERDICTS = """
UPDATE leads_importrow AS stored
SET verdict = result.verdict, details = result.details, key = result.key, terms = CASE
    -- Null in older rows, which are compared without terms.
    WHEN stored.terms IS NULL OR result.terms <@ stored.terms THEN stored.terms
    ELSE ARRAY(SELECT unnest(stored.terms) UNION SELECT unnest(result.terms))
END
FROM json_to_recordset(%s::json) AS result (id uuid, verdict text, details text, key text, terms integer[])
WHERE stored.organization_id = %s AND stored.id = result.id
"""


def run_turn() -> None:
    """Work on the erasures, else on the oldest import, of the organization whose turn it is, until the turn has ended.

    Safe to run several times at once, and to be killed: the next turn continues where this one has stopped. After an
    error the turn is left to expire, so that other organizations come first, and the organization's other imports
    come before the one that has failed.
    """
    turn = begin_turn()
    if turn is None:
        return
    try:
        while run_next_erasure(turn):
            if turn.is_over:
                break
        else:
            if turn.organization.is_active:
                run_step(turn)
    except Overtaken:
        logger.info("organization %s: another worker has taken over, or the import was canceled", turn.organization.pk)
    turn.end()


def run_step(turn: Turn) -> None:
    """Delete the rows of imports that have ended, then do what the turn has time for. Raises Overtaken."""
    prune_ended(organization=turn.organization, is_over=turn.keep)
    file_import = working_imports(turn.organization).first()
    if file_import is None:
        return
    file_import.organization = turn.organization
    try:
        STEPS[file_import.state](file_import, turn)
    except Overtaken:
        raise
    except Exception:
        failed = Import.objects.of(turn.organization).filter(pk=file_import.pk)
        failed.update(failures=F("failures") + 1)
        raise


def take(file_import: Import) -> Import:
    """Lock the import for a batch and return it. Raises Overtaken if it isn't where this worker has left it."""
    rows = Import.objects.of(file_import.organization).defer("file")
    here = {name: getattr(file_import, name) for name in ("pk", "state", "position", "mapping")}
    stored: Import | None = rows.select_for_update(skip_locked=True, no_key=True).filter(**here).first()
    if stored is None:
        raise Overtaken
    stored.organization = file_import.organization
    return stored


def store_progress(stored: Import, position: int, verdicts: Counter[str] | None = None) -> None:
    """Store how far a batch has come, in its transaction."""
    stored.position, stored.updated_at = position, now()
    stored.counts = dict(Counter(stored.counts) + (verdicts or Counter()))
    stored.save(update_fields=["position", "updated_at", "counts", "total", "header", "size", "terms"])


def read_file(file_import: Import, turn: Turn) -> None:
    """Store the file's rows, after those that earlier turns have stored."""
    batch: list[tuple[int, list[str]]] = []
    length, stored_until = 0, file_import.position
    header: list[str] | None = None
    try:
        for number, cells in read_rows(bytes(file_import.file or b""), partial(keep_turn, file_import, turn)):
            if header is None:
                header = file_import.header = cells
            if header is cells or number <= stored_until:
                turn.restart()  # or the turns of a large file would end before they reach rows that are new
                continue
            batch.append((number, cells))
            length += sum(map(len, cells))
            if len(batch) == READ_BATCH or length > READ_TEXT:
                store_rows(file_import, batch)
                batch, length = [], 0
                if turn.is_over:
                    return
        store_rows(file_import, batch, is_last=True)
    except FileRefused as error:
        refuse_file(file_import, str(error))


def keep_turn(file_import: Import, turn: Turn) -> None:
    """Extend the turn while no batch is stored. Raises Overtaken, also if the import has been canceled."""
    current_step = Import.objects.of(file_import.organization).filter(
        pk=file_import.pk, state=file_import.state, position=file_import.position
    )
    if turn.extend() and not current_step.update(updated_at=now()):
        raise Overtaken


@transaction.atomic
def store_rows(file_import: Import, batch: Sequence[tuple[int, list[str]]], *, is_last: bool = False) -> None:
    """Store some rows of the file; after the last ones let people choose the columns.

    Locks the import, then for a moment the organization. Raises FileRefused if its imports store too much.
    """
    # Built before locking, because canceling the import waits for the lock.
    rows = [build_row(file_import, number, cells) for number, cells in batch]
    stored = take(file_import)
    insert_all(*rows)
    stored.total += len(batch)
    stored.header = file_import.header
    stored.terms = terms_of(stored.organization_id, [*stored.header, stored.file_name])
    stored.size = (stored.size or 0) + sum(row.size for row in rows) - (len(file_import.file or b"") if is_last else 0)
    store_progress(stored, batch[-1][0] if batch else stored.position)
    # Locked after the rows, so that others wait for two statements, not for thousands of rows.
    Organization.objects.select_for_update(no_key=True).get(pk=stored.organization_id)
    if stored_size(stored.organization) > MAX_STORED:
        raise FileRefused(TOO_MUCH_STORED)
    file_import.position = stored.position
    if is_last:
        stored.state, stored.file, stored.position = ImportState.MAPPING, None, 0
        stored.mapping = guess_columns(stored)
        stored.save(update_fields=["state", "file", "position", "mapping"])


def build_row(file_import: Import, number: int, cells: Sequence[str]) -> ImportRow:
    """Return a new row, with as much of its cells as a field can hold.

    A longer cell, or one beyond the header, leaves a mark that makes the check refuse the row. So does a row with more
    than `MAX_TERMS` terms, of which nothing else is kept.
    """
    organization, width = file_import.organization, len(file_import.header)
    kept = [shorten_cell(cell) for cell in cells[:width]] + ["…"] * any(cell.strip() for cell in cells[width:])
    terms = terms_of(organization.pk, kept)
    if len(terms) > MAX_TERMS:
        kept, terms = [""] * width + [TOO_MANY_WORDS], []
    return ImportRow(organization=organization, file_import=file_import, number=number, cells=kept, terms=terms)


def shorten_cell(cell: str) -> str:
    """Return the cell. If it is longer than any field, cut it to a length that every field still refuses."""
    if len(cell) > MAX_CELL:
        cell = cell.strip()
    return cell if len(cell) <= MAX_CELL else f"{cell[:MAX_CELL]}…"


@transaction.atomic
def refuse_file(file_import: Import, problem: str) -> None:
    """End the import of a file that can't be read."""
    finish(take(file_import), ImportState.FAILED, problem)


def check_rows(file_import: Import, turn: Turn) -> None:
    """Store for each row what the import would do with it."""
    importer = IMPORTERS[file_import.kind](file_import)
    checked = file_import.rows.filter(number__lte=file_import.position).exclude(key="").order_by()
    # The number of the first row with a key that may come only once in the file.
    first_rows = dict(checked.values_list("key").annotate(first=Min("number")))
    while check_batch(file_import, importer, first_rows) and not turn.is_over:
        turn.extend()


def next_rows(rows: QuerySet[ImportRow], position: int, count: int) -> list[ImportRow]:
    """Return the rows after the position: at most `count`, and none after those that have `READ_TEXT` characters."""
    found: list[ImportRow] = []
    length, is_going = 0, True
    while is_going and len(found) < count:
        size = min(count - len(found), ROWS_AT_A_TIME)
        some = list(rows.filter(number__gt=position).order_by("number").defer("terms")[:size])
        is_going = len(some) == size
        for row in some:
            if length > READ_TEXT:
                return found
            found.append(row)
            position, length = row.number, length + row.size
    return found


def check_batch(file_import: Import, importer: Importer, first_rows: dict[str, int]) -> bool:
    """Check the next rows; return whether there were any. After the last ones people may start the import."""
    # Planned before locking, because canceling the import waits for the lock.
    rows = next_rows(file_import.rows.all(), file_import.position, CHECK_BATCH)
    plans = importer.plan(rows, lock=False) if rows else []
    for plan in plans:
        key = importer.key_of(plan).encode()
        plan.key = blake2b(key, digest_size=16).hexdigest() if key else ""
        first = first_rows.setdefault(plan.key, plan.row.number) if plan.key else plan.row.number
        if first != plan.row.number:
            plan.problems.append(f"The same {importer.key_label} is in row {first} already")
    store_check(file_import, plans)
    return bool(plans)


@transaction.atomic
def store_check(file_import: Import, plans: Sequence[Plan]) -> None:
    """Store what the check of the next rows has found; without rows, that it has ended. Locks the import."""
    stored = take(file_import)
    if not plans:
        stored.state = ImportState.CHECKED
        stored.save(update_fields=["state"])
        return
    store_verdicts(stored, plans)
    store_progress(stored, plans[-1].row.number, Counter(plan.verdict.value for plan in plans))
    file_import.position = stored.position


def import_rows(file_import: Import, turn: Turn) -> None:
    """Import the rows that the check did not refuse."""
    name = f"{file_import.actor_name} (import)"
    actor = Actor(file_import.actor_kind, file_import.actor_id, name)  # type: ignore[arg-type]
    size, is_going = FIRST_SLICE, True
    while is_going:
        # A new importer per batch, because its cached statuses and members go stale.
        importer = IMPORTERS[file_import.kind](file_import)
        started = monotonic()
        try:
            count = import_batch(file_import, importer, actor, size)
            is_going = count > 0
            size = min(max(int(count * BATCH_SECONDS / max(monotonic() - started, 0.001)), 1), MAX_BATCH)
        except (DomainError, IntegrityError, DataError):
            # Something is wrong with one of the rows. Alone, each of the others can be done.
            for _ in range(size):
                is_going = is_going and import_alone(file_import, importer, actor) > 0
                turn.extend()
                if turn.is_over:
                    break
        turn.extend()
        is_going = is_going and not turn.is_over


def import_alone(file_import: Import, importer: Importer, actor: Actor) -> int:
    """Import the next row, or refuse it. Returns the number of rows, 0 or 1."""
    try:
        return import_batch(file_import, importer, actor, 1)
    except DomainError as error:
        problem = str(next(iter(error.errors.values()))[0]) if isinstance(error, ValidationFailed) else str(error)
    except (IntegrityError, DataError):
        problem = "The database refuses the row, because it contradicts another record"
    return import_batch(file_import, importer, actor, 1, refusal=problem)


def import_batch(file_import: Import, importer: Importer, actor: Actor, size: int, refusal: str = "") -> int:
    """Import the next rows, or refuse them; return their number. Ends the import after the last ones."""
    plans = store_batch(file_import, importer, actor, size, refusal)
    if plans:
        # After the commit: a transaction that is tried again begins where it began before.
        file_import.position = plans[-1].row.number
    return len(plans)


@atomic_with_retry
def store_batch(file_import: Import, importer: Importer, actor: Actor, size: int, refusal: str) -> list[Plan]:
    """Do the work of `import_batch` for up to `size` rows; return the plans that were stored.

    Deletes the imported rows; only refused ones are still needed. Locks the import, and the leads or appointments of
    the rows.
    """
    started = monotonic()
    stored = take(file_import)
    # Locked, so that a lead that is being erased isn't added again from a row that goes with it.
    rows = stored.rows.exclude(verdict=Verdict.REFUSED).select_for_update()
    batch = next_rows(rows, stored.position, size)
    if not batch:
        finish(stored, ImportState.DONE)
        return []
    plans = [Plan(row, problems=[refusal]) for row in batch] if refusal else importer.plan(batch, lock=True)
    count = 0
    while count < len(plans) and (count == 0 or monotonic() - started < BATCH_SECONDS):
        end = max(FIRST_SLICE, 2 * count)
        importer.apply(plans[count:end], actor)
        count = end
    plans = plans[:count]
    refused = [plan for plan in plans if plan.verdict == Verdict.REFUSED]
    done = [plan.row for plan in plans if plan.verdict != Verdict.REFUSED]
    store_verdicts(stored, refused)
    stored.rows.filter(pk__in=[row.pk for row in done]).delete()
    if stored.size is not None:
        stored.size = max(stored.size - sum(row.size for row in done), 0)
    store_progress(stored, plans[-1].row.number, Counter(plan.verdict.value for plan in plans))
    return plans


def store_verdicts(stored: Import, plans: Sequence[Plan]) -> None:
    """Store what the report says about the rows, and the terms that it adds to those of their cells."""
    results = [
        {
            "id": plan.row.pk,
            "verdict": plan.verdict,
            "details": plan.details,
            "key": plan.key,
            "terms": terms_of(stored.organization_id, [plan.details]),
        }
        for plan in plans
    ]
    with connection.cursor() as cursor:
        cursor.execute(STORE_VERDICTS, [orjson.dumps(results).decode(), stored.organization_id])


STEPS: dict[str, Callable[[Import, Turn], None]] = {
    ImportState.READING: read_file,
    ImportState.CHECKING: check_rows,
    ImportState.IMPORTING: import_rows,
}
