"""Rows of imported files that are about a lead, and to which no foreign key leads."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q

from foundation.api.emails import spellings
from leads.imports.importers import normalize
from leads.imports.models import Import, ImportColumn, ImportRow, ImportState
from leads.imports.services import cancel_import
from leads.imports.terms import (
    PHONE_DIGITS,
    checksums,
    find_emails,
    find_phone_ends,
    find_words,
    fold,
    join_texts,
    terms_of,
)
from leads.models import Lead, LeadMerge
from leads.privacy.history import forget_history
from leads.privacy.rules import batches, find_rows
from organizations.isolation import TenantModel, bypass_rls

CANCELED = (
    "A lead of your organization was erased before this file had been read, and it may mention that person. "
    "Remove their row, if it has one, and upload the file again."
)
BATCH = 200  # rows that are compared at a time; each has at most 100,000 characters
PAGE = 10_000  # ids that are fetched at a time; each fetch finds all that are left again
REFERENCES = 50  # that are looked up at a time
REFERENCE_COLUMNS = {"id", "external_reference"}  # of appointments
ERASED_NAME = "erased"


class Mentions:
    """Finds texts that mention a lead: by its e-mails, its phone, its full name, or its appointments' references.

    E-mails and names are compared as whole words, and references only with the columns read as such, so that rows of
    others stay.
    """

    def __init__(self, lead: Lead) -> None:
        merged = LeadMerge.objects.of(lead.organization).filter(lead=lead, email__isnull=False)
        self.organization_id = lead.organization_id
        stored = [lead.email, *merged.values_list("email", flat=True)]
        self.emails = sorted({fold(form) for email in stored for form in spellings(email)})
        emails = "|".join(map(re.escape, self.emails))
        self.email = re.compile(rf"(?<![\w.+-])(?:{emails})(?![^\W_]|-|\.[^\W_])")
        digits = (lead.phone_e164 or "").lstrip("+")
        self.phone = digits[-PHONE_DIGITS:] if len(digits) >= PHONE_DIGITS else ""
        names = [find_words(fold(name)) for name in (lead.first_name, lead.last_name)]
        self.names = names if all(names) else []
        self.references = find_references(lead)

    def conditions(self) -> list[Q]:
        """Return the possible conditions: all terms of an e-mail, phone, full name or reference; or none yet."""
        names = [word for words in self.names for word in words]
        wanted: list[Iterable[str]] = [*map(find_emails, self.emails), [self.phone] if self.phone else [], names]
        terms = [checksums(self.organization_id, words) for words in wanted]
        conditions = [Q(terms__contains=group) for group in terms if group]
        references = [checksums(self.organization_id, find_words(fold(text))) for text in sorted(self.references)]
        groups = batches([group for group in references if group], REFERENCES)
        conditions += [Q(*(("terms__contains", group) for group in some), _connector=Q.OR) for some in groups]
        return [Q(terms=None), *conditions]

    def are_in(self, texts: Iterable[str]) -> bool:
        """Return whether the texts mention the lead."""
        text = join_texts(texts)
        words = f" {' '.join(find_words(text))} "
        return (
            self.email.search(text) is not None
            or self.phone in (set(find_phone_ends(text)) if self.phone else ())
            or (bool(self.names) and all(f" {' '.join(name)} " in words for name in self.names))
        )

    def are_in_references(self, cells: Sequence[str], mapping: Sequence[str]) -> bool:
        """Return whether a cell in a column read as a reference or an ID is one of the lead's appointments."""
        named = [cell.strip() for name, cell in zip(mapping, cells, strict=False) if name in REFERENCE_COLUMNS]
        # An export guards a text against being a formula with an apostrophe; IDs may be in upper case.
        return any({text, text.removeprefix("'"), text.lower()} & self.references for text in named)

    def are_in_column(self, name: str) -> bool:
        """Return whether a column's normalized name, which has no more than letters and digits, mentions the lead."""
        words = find_words(fold(name))
        text = f" {' '.join(words)} "
        return (
            any(f" {' '.join(find_words(email))} " in text for email in self.emails)
            or (bool(self.phone) and self.phone in re.sub(r"[^0-9]", "", text))
            or (bool(self.names) and {word for name in self.names for word in name} <= set(words))
        )


def find_references(lead: Lead) -> set[str]:
    """Return the IDs and references of the rows that belong to the lead and have a reference."""
    found: set[str] = set()
    for model, ids in find_rows(lead).items():
        if any(field.name == "external_reference" for field in model._meta.concrete_fields):
            for some in batches(ids):
                rows = model._base_manager.filter(pk__in=some).values_list("pk", "external_reference")
                found.update(str(value) for pair in rows for value in pair if value)
    return found


