"""The steps of an import that people do: upload, choose columns, start and cancel. `worker` does the others."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet, Sum

from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.outbox import send_on_commit
from leads.imports.importers import IMPORTERS, Plan, find_meanings, guess_mapping, has_unclear_zone, normalize
from leads.imports.models import (
    KEEP_ROWS,
    OPEN,
    UNDO_FOR,
    UNDOABLE_STATES,
    WORKING,
    Import,
    ImportColumn,
    ImportState,
    Verdict,
)
from leads.imports.terms import terms_of
from leads.imports.turns import Overtaken
from leads.imports.values import Reading
from leads.privacy.history import forget_all_history
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from organizations.services import check_limit, lock_organization

TASK = "leads.run_imports"
MAX_OPEN = 20
# Characters that an organization's imports may store at a time: three imports of 100,000 ordinary rows (150 characters
# in ten cells, plus the overhead of each row and cell).
# Without the limit, each upload of 75 kB could become 100 MB of rows.
MAX_STORED = 100_000_000
TOO_MUCH_STORED = (
    f"The imports of an organization can store at most {MAX_STORED:,} characters at a time. Finish or cancel another "
    "import, delete the refused rows of an earlier one, or split the file, and upload it again."
)
UNCLEAR_ZONE = (
    "Is this a time zone? Name it in the first row of the file, as in Time (Europe/Berlin) or Time (UTC-8), "
    "or remove what is in brackets if the times are in your zone:"
)
KEEP_IMPORTS = timedelta(days=365)
# Characters that undoing an organization's imports may need. Beyond, the oldest can no longer be undone.
MAX_UNDO = 200_000_000
PARTIAL = "PARTIAL"  # rows without some cells, in `Import.reasons`
MAX_REASONS, OTHER_REASONS = 200, "Other reasons"
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
    """Raise Conflict at `MAX_OPEN` open imports, or at `MAX_STORED` characters stored. Locks the organization."""
    rows, advice = Import.objects.of(organization).filter(state__in=OPEN), "Finish or cancel one first."
    check_limit(organization=organization, rows=rows, limit=MAX_OPEN, name="open imports", advice=advice)
    if stored_size(organization) + len(content) > MAX_STORED:
        raise Conflict(TOO_MUCH_STORED)
    new = Import(organization=organization, kind=kind, file_name=file_name, time_zone=time_zone, **actor_columns(actor))
    new.id = id or new.id
    new.file, new.size, new.terms = content, len(content), terms_of(organization.pk, [file_name])
    new.save()
    send_on_commit(TASK)
    return new


def stored_size(organization: Organization) -> int:
    """Return how many characters the imports store. Lock the organization first, so that none is added meanwhile."""
    return int(Import.objects.of(organization).filter(size__gt=0).aggregate(total=Sum("size"))["total"] or 0)


@transaction.atomic
def choose_columns(
    *,
    file_import: Import,
    mapping: Sequence[str],
    sends_invitations: bool = False,
    reading: Reading | None = None,
    version: datetime | None = None,
) -> None:
    """Start the check.

    Raises ValidationFailed for wrong columns, Conflict in another state, or if the import has changed since `version`,
    its `updated_at` that the user saw. Locks the import.
    """
    stored = lock(file_import, ImportState.MAPPING, ImportState.CHECKED)
    refuse_older(stored, version)
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
        raise ValidationFailed({"": [f"Which column has this? {', '.join(missing)}"]})
    times = {column.name for column in importer.columns() if column.read is None}
    chosen = [header for header, name in zip(stored.header, mapping, strict=True) if name in times]
    if unclear := [f"“{header}”" for header in chosen if has_unclear_zone(header)]:
        raise ValidationFailed({"": [f"{UNCLEAR_ZONE} {', '.join(unclear)}"]})
    stored.mapping, stored.sends_invitations = list(mapping), sends_invitations
    if reading:
        stored.country, stored.numbers, stored.dates = reading.country, reading.numbers, reading.dates
        stored.time_of_day = reading.time_of_day
    remember_columns(stored)
    begin(stored, ImportState.CHECKING, {})


@transaction.atomic
def start_import(*, file_import: Import, version: datetime | None = None) -> None:
    """Let a worker import the rows that were not refused. Repeating it is safe. Locks the import.

    Raises Conflict if it was checked again since `version`, its `updated_at` that the user saw.
    """
    stored = lock(file_import, ImportState.CHECKED, ImportState.IMPORTING, ImportState.DONE)
    if stored.state == ImportState.CHECKED:
        refuse_older(stored, version)
        refused = stored.counts.get(Verdict.REFUSED, 0)
        reasons = {Verdict.REFUSED.value: stored.reasons.get(Verdict.REFUSED, {})}
        counts = {Verdict.REFUSED.value: refused} if refused else {}
        begin(stored, ImportState.IMPORTING, counts, reasons)


@transaction.atomic
def cancel_import(*, file_import: Import, reason: str = "", seen: str = "") -> bool:
    """Stop an import, and return whether it had not ended; rows that are done stay. Its page shows `reason`.

    Raises Conflict if it has been started since the user saw the state `seen`. Locks the import.
    """
    stored = lock(file_import, *ImportState)
    if stored.state == ImportState.IMPORTING and seen not in ("", ImportState.IMPORTING):
        raise Conflict("Someone has started this import since you opened the page. It was not canceled.")
    if stored.is_open:
        finish(stored, ImportState.CANCELED, reason)
        return True
    return False


@transaction.atomic
def discard_rows(*, file_import: Import) -> None:
    """Delete the kept rows; repeating it is safe. Raises Conflict unless the import is done. Locks it."""
    stored = lock(file_import, ImportState.DONE, ImportState.UNDONE)
    if stored.shows_rows:
        stored.rows_until = now()
        stored.save()
        send_on_commit(TASK)


def lock(file_import: Import, *states: str) -> Import:
    """Return the import, locked, without its file. Raises Conflict in another state."""
    rows = Import.objects.of(file_import.organization).defer("file").select_for_update(no_key=True)
    stored: Import = rows.get(pk=file_import.pk)
    if stored.state not in states:
        raise Conflict(f"This is not possible at the moment: {stored.get_state_display().lower()}")
    return stored


def refuse_older(stored: Import, version: datetime | None) -> None:
    """Raise Conflict if the import was checked again since `version`: it would do what the user has not seen."""
    if version and version != stored.updated_at:
        raise Conflict("Someone has changed this import since you opened the page. Look at it again.")


def current_step(file_import: Import) -> QuerySet[Import]:
    """Return the import if it is still where this worker has left it."""
    here = {name: getattr(file_import, name) for name in ("pk", "state", "position", "mapping")}
    rows: QuerySet[Import] = Import.objects.of(file_import.organization).filter(**here)
    return rows


def lock_step(file_import: Import) -> Import:
    """Lock the import for a batch and return it. Raises Overtaken if it isn't where this worker has left it."""
    stored = current_step(file_import).defer("file").select_for_update(skip_locked=True, no_key=True).first()
    if stored is None:
        raise Overtaken
    stored.organization = file_import.organization
    return stored


