"""Finds imported rows about a lead, which no foreign key refers to."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Q, Sum, TextField
from django.db.models.functions import Cast, Length

from foundation.api.emails import spellings
from foundation.db.expressions import is_any_of
from leads.imports.importers import normalize, zone_of
from leads.imports.models import Import, ImportColumn, ImportKind, ImportRow, ImportState, Verdict
from leads.imports.services import cancel_import
from leads.imports.terms import (
    checksums,
    find_emails,
    find_phone_ends,
    find_words,
    fold,
    join_texts,
    joined_names,
    phone_endings,
    terms_of,
)
from leads.imports.turns import Turn
from leads.models import Lead
from leads.privacy.history import forget_all_history
from leads.privacy.identities import identity_of
from leads.privacy.rules import batches, find_rows
from organizations.isolation import TenantModel, bypass_rls
from organizations.models import Organization

CANCELED = (
    "A lead of your organization was erased before this file had been read, and it may mention that person. "
    "Remove their row, if it has one, and upload the file again."
)
BATCH = 20  # rows that are compared at a time; each has at most 100,000 characters
PAGE = 10_000  # ids that are fetched at a time; each fetch finds all that are left again
VALUES = 500  # that are looked up at a time
MAX_COMPARED = 500_000  # characters that a request compares with the lead
REFERENCE_COLUMNS = {"id", "external_reference"}  # of appointments
ERASED_NAME = "erased"
# A name ends before these characters; domains and page addresses don't. Initials and abbreviations have dots, too.
SEPARATORS = re.compile(r"[@/:]|(?<=[^\W_][^\W_])\.(?=\S)")
# What makes an e-mail a part of a longer one.
BEFORE_EMAIL, AFTER_EMAIL = re.compile(r"[\w.+-]"), re.compile(r"[^\W_]|-|\.[^\W_]")
DETAILS = re.compile("; |: | → ")  # between the parts of what a check says about a row
MAX_NAME_WORDS = 12  # of a full name that is looked for in longer texts
MAX_RESTARTS = 3
MAX_CONDITIONS = 5  # that a request looks up
MAX_NAMES = 5_000  # characters of all present and former names that a request looks for


class FileUnread(Exception):
    """The erasure waits until the organization's files have been read."""


