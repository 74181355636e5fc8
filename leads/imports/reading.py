"""The step of an import that stores the rows of its file, in batches."""

from collections.abc import Sequence
from functools import partial

from django.db import transaction

from foundation.api.fields import MAX_TEXT_LENGTH
from foundation.db.timestamps import now
from foundation.db.writes import insert_all
from leads.imports.choices import guess_reading
from leads.imports.files import count_other_sheets, find_format, read_rows
from leads.imports.importers import TOO_MANY_WORDS
from leads.imports.limits import FileRefused
from leads.imports.models import Import, ImportRow, ImportState
from leads.imports.services import (
    MAX_STORED,
    TOO_MUCH_STORED,
    current_step,
    finish,
    guess_columns,
    lock_step,
    store_progress,
    stored_size,
)
from leads.imports.terms import MAX_TERMS, terms_of
from leads.imports.turns import Overtaken, Turn
from leads.imports.values import shorten
from organizations.services import lock_organization

READ_BATCH = 500
READ_TEXT = 1_000_000  # characters, after which a batch ends: canceling the import waits for it
MAX_CELL = MAX_TEXT_LENGTH + 1  # the longest field, with the apostrophe that guards a text against being a formula


def read_file(file_import: Import, turn: Turn) -> None:
    """Store the file's rows, after those that earlier turns have stored."""
    batch: list[ImportRow] = []
    size = 0
    content = bytes(file_import.file or b"")
    try:
        rows = read_rows(content, partial(keep_turn, file_import, turn))
        _, file_import.header = next(rows)
        file_import.format, file_import.encoding = find_format(content)
        file_import.other_sheets = count_other_sheets(content)
        for number, cells in rows:
            if number <= file_import.position:
                turn.restart()  # or the turns of a large file would end before they reach rows that are new
                continue
            batch.append(build_row(file_import, number, cells))
            size += batch[-1].size
            if len(batch) == READ_BATCH or size > READ_TEXT:
                store_rows(file_import, batch)
                batch, size = [], 0
                if turn.is_over:
                    return
        store_rows(file_import, batch, is_last=True)
    except FileRefused as error:
        refuse_file(file_import, str(error))


@transaction.atomic
def refuse_file(file_import: Import, problem: str) -> None:
    finish(lock_step(file_import), ImportState.FAILED, problem)


def keep_turn(file_import: Import, turn: Turn) -> None:
    """Extend the turn while no batch is stored. Raises Overtaken, also if the import has been canceled."""
    if turn.extend() and not current_step(file_import).update(updated_at=now()):
        raise Overtaken


@transaction.atomic
def store_rows(file_import: Import, batch: Sequence[ImportRow], *, is_last: bool = False) -> None:
    """Store some rows of the file; the last ones end the step, and people choose the columns.

    Locks the import, then for a moment the organization. Raises FileRefused if its imports store too much.
    """
    stored = lock_step(file_import)
    insert_all(*batch)
    stored.total += len(batch)
    for name in ("header", "format", "encoding", "other_sheets"):
        setattr(stored, name, getattr(file_import, name))
    stored.terms = terms_of(stored.organization_id, [*stored.header, stored.file_name])
    stored.size = (stored.size or 0) + sum(row.size for row in batch) - (len(file_import.file or b"") if is_last else 0)
    position = batch[-1].number if batch else stored.position
    if is_last:
        position, stored.state, stored.file = 0, ImportState.MAPPING, None
        stored.mapping = guess_columns(stored)
        guess_reading(stored)
    store_progress(stored, position)
    # Locked after the rows, so that others wait for two statements, not for thousands of rows.
    lock_organization(stored.organization)
    if stored_size(stored.organization) > MAX_STORED:
        raise FileRefused(TOO_MUCH_STORED)
    file_import.position = position


def build_row(file_import: Import, number: int, cells: Sequence[str]) -> ImportRow:
    """Return a new row, with as much of its cells as a field can hold.

    A longer cell leaves a mark that makes the check refuse the row; so does one more cell, with those beyond the
    header. A row with more than `MAX_TERMS` terms gets a mark, too, and keeps nothing else.
    """
    organization, width = file_import.organization, len(file_import.header)
    kept = [shorten(cell if len(cell) <= MAX_CELL else cell.strip(), MAX_CELL) for cell in cells[:width]]
    if beyond := ", ".join(filter(None, map(str.strip, cells[width:]))):
        kept.append(shorten(beyond, MAX_CELL))
    terms = terms_of(organization.pk, kept)
    if len(terms) > MAX_TERMS:
        kept, terms = [""] * width + [TOO_MANY_WORDS], []
    return ImportRow(organization=organization, file_import=file_import, number=number, cells=kept, terms=terms)