def store_progress(stored: Import, position: int, plans: Sequence[Plan] = ()) -> None:
    """Store how far a batch has come, in its transaction, and count its rows by verdict and by reason."""
    stored.position, stored.updated_at = position, now()
    stored.counts = dict(Counter(stored.counts) + Counter(plan.verdict.value for plan in plans))
    for plan in plans:
        counts = stored.reasons.setdefault(PARTIAL if plan.is_partial else Verdict.REFUSED.value, {})
        for reason in plan.reasons:
            reason = reason if reason in counts or len(counts) < MAX_REASONS else OTHER_REASONS
            counts[reason] = counts.get(reason, 0) + 1
    stored.save()


def begin(
    stored: Import, state: ImportState, counts: dict[str, int], reasons: dict[str, dict[str, int]] | None = None
) -> None:
    stored.state, stored.position, stored.counts, stored.updated_at = state, 0, counts, now()
    stored.reasons, stored.failures = reasons or {}, 0
    stored.save()
    send_on_commit(TASK)


def finish(stored: Import, state: ImportState, problem: str = "") -> None:
    """End a locked import and delete its file.

    What a check has counted is no result. An import that is done keeps its refused rows for `KEEP_ROWS`. The rows of
    any other are hidden at once and deleted by a worker, because deleting 100,000 rows takes longer than a request may.
    """
    if stored.state != ImportState.IMPORTING:
        stored.counts = stored.reasons = {}
    stored.state, stored.problem, stored.file, stored.finished_at = state, problem, None, now()
    stored.updated_at = stored.rows_until = stored.finished_at
    if state == ImportState.DONE:
        stored.rows_until += KEEP_ROWS
    else:
        send_on_commit(TASK)
    if stored.undo_size:
        stored.undo_until = now() + UNDO_FOR
        limit_undo(stored)
    stored.save()


