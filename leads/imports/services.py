"""The steps of an import: people upload, choose columns, start and cancel; workers read, check and import."""

import logging
import re
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from celery import current_app
from django.db import DataError, IntegrityError, connection, transaction
from kombu.exceptions import OperationalError

from leads.imports.files import read_rows
from leads.imports.importers import IMPORTERS, Importer, Plan, guess_mapping, normalize
from leads.imports.models import OPEN, WORKING, Import, ImportRow, ImportState, Verdict
from leads.imports.workbooks import FileRefused
from leads.models import Lead
from leads.privacy.rules import on_erasing
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from organizations.services import check_limit
from pipeline_backend.api.exceptions import Conflict, DomainError, ValidationFailed
from pipeline_backend.db.deletes import delete_in_batches
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import now
from pipeline_backend.db.writes import insert_all

logger = logging.getLogger(__name__)

TASK = "leads.run_import"
READ_BATCH, CHECK_BATCH = 1000, 500
READ_TEXT = 5_000_000  # characters, after which a batch ends
MAX_OPEN = 20
KEEP_ROWS = timedelta(days=7)  # after the end, or after the last step of an import that nobody went on with
KEEP_IMPORTS = timedelta(days=365)
STALE = timedelta(seconds=30)  # without a batch, so that another worker may go on
REMEMBERED = 20  # imports whose columns are remembered

STORE_VERDICTS = """
UPDATE leads_importrow AS stored SET verdict = result.verdict, details = result.details
FROM json_to_recordset(%s::json) AS result (id uuid, verdict text, details text)
WHERE stored.organization_id = %s AND stored.id = result.id
"""


class Overtaken(Exception):
    """Another worker has gone on with the import, or somebody has canceled it."""


# --- What people do


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
    enqueue_on_commit(new)
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
    enqueue_on_commit(stored)


def finish(stored: Import, state: ImportState, problem: str = "") -> None:
    """End a locked import. Its file goes at once, its rows after `KEEP_ROWS`."""
    stored.state, stored.problem, stored.file, stored.finished_at = state, problem, None, now()
    stored.updated_at = stored.finished_at
    stored.save(update_fields=["state", "problem", "file", "finished_at", "updated_at", "counts", "position"])


def remembered_mapping(file_import: Import) -> list[str]:
    """Return the columns that the header stands for: as in earlier imports of the organization, else by their names."""
    imports = Import.objects.of(file_import.organization).filter(kind=file_import.kind).exclude(mapping=[])
    remembered: dict[str, str] = {}
    for header, mapping in reversed(imports.values_list("header", "mapping")[:REMEMBERED]):
        remembered |= {normalize(text): name for text, name in zip(header, mapping, strict=True)}
    columns = IMPORTERS[file_import.kind](file_import).columns()
    return guess_mapping(file_import.header, columns, {text: name for text, name in remembered.items() if text})


# --- What workers do


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


# --- Finding imports to go on with, and deleting old ones


def enqueue_on_commit(file_import: Import) -> None:
    """Tell a worker about the import once the transaction has committed."""
    transaction.on_commit(partial(enqueue, file_import.organization_id, file_import.pk))


def enqueue(organization_id: UUID, import_id: UUID) -> None:
    """Send the message in a thread, so that no request waits for the broker."""
    threading.Thread(target=publish, args=[str(organization_id), str(import_id)], daemon=True).start()


def publish(organization_id: str, import_id: str) -> None:
    """Send the message. Without the broker, beat's task finds the import later."""
    try:
        current_app.send_task(TASK, (organization_id, import_id), retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("Message broker unreachable (%s); beat will find the import", type(error).__name__)


def run_waiting(*, organization: Organization) -> None:
    """Go on with the organization's imports that no worker works on."""
    waiting = Import.objects.of(organization).filter(state__in=WORKING, updated_at__lt=now() - STALE)
    for import_id in list(waiting.values_list("pk", flat=True)):
        run(organization=organization, import_id=import_id)


def prune_imports(*, organization: Organization) -> None:
    """Delete the rows of imports that have not gone on for a week, and imports after a year."""
    imports = Import.objects.of(organization).exclude(state__in=WORKING).defer("file")
    for old in imports.filter(updated_at__lt=now() - KEEP_ROWS):
        if old.is_open:
            cancel_import(file_import=old)
        delete_in_batches(ImportRow.objects.of(organization).filter(file_import=old))
    delete_in_batches(imports.filter(created_at__lt=now() - KEEP_IMPORTS))


@on_erasing
def erase_from_imports(lead: Lead) -> None:
    """Delete the rows of imports that mention the lead by e-mail, phone or full name. Runs in the caller's transaction.

    Cancels imports whose file has not been read yet, because it may mention the lead, too.
    """
    organization = lead.organization
    for unread in Import.objects.of(organization).filter(state=ImportState.READING):
        cancel_import(file_import=unread)
    email = re.sub(r"[][{}()*+?.\\^$|]", r"\\\g<0>", lead.email.lower())
    params: dict[str, Any] = {
        "organization": organization.pk,
        "email": rf"(?<![[:alnum:]._+-]){email}(?![[:alnum:]-]|\.[[:alnum:]])",
        "digits": (lead.phone_e164 or "").lstrip("+"),
        "first_name": lead.first_name.lower(),
        "last_name": lead.last_name.lower(),
    }
    with connection.cursor() as cursor:
        cursor.execute(MENTIONING, params)


# E-mails and names are compared as whole words: rows of others stay. A phone may be written with spaces and without its
# country, so the last nine digits are compared.
MENTIONING = """
WITH texts AS MATERIALIZED (
    SELECT id, lower(array_to_string(ARRAY(SELECT jsonb_array_elements_text(cells)), ' | ') || ' | ' || details) AS text
    FROM leads_importrow
    WHERE organization_id = %(organization)s
), names AS MATERIALIZED (
    SELECT
        ' ' || nullif(trim(regexp_replace(%(first_name)s, '[^[:alnum:]]+', ' ', 'g')), '') || ' ' AS first_name,
        ' ' || nullif(trim(regexp_replace(%(last_name)s, '[^[:alnum:]]+', ' ', 'g')), '') || ' ' AS last_name
)
DELETE FROM leads_importrow WHERE organization_id = %(organization)s AND id IN (
    SELECT texts.id
    FROM texts
    CROSS JOIN names
    CROSS JOIN LATERAL (SELECT ' ' || regexp_replace(text, '[^[:alnum:]]+', ' ', 'g') || ' ') AS all_words (words)
    WHERE text ~ %(email)s
        OR (
            length(%(digits)s) > 8
            AND position(right(%(digits)s, 9) IN regexp_replace(text, '[^0-9|]', '', 'g')) > 0
        )
        OR (position(first_name IN words) > 0 AND position(last_name IN words) > 0)
)
"""