class Mentions:
    # E-mails and names are compared as whole words, and references only with the columns read as such, so that rows of
    # others stay.

    def __init__(self, lead: Lead) -> None:
        identity = self.identity = identity_of(lead)
        self.organization_id = lead.organization_id
        self.emails = sorted({fold(form) for email in identity.emails for form in spellings(email)})
        self.parts = {email: {*find_emails(email)} for email in self.emails}
        self.email_words = [find_words(email) for email in self.emails]
        digits = {phone.lstrip("+") for phone in identity.phones}
        self.phones = sorted({ending for phone in digits for ending in phone_endings(phone)})
        pairs = [tuple(" ".join(find_words(fold(name))) for name in names) for names in identity.names]
        self.names = sorted({pair for first, last in pairs if (pair := split_name(first, last))})
        self.name_words = [f"{first} {last}".split() for first, last in self.names]
        self.joined = sorted({name for pair in pairs for name in joined_names(*pair)})
        self.phrases = {tuple(f"{one} {other}".split()) for pair in self.names for one, other in (pair, pair[::-1])}
        self.phrases |= {(name,) for name in self.joined}
        self.references = find_references(lead)

    @property
    def key(self) -> str:
        """A hash of the values that determine the order of `conditions`, without references: new ones come last."""
        values = self.emails, self.phones, self.names, self.joined, bool(self.references)
        return blake2b(repr(values).encode(), digest_size=16).hexdigest()

    def conditions(self) -> list[Q]:
        """Return the conditions of rows that may mention the lead: no terms yet, or all of a value's terms."""
        words: list[Iterable[str]] = [*map(find_emails, self.emails), *([phone] for phone in self.phones)]
        words += [f"{first} {last}".split() for first, last in self.names] + [[name] for name in self.joined]
        words += [find_words(fold(text)) for text in self.references]
        groups = [terms for value in words if (terms := checksums(self.organization_id, value))]
        # Few at a time, so that each statement uses the index of the terms.
        alternatives = [[("terms__contains", group) for group in some] for some in batches(groups, VALUES)]
        return [Q(terms=None), *(Q(*some, _connector=Q.OR) for some in alternatives)]

    def are_in(self, texts: Iterable[str]) -> bool:
        text = join_texts(texts)
        # One expression for all addresses would be tried at each character, in a single call that nothing interrupts.
        parts = {*find_emails(text)}
        is_email = any(parts >= own and has_email(text, email) for email, own in self.parts.items())
        return is_email or not set(self.phones).isdisjoint(find_phone_ends(text))

    def are_named_in(self, cells: Iterable[str]) -> bool:
        """Return whether a cell has a full name of the lead, in either order, or two cells are the two names."""
        if not self.phrases:
            return False
        texts = [fold(cell) for cell in cells]
        whole = Counter(" ".join(find_words(text)) for text in texts)
        if any(whole[first] > 1 if first == last else whole[first] and whole[last] for first, last in self.names):
            return True
        lengths = sorted({len(phrase) for phrase in self.phrases if len(phrase) <= MAX_NAME_WORDS})
        parts = (find_words(part) for text in texts for part in SEPARATORS.split(text))
        return any(
            tuple(words[start : start + length]) in self.phrases
            for words in parts
            for start in range(len(words))
            for length in lengths
        )

    def are_in_references(self, cells: Sequence[str], mapping: Sequence[str]) -> bool:
        named = [cell.strip() for name, cell in zip(mapping, cells, strict=False) if name in REFERENCE_COLUMNS]
        # An export guards a text against being a formula with an apostrophe; IDs may be in upper case.
        return any(not self.references.isdisjoint({text, text.removeprefix("'"), text.lower()}) for text in named)

    def are_in_row(self, row: ImportRow) -> bool:
        # A row with an e-mail is about the person who has it: that another lead has the same name doesn't count, unless
        # the row was refused.
        texts = [*row.cells, row.details]
        is_by_name = row.verdict == Verdict.REFUSED or not any("@" in cell for cell in row.cells)
        is_named = is_by_name and self.are_named_in(row.cells)
        return is_named or self.are_in(texts) or self.are_in_references(row.cells, row.file_import.mapping)

    def are_in_details(self, row: ImportRow) -> bool:
        """Return whether the check of another person's row names the lead: the two were merged then."""
        return self.are_named_in(DETAILS.split(row.details)) and not self.are_named_in(row.cells)

    def are_in_name(self, file_import: Import) -> bool:
        return self.are_in([file_import.file_name]) or self.are_named_in([file_import.file_name.replace(".", " ")])

    def are_in_header(self, file_import: Import) -> bool:
        header = file_import.header
        return self.are_in(header) or self.are_in_references(header, file_import.mapping) or self.are_named_in(header)

    def are_in_column(self, name: str) -> bool:
        """Search a column's normalized name, which has no more than letters and digits."""
        words = find_words(fold(name))
        text, known, digits = f" {' '.join(words)} ", {*words}, re.sub(r"[^0-9]", "", name)
        return (
            any(known.issuperset(own) and f" {' '.join(own)} " in text for own in self.email_words)
            or any(phone in digits for phone in self.phones)
            or any(known.issuperset(own) for own in self.name_words)
            or not known.isdisjoint(self.joined)
        )


def has_email(text: str, email: str) -> bool:
    """Return whether the text has the e-mail, both folded, and not as a part of a longer one."""
    start = text.find(email)
    while start >= 0:
        if not BEFORE_EMAIL.match(text[max(start - 1, 0) : start]) and not AFTER_EMAIL.match(text, start + len(email)):
            return True
        start = text.find(email, start + 1)
    return False


def split_name(first: str, last: str) -> tuple[str, str] | None:
    """Return both names; a full name in one of the two fields is split after its first word. None if there is one."""
    if not (first and last):
        first, _, last = (first or last).partition(" ")
    return (first, last) if first and last else None


def find_references(lead: Lead) -> Set[str]:
    """Return the lead's IDs and references, the oldest first; none if no rows of appointments are stored."""
    found: list[tuple[UUID, str | None]] = []
    if ImportRow.objects.of(lead.organization).filter(file_import__kind=ImportKind.APPOINTMENTS).exists():
        for model, ids in find_rows(lead).items():
            # Those of notes, which have no source, are in no file.
            if {"source", "external_reference"} <= {field.name for field in model._meta.concrete_fields}:
                rows = model._base_manager.filter(is_any_of("pk", ids))
                found += rows.values_list("pk", "external_reference")
    return dict.fromkeys(str(value) for pair in sorted(found, key=str) for value in pair if value).keys()


def has_many_candidates(lead: Lead, limit: int) -> bool:
    if sum(len(name) for names in identity_of(lead).names for name in names) > MAX_NAMES:
        return True  # their words alone take seconds
    conditions = Mentions(lead).conditions()
    if len(conditions) > MAX_CONDITIONS:
        return True
    count = length = 0
    for condition in conditions:
        rows = find_candidates(lead, ImportRow, condition, limit + 1)
        count += len(rows) + len(find_candidates(lead, Import, condition, limit + 1))
        if count > limit:
            return True
        cells = ImportRow.objects.of(lead.organization).filter(pk__in=rows).annotate(text=Cast("cells", TextField()))
        length += cells.aggregate(total=Sum(Length("text")))["total"] or 0
    return length > MAX_COMPARED