def limit_undo(stored: Import) -> None:
    """Let the organization's oldest imports no longer be undone if all together, with this one, need too much."""
    ended = Import.objects.of(stored.organization).filter(state__in=UNDOABLE_STATES, undo_until__gt=now())
    size = stored.undo_size
    for id, undo_size in list(ended.order_by("-undo_until", "-id").values_list("pk", "undo_size")):
        size += undo_size
        if size > MAX_UNDO:
            ended.filter(pk=id).update(undo_until=now())


def remember_columns(stored: Import) -> None:
    """Remember what the person has chosen otherwise than it is guessed, and forget the oldest. Locks the organization.

    A column that is left out because another one of the file has its field is left out only in this file.
    """
    if any("@" in text for text in stored.header):
        return  # this is probably no header, but the first row of a file without one
    # So that two imports don't wait for each other's columns.
    lock_organization(stored.organization)
    known = IMPORTERS[stored.kind](stored).columns()
    meanings, guessed = find_meanings(known), guess_mapping(stored.header, known, {})
    chosen: dict[str, str] = {}
    for text, name, guess in zip(stored.header, stored.mapping, guessed, strict=True):
        _, meaning = meanings.get(normalize(text), (0, ""))
        if name != guess if name else meaning not in ("", *stored.mapping):
            chosen[normalize(text)] = name
    columns = ImportColumn.objects.of(stored.organization).filter(kind=stored.kind)
    columns.filter(name__in={*map(normalize, stored.header)} - chosen.keys()).delete()
    common = {"organization": stored.organization, "kind": stored.kind}
    columns.bulk_create(
        [ImportColumn(**common, name=text, field=name) for text, name in chosen.items() if text],
        update_conflicts=True,
        unique_fields=["organization", "kind", "name"],
        update_fields=["field", "updated_at"],
    )
    newest = columns.order_by("-updated_at", "-id").values("pk")[:MAX_COLUMNS_REMEMBERED]
    columns.exclude(pk__in=newest).delete()


def guess_columns(file_import: Import) -> list[str]:
    names = [normalize(text) for text in file_import.header]
    remembered = ImportColumn.objects.of(file_import.organization).filter(kind=file_import.kind, name__in=names)
    columns = IMPORTERS[file_import.kind](file_import).columns()
    return guess_mapping(file_import.header, columns, dict(remembered.values_list("name", "field")))


def is_waiting(file_import: Import) -> bool:
    first = working_imports(file_import.organization).values_list("pk", flat=True).first()
    return file_import.is_working and first != file_import.pk


def working_imports(organization: Organization) -> QuerySet[Import]:
    """Return the imports that wait for a worker: the oldest first, but those that have failed last."""
    rows: QuerySet[Import] = Import.objects.of(organization).filter(state__in=WORKING).order_by("failures", "pk")
    return rows


def prune_imports(*, organization: Organization) -> None:
    """Cancel imports that are idle for a week; delete expired rows, and imports and columns that are a year old.

    Also deletes what undoes imports that can no longer be undone.
    """
    imports = Import.objects.of(organization).exclude(state__in=WORKING).defer("file")
    for idle in imports.filter(state__in=OPEN, updated_at__lt=now() - KEEP_ROWS):
        cancel_import(file_import=idle)
    prune_ended(organization=organization)
    for expired in imports.filter(undo_size__gt=0, undo_until__lte=now()):
        delete_in_batches(expired.undo_rows.all())
        imports.filter(pk=expired.pk, undo_until__lte=now()).update(undo_size=0)
    old = imports.filter(created_at__lt=now() - KEEP_IMPORTS)
    # Their entries have the files' names, and erasing finds them by the import.
    forget_all_history(list(old.values_list("pk", flat=True)))
    delete_in_batches(old)
    delete_in_batches(ImportColumn.objects.of(organization).filter(updated_at__lt=now() - KEEP_IMPORTS))


def prune_ended(*, organization: Organization, is_over: Callable[[], bool] | None = None) -> None:
    """Delete the rows of imports that have ended, except those that are still kept, until `is_over` returns True."""
    is_old = Q(rows_until=None) & (~Q(state=ImportState.DONE) | Q(updated_at__lt=now() - KEEP_ROWS))
    ended = Import.objects.of(organization).exclude(state__in=OPEN).filter(Q(size__gt=0) | Q(size=None)).defer("file")
    for file_import in ended.filter(Q(rows_until__lte=now()) | is_old):
        delete_in_batches(file_import.rows.all(), is_over)
        if not file_import.rows.exists():  # else another worker deletes some
            Import.objects.of(organization).filter(pk=file_import.pk).update(size=0)
