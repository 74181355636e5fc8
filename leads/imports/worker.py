"""The turns of workers, and the steps of an import that check the rows and import them, in batches."""

import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from time import monotonic

import orjson
from django.db import connection, transaction
from django.db.models import F, Min, QuerySet

from foundation.db.retry import atomic_with_retry
from leads.imports.failures import UNEXPECTED, is_final, is_of_row, problem_of
from leads.imports.importers import IMPORTERS, Importer, Plan, Problem
from leads.imports.models import Import, ImportRow, ImportState, Verdict
from leads.imports.reading import READ_TEXT, read_file, refuse_file
from leads.imports.services import finish, lock_step, prune_ended, store_progress, working_imports
from leads.imports.terms import terms_of
from leads.imports.turns import Overtaken, Turn, begin_turn
from leads.imports.undoing import import_name, store_undo, undo_import
from leads.privacy.erasing import run_next_erasure
from leads.privacy.retention import run_retention, withdraw_requests
from organizations.actors import Actor, ActorKind
from organizations.versions import recording_changes

logger = logging.getLogger(__name__)

CHECK_BATCH = 500
# Until the transaction of a batch ends, no organization sees newer events (docs/decisions/0002). So a batch ends when
# it has taken this time, and the next one plans as many rows as would have fit. Rows are stored in slices, each of as
# many rows as the batch has already: new leads are fast only together, and a slice takes about as long as those before.
# The next batch plans at least one slice: on a busy database, the statements around the rows can take all of this time.
BATCH_SECONDS = 0.1
FIRST_SLICE, MAX_BATCH = 10, 200
ROWS_AT_A_TIME = 50  # that are loaded until a batch has `READ_TEXT` characters; each has at most 100,000

STORE_VERDICTS = """
UPDATE leads_importrow AS stored
SET verdict = result.verdict, details = result.details, key = result.key, is_partial = result.is_partial,
    shown = result.shown, terms = CASE
    -- Null in older rows, which are compared without terms.
    WHEN stored.terms IS NULL OR result.terms <@ stored.terms THEN stored.terms
    ELSE ARRAY(SELECT unnest(stored.terms) UNION SELECT unnest(result.terms))
END
FROM json_to_recordset(%s::json)
    AS result (id uuid, verdict text, details text, key text, is_partial boolean, shown bigint[], terms integer[])
WHERE stored.organization_id = %s AND stored.id = result.id
"""


def run_turn() -> None:
    """Work on the erasures, else the oldest import and the retention, of the organization whose turn it is.

    Safe to run several times at once, and to be killed: the next turn continues where this one has stopped. After an
    error the turn is left to expire, so that other organizations come first, and the organization's other imports
    come before the one that has failed. After `MAX_FAILURES` it ends without what fails (`leads.imports.failures`).
    """
    turn = begin_turn()
    if turn is None:
        return
    try:
        withdraw_requests(turn.organization)
        while run_next_erasure(turn):
            if turn.is_over:
                break
        else:
            if turn.organization.is_active:
                run_step(turn)
                run_retention(turn)
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
    except Exception as error:
        failed = Import.objects.of(turn.organization).filter(pk=file_import.pk)
        failed.update(failures=F("failures") + 1)
        if is_final(error, file_import) and file_import.state in {ImportState.READING, ImportState.CHECKING}:
            refuse_file(file_import, f"{UNEXPECTED}, after row {file_import.position or 1}")
        raise


def check_rows(file_import: Import, turn: Turn) -> None:
    """Store for each row what the import would do with it; after the last ones people may start the import."""
    importer = IMPORTERS[file_import.kind](file_import)
    checked = file_import.rows.filter(number__lte=file_import.position).exclude(key="").order_by()
    # The number of the first row with a key that may come only once in the file.
    first_rows = dict(checked.values_list("key").annotate(first=Min("number")))
    is_over = False
    while not is_over:
        # Planned before locking, because canceling the import waits for the lock.
        plans = importer.plan(next_rows(file_import.rows.all(), file_import.position, CHECK_BATCH), lock=False)
        for plan in plans:
            # A refused row keeps no later one with the same key from being imported.
            key = b"" if plan.problems else importer.key_of(plan).encode()
            plan.key = blake2b(key, digest_size=16).hexdigest() if key else ""
            first = first_rows.setdefault(plan.key, plan.row.number) if key else plan.row.number
            if first != plan.row.number:
                text = f"The same {importer.key_label} is in row {first} already"
                plan.refuse(text, f"The same {importer.key_label} is in an earlier row")
        store_check(file_import, plans)
        is_over = turn.keep() or not plans


def next_rows(rows: QuerySet[ImportRow], position: int, count: int) -> list[ImportRow]:
    """Return the rows after the position: at most `count`, and none after those that have `READ_TEXT` characters."""
    rows = rows.order_by("number").defer("terms")
    found: list[ImportRow] = []
    length = 0
    while some := rows.filter(number__gt=position)[: min(count - len(found), ROWS_AT_A_TIME)]:
        for row in some:
            found.append(row)
            position, length = row.number, length + row.size
            if length > READ_TEXT:
                return found
    return found