def find_candidates(
    lead: Lead, model: type[TenantModel], condition: Q, limit: int, after: UUID | None = None
) -> list[UUID]:
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


def forget_imported_rows(
    lead: Lead, position: Mapping[str, Any] | None = None, turn: Turn | None = None
) -> Iterator[Mapping[str, Any]]:
    """Delete the imported rows that mention the lead, and empty the headers and file names that do, in batches.

    Files that have not been read yet are left out (`cancel_unread_imports`). Each batch is a transaction,
    after which its position is yielded: the number of the condition, the last id, or that it is the end. Continues
    after `position`; if the lead has got other values since, starts again, but not for ever.
    """
    if position and position["is_end"]:
        return
    mentions = Mentions(lead)
    if turn:
        turn.restart()  # so that there is time for some steps, however long this has taken
    conditions = mentions.conditions()
    steps = [(model, forget, condition) for model, forget in FORGET.items() for condition in conditions]
    beginning: dict[str, Any] = {"key": mentions.key, "step": 0, "after": "", "restarts": 0, "is_end": False}
    start = position or beginning
    if start["key"] != mentions.key and start["restarts"] < MAX_RESTARTS:
        start = beginning | {"restarts": start["restarts"] + 1}
    # The references' conditions come last for rows, and new ones shift those for imports, which are few.
    for step, (model, forget, condition) in enumerate(steps[start["step"] :], start["step"]):
        after = UUID(start["after"]) if start["after"] and step == start["step"] else None
        while page := find_candidates(lead, model, condition, PAGE, after=after):
            for ids in batches(page, BATCH):
                forget(lead, mentions, ids)
                yield {**start, "step": step, "after": str(ids[-1])}
            after = page[-1]
        # Also without candidates: a lead can have thousands of references.
        yield {**start, "step": step + 1, "after": ""}
    forget_columns(lead, mentions)
    yield {**start, "is_end": True}


def cancel_unread_imports(organization: Organization, *, waits: bool) -> None:
    """Cancel imports whose file has not been read yet, for it may mention the lead. Raises FileUnread if `waits`."""
    for unread in Import.objects.of(organization).filter(state=ImportState.READING).defer("file"):
        if waits:
            raise FileUnread
        cancel_import(file_import=unread, reason=CANCELED)


@transaction.atomic
def forget_rows(lead: Lead, mentions: Mentions, ids: Sequence[UUID]) -> None:
    rows = ImportRow.objects.of(lead.organization).filter(pk__in=ids)
    stored = rows.select_related("file_import").defer("terms", "file_import__file")
    about = [row for row in stored if mentions.are_in_row(row)]
    for import_id, count in sorted(Counter(row.file_import_id for row in about).items(), key=str):
        Import.objects.of(lead.organization).filter(pk=import_id).update(erased=F("erased") + count)
    rows.filter(pk__in=[row.pk for row in about]).delete()
    # Without what the check has shown, the import refuses such a row if it would still change its lead.
    rows.filter(pk__in=[row.pk for row in stored if mentions.are_in_details(row)]).update(details="", shown=[])


def forget_columns(lead: Lead, mentions: Mentions) -> None:
    # The first row of a file without a header counts as the header, so a column can have one of the lead's names.
    names = {normalize(text) for pair in mentions.identity.names for text in pair} - {""}
    columns = ImportColumn.objects.of(lead.organization)  # some thousand at most
    found = [row.pk for row in columns if fold(row.name) in names or mentions.are_in_column(row.name)]
    columns.filter(pk__in=found).delete()


@transaction.atomic
def forget_headers(lead: Lead, mentions: Mentions, ids: Sequence[UUID]) -> None:
    # A header can mention a person: in a file without a header, the first row counts as the header.
    imports = Import.objects.of(lead.organization).filter(pk__in=ids).order_by("pk").defer("file")
    for file_import in imports.select_for_update(no_key=True):
        is_in_header = mentions.are_in_header(file_import)
        if is_about := is_in_header or mentions.are_in_name(file_import):
            forget_all_history([file_import.pk])  # its entries have the file's name
            file_import.file_name = ERASED_NAME
        if is_in_header:
            names = {normalize(text) for text in file_import.header}
            ImportColumn.objects.of(lead.organization).filter(kind=file_import.kind, name__in=names).delete()
            file_import.header = [emptied(text) for text in file_import.header]
        if is_about or file_import.terms is None:
            file_import.terms = terms_of(lead.organization_id, [*file_import.header, file_import.file_name])
            file_import.save(update_fields=["header", "file_name", "terms"])


def emptied(text: str) -> str:
    """Return a header cell without its text, but with the time zone that the import reads the column's times in."""
    zone = zone_of(text)
    return f"({zone})" if zone else ""


FORGET: dict[type[TenantModel], Callable[[Lead, Mentions, Sequence[UUID]], None]] = {
    ImportRow: forget_rows,
    Import: forget_headers,
}
