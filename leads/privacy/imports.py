"""Rows of imported files that are about a lead, and to which no foreign key leads."""

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from leads.imports.importers import normalize
from leads.imports.models import Import, ImportColumn, ImportRow, ImportState
from leads.imports.services import cancel_import
from leads.imports.terms import PHONE_DIGITS, checksums, find_emails, find_phone_ends, find_words, join_texts, terms_of
from leads.models import Lead, LeadMerge
from leads.privacy.history import forget_history
from leads.privacy.rules import batches
from organizations.isolation import TenantModel, bypass_rls
from pipeline_backend.api.emails import spellings

CANCELED = (
    "A lead of your organization was erased before this file had been read, and it may mention that person. "
    "Remove their row, if it has one, and upload the file again."
)
BATCH = 200  # rows that are compared at a time; each has at most 100,000 characters
ERASED_NAME = "erased"


class Mentions:
    """Finds texts that mention a lead: by one of its e-mails, its phone, or its full name.

    E-mails and names are compared as whole words, so that rows of others stay.
    """

    def __init__(self, lead: Lead) -> None:
        merged = LeadMerge.objects.of(lead.organization).filter(lead=lead, email__isnull=False)
        self.organization_id = lead.organization_id
        stored = [lead.email, *merged.values_list("email", flat=True)]
        self.emails = sorted({form.lower() for email in stored for form in spellings(email)})
        emails = "|".join(map(re.escape, self.emails))
        self.email = re.compile(rf"(?<![\w.+-])(?:{emails})(?![^\W_]|-|\.[^\W_])")
        digits = (lead.phone_e164 or "").lstrip("+")
        self.phone = digits[-PHONE_DIGITS:] if len(digits) >= PHONE_DIGITS else ""
        names = [find_words(name.lower()) for name in (lead.first_name, lead.last_name)]
        self.names = names if all(names) else []

    def conditions(self) -> list[Q]:
        """Return the possible conditions: all terms of an e-mail, of the phone or of the full name; or no terms yet."""
        names = [word for words in self.names for word in words]
        wanted: list[Iterable[str]] = [*map(find_emails, self.emails), [self.phone] if self.phone else [], names]
        terms = [checksums(self.organization_id, words) for words in wanted]
        return [Q(terms=None), *(Q(terms__contains=group) for group in terms if group)]

    def are_in(self, texts: Iterable[str]) -> bool:
        """Return whether the texts mention the lead."""
        text = join_texts(texts)
        words = f" {' '.join(find_words(text))} "
        return (
            self.email.search(text) is not None
            or self.phone in (set(find_phone_ends(text)) if self.phone else ())
            or (bool(self.names) and all(f" {' '.join(name)} " in words for name in self.names))
        )


def find_candidates(lead: Lead) -> tuple[list[UUID], list[UUID]]:
    """Return the ids of the imports and of the rows that have terms of the lead and have to be compared."""
    conditions = Mentions(lead).conditions()

    def find(model: type[TenantModel]) -> list[UUID]:
        rows = model.objects.of(lead.organization).order_by().values_list("pk", flat=True)
        # One after the other, so that each uses its index.
        return list({id for condition in conditions for id in rows.filter(condition)})

    # Under row-level security PostgreSQL would not use the index of the terms.
    with bypass_rls():
        return find(Import), find(ImportRow)


def forget_imported_rows(lead: Lead) -> None:
    """Delete the imported rows that mention the lead; empty the headers and file names that do.

    Cancels imports whose file has not been read yet, because it may mention the lead, too. Each batch is a transaction;
    may run in the caller's.
    """
    organization = lead.organization
    for unread in Import.objects.of(organization).filter(state=ImportState.READING):
        cancel_import(file_import=unread, reason=CANCELED)
    mentions = Mentions(lead)
    imports, rows = find_candidates(lead)
    for ids in batches(rows, BATCH):
        found = ImportRow.objects.of(organization).filter(pk__in=ids).only("cells", "details")
        about = [row.pk for row in found if mentions.are_in([*row.cells, row.details])]
        ImportRow.objects.of(organization).filter(pk__in=about).delete()
    for ids in batches(imports, BATCH):
        forget_headers(lead, mentions, ids)
    forget_columns(lead, mentions)


def forget_columns(lead: Lead, mentions: Mentions) -> None:
    """Forget remembered columns with the lead's name: the first row of a file without a header counts as the header."""
    names = {normalize(text) for text in (lead.first_name, lead.last_name, str(lead), *mentions.emails)}
    columns = ImportColumn.objects.of(lead.organization)  # some thousand at most
    about = [
        column.pk
        for column in columns.only("name")
        if column.name in names or (mentions.phone and mentions.phone in column.name.replace(" ", ""))
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
        if is_about := mentions.are_in([*file_import.header, file_import.file_name]):
            while forget_history(Import, [file_import.pk], BATCH):  # its entries have the file's name
                pass
            file_import.header, file_import.file_name = [""] * len(file_import.header), ERASED_NAME
        if is_about or file_import.terms is None:
            file_import.terms = terms_of(lead.organization_id, [*file_import.header, file_import.file_name])
            file_import.save(update_fields=["header", "file_name", "terms"])