@transaction.atomic
def store_check(file_import: Import, plans: Sequence[Plan]) -> None:
    """Store what the check of the next rows has found; without rows, that it has ended. Locks the import."""
    stored = lock_step(file_import)
    if not plans:
        stored.state = ImportState.CHECKED
        stored.save()
        return
    store_verdicts(stored, {plan: plan.details for plan in plans})
    store_progress(stored, plans[-1].row.number, plans)
    file_import.position = stored.position


def import_rows(file_import: Import, turn: Turn) -> None:
    actor = Actor(ActorKind(file_import.actor_kind), file_import.actor_id, import_name(file_import))
    size, alone, refusal = FIRST_SLICE, 0, ""
    while True:
        # A new importer per batch, because its cached statuses and members go stale.
        importer = IMPORTERS[file_import.kind](file_import)
        started = monotonic()
        try:
            plans = import_batch(file_import, importer, actor, 1 if alone else size, refusal)
        except Exception as error:
            if refusal or not is_of_row(error, file_import):
                raise
            # Something is wrong with one of the rows. Alone, each of the others can be done, and it is refused.
            refusal = problem_of(error) if alone else ""
            alone = alone or size
            continue
        if plans:
            # After the commit: a transaction that is tried again begins where it began before.
            file_import.position = plans[-1].row.number
        if turn.keep() or not plans:
            return
        alone, refusal = max(alone - 1, 0), ""
        size = min(max(int(len(plans) * BATCH_SECONDS / max(monotonic() - started, 0.001)), FIRST_SLICE), MAX_BATCH)


@atomic_with_retry
def import_batch(file_import: Import, importer: Importer, actor: Actor, size: int, refusal: str) -> list[Plan]:
    """Import the next rows, up to `size`, or refuse them; return their plans. Ends the import after the last ones.

    Deletes the imported rows; refused and partial ones are kept to be corrected. Locks the import, and the leads or
    appointments of the rows.
    """
    started = monotonic()
    stored = lock_step(file_import)
    # Locked, so that a lead that is being erased isn't added again from a row that goes with it.
    rows = stored.rows.exclude(verdict=Verdict.REFUSED).select_for_update()
    batch = next_rows(rows, stored.position, size)
    if not batch:
        finish(stored, ImportState.DONE)
        return []
    reason = refusal if refusal == UNEXPECTED else "The row contradicts another record or a limit"
    problem = Problem(refusal, reason)
    plans = [Plan(row, problems=[problem]) for row in batch] if refusal else importer.plan(batch, lock=True)
    refuse_repeated(stored, plans)
    refuse_unchecked(plans)
    count = 0
    with recording_changes() as changes:
        while count < len(plans) and (count == 0 or monotonic() - started < BATCH_SECONDS):
            end = max(FIRST_SLICE, 2 * count)
            importer.apply(plans[count:end], actor)
            count = end
    plans = plans[:count]
    kept = {plan: plan.problem for plan in plans if plan.problem}
    done = [plan.row for plan in plans if not plan.problem]
    store_verdicts(stored, kept)
    stored.rows.filter(pk__in=[row.pk for row in done]).delete()
    if stored.size is not None:
        stored.size = max(stored.size - sum(row.size for row in done), 0)
    store_undo(stored, plans[-1].row.number, changes)
    store_progress(stored, plans[-1].row.number, plans)
    return plans


def refuse_repeated(stored: Import, plans: Sequence[Plan]) -> None:
    """Refuse rows about what an earlier row is about, too: two of the file's leads have been merged since the check."""
    ids = [plan.subject.pk for plan in plans if plan.subject]
    earlier = set(stored.undo_rows.filter(subject_id__in=ids).values_list("subject_id", flat=True))
    for plan in plans:
        if plan.subject and not plan.problems:
            if plan.subject.pk in earlier:
                plan.refuse(f"An earlier row is about the same {plan.subject._meta.verbose_name} already")
            earlier.add(plan.subject.pk)


def refuse_unchecked(plans: Sequence[Plan]) -> None:
    """Refuse rows that would change what others have changed since the check, which has shown something else."""
    for plan in plans:
        if not plan.problems and not plan.is_as_checked:
            plan.refuse("The record has changed since the check")


def store_verdicts(stored: Import, details: Mapping[Plan, str]) -> None:
    """Store what the report says about the rows, and the terms that it adds to those of their cells."""
    results = [
        {
            "id": plan.row.pk,
            "verdict": plan.verdict,
            "details": text,
            "key": plan.key,
            "is_partial": plan.is_partial,
            "shown": plan.hashes,
            "terms": terms_of(stored.organization_id, [text]),
        }
        for plan, text in details.items()
    ]
    with connection.cursor() as cursor:
        cursor.execute(STORE_VERDICTS, [orjson.dumps(results).decode(), stored.organization_id])


STEPS: dict[str, Callable[[Import, Turn], None]] = {
    ImportState.READING: read_file,
    ImportState.CHECKING: check_rows,
    ImportState.IMPORTING: import_rows,
    ImportState.UNDOING: undo_import,
}