def has_many_candidates(lead: Lead, limit: int) -> bool:
    """Return whether more than `limit` imports and rows have terms of the lead and have to be compared."""
    conditions = Mentions(lead).conditions()
    return (
        sum(
            len(find_candidates(lead, model, condition, limit + 1))
            for model in (Import, ImportRow)
            for condition in conditions
        )
        > limit
    )


def find_candidates(
    lead: Lead, model: type[TenantModel], condition: Q, limit: int, after: UUID | None = None
) -> list[UUID]:
    """Return the first `limit` ids, in order, of the imports or rows with the condition, of those after `after`."""
    rows = model.objects.of(lead.organization).order_by().filter(condition).values_list("id", flat=True)
    if after:
        rows = rows.filter(pk__gt=after)
    sql, params = rows.query.sql_with_params()
    # With a limit, PostgreSQL may expect to find enough rows sooner without the index, and read the whole table.
    statement = f"WITH found AS MATERIALIZED ({sql}) SELECT id FROM found ORDER BY id LIMIT %s"  # noqa: S608  # Django's SQL
    # Under row-level security PostgreSQL would not use the index of the terms.
    with bypass_rls(), connection.cursor() as cursor:
        cursor.execute(statement, [*params, limit])
        return [id for (id,) in cursor.fetchall()]


def candidate_batches(lead: Lead, model: type[TenantModel], conditions: list[Q]) -> Iterator[list[UUID]]:
    """Yield the ids of the imports or rows that have to be compared, `BATCH` at a time."""
    # One condition after the other, so that each uses its index.
    for condition in conditions:
        page = find_candidates(lead, model, condition, PAGE)
        while page:
            yield from batches(page, BATCH)
            page = find_candidates(lead, model, condition, PAGE, after=page[-1])


def forget_imported_rows(lead: Lead, after_batch: Callable[[], object] | None = None) -> None:
    """Delete the imported rows that mention the lead; empty the headers and file names that do.

    Cancels imports whose file has not been read yet, because it may mention the lead, too. Each batch is a transaction,
    and `after_batch` is called after it; may run in the caller's.
    """
    organization = lead.organization
    for unread in Import.objects.of(organization).filter(state=ImportState.READING):
        cancel_import(file_import=unread, reason=CANCELED)
    mentions = Mentions(lead)
    conditions = mentions.conditions()
    for ids in candidate_batches(lead, ImportRow, conditions):
        forget_rows(lead, mentions, ids)
        if after_batch:
            after_batch()
    for ids in candidate_batches(lead, Import, conditions):
        forget_headers(lead, mentions, ids)
        if after_batch:
            after_batch()
    forget_columns(lead, mentions)


def forget_rows(lead: Lead, mentions: Mentions, ids: Sequence[UUID]) -> None:
    """Delete these rows that mention the lead."""
    rows = ImportRow.objects.of(lead.organization)
    found = rows.filter(pk__in=ids).annotate(mapping=F("file_import__mapping")).only("cells", "details")
    about = [
        row.pk
        for row in found
        if mentions.are_in([*row.cells, row.details]) or mentions.are_in_references(row.cells, row.mapping)
    ]
    rows.filter(pk__in=about).delete()


def forget_columns(lead: Lead, mentions: Mentions) -> None:
    """Forget remembered columns that mention the lead, or are one of its names.

    The first row of a file without a header counts as the header.
    """
    names = {normalize(text) for text in (lead.first_name, lead.last_name)} - {""}
    columns = ImportColumn.objects.of(lead.organization)  # some thousand at most
    about = [
        column.pk for column in columns.only("name") if column.name in names or mentions.are_in_column(column.name)
    ]
    if about:
        columns.filter(pk__in=about).delete()


@transaction.atomic
def forget_headers(lead: Lead, mentions: Mentions, ids: Sequence[UUID]) -> None:
    """Empty the header and the file name of the imports that mention the lead there.

    A header can mention a person: in a file without a header, the first row counts as the header.
    """
    imports = Import.objects.of(lead.organization).filter(pk__in=ids).order_by("pk").defer("file")
    for file_import in imports.select_for_update(no_key=True):
        texts = [*file_import.header, file_import.file_name]
        if is_about := mentions.are_in(texts) or mentions.are_in_references(file_import.header, file_import.mapping):
            while forget_history(Import, [file_import.pk], BATCH):  # its entries have the file's name
                pass
            file_import.header, file_import.file_name = [""] * len(file_import.header), ERASED_NAME
        if is_about or file_import.terms is None:
            file_import.terms = terms_of(lead.organization_id, [*file_import.header, file_import.file_name])
            file_import.save(update_fields=["header", "file_name", "terms"])
