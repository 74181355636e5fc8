"""An import with its file's rows."""

import json
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Q, UniqueConstraint

from foundation.db.timestamps import MillisecondDateTimeField, now
from organizations.actors import ActorFields
from organizations.isolation import TenantForeignKey, TenantModel

ROW_OVERHEAD, CELL_OVERHEAD = 150, 4  # bytes


class ImportKind(models.TextChoices):
    LEADS = "LEADS", "Leads"
    APPOINTMENTS = "APPOINTMENTS", "Appointments"


class ImportState(models.TextChoices):
    READING = "READING", "Reading the file"
    MAPPING = "MAPPING", "Choose the columns"
    CHECKING = "CHECKING", "Checking the rows"
    CHECKED = "CHECKED", "Ready to import"
    IMPORTING = "IMPORTING", "Importing"
    DONE = "DONE", "Done"
    CANCELED = "CANCELED", "Canceled"
    FAILED = "FAILED", "File refused"
    UNDOING = "UNDOING", "Undoing"
    UNDONE = "UNDONE", "Undone"


STEPS_TO_IMPORT = [ImportState.READING, ImportState.CHECKING, ImportState.IMPORTING]
WORKING = [*STEPS_TO_IMPORT, ImportState.UNDOING]
OPEN = [*STEPS_TO_IMPORT, ImportState.MAPPING, ImportState.CHECKED]
UNDOABLE_STATES = [ImportState.DONE, ImportState.CANCELED]
# How long the refused rows of a finished import are kept, and an import whose next step no one starts.
KEEP_ROWS = timedelta(days=7)
UNDO_FOR = timedelta(hours=24)  # after its end


class Verdict(models.TextChoices):
    NEW = "NEW", "New"
    CHANGED = "CHANGED", "Changed"
    UNCHANGED = "UNCHANGED", "Unchanged"
    REFUSED = "REFUSED", "Refused"


class NumberFormat(models.TextChoices):
    POINT = ".", "1,234.56"
    COMMA = ",", "1.234,56"


class DateOrder(models.TextChoices):
    DAY_FIRST = "DMY", "day first: 31/12/2027"
    MONTH_FIRST = "MDY", "month first: 12/31/2027"


class Import(TenantModel, ActorFields):
    kind = models.CharField(max_length=12, choices=ImportKind.choices, default=ImportKind.LEADS)
    file_name = models.CharField("file", max_length=255)
    file = models.BinaryField(null=True)  # until it has been read
    state = models.CharField(max_length=10, choices=ImportState.choices, default=ImportState.READING, editable=False)
    time_zone = models.CharField(max_length=64, default="UTC")
    sends_invitations = models.BooleanField(default=False)
    header = models.JSONField(default=list)
    # The name of the field that each column is read as, in the order of the header; "" if it is left out.
    mapping = models.JSONField(default=list)
    total = models.PositiveIntegerField("rows in the file", default=0)
    position = models.PositiveIntegerField(default=0)  # the number of the last row that the present step has done
    counts = models.JSONField(default=dict)  # of rows by verdict
    # How the file writes what could be read in several ways: guessed from its first rows, and chosen on the page.
    country = models.CharField(max_length=2, blank=True, default="", db_default="")  # of phones without +
    numbers = models.CharField(max_length=1, choices=NumberFormat.choices, blank=True, default="", db_default="")
    dates = models.CharField(max_length=3, choices=DateOrder.choices, blank=True, default="", db_default="")
    time_of_day = models.TimeField(null=True, blank=True)  # of dates without one
    # By column: what cells stand for, by the hash of their text (`leads.imports.choices`).
    values = models.JSONField(default=dict, db_default={}, editable=False)
    values_at = MillisecondDateTimeField(null=True, editable=False)  # when people last chose one or took one back
    # Of refused and of partial rows by reason, which quotes no cell: {"REFUSED": {"E-mail: is missing": 3}}.
    reasons = models.JSONField(default=dict, db_default={}, editable=False)
    problem = models.TextField(blank=True)  # why the file was refused
    # "xlsx", or the separator of a CSV file: that of the file with refused rows.
    format = models.CharField(max_length=4, default=",", db_default=",", editable=False)
    encoding = models.CharField(max_length=12, blank=True, default="", db_default="", editable=False)  # of a CSV file
    other_sheets = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # of a workbook: not read
    # How often a worker had to stop because of an unexpected error; it is tried again after the other imports.
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    erased = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # rows, with the lead they mention
    updated_at = MillisecondDateTimeField(default=now, editable=False)
    finished_at = MillisecondDateTimeField("finished", null=True, editable=False)
    # The number of stored characters, of the file and of the rows (`ImportRow.size`). Null in older imports.
    size = models.PositiveIntegerField(null=True, editable=False)
    # When the rows are deleted; null until the import ends, and in older imports.
    rows_until = MillisecondDateTimeField(null=True, editable=False)
    # Until when it can be undone, null if it changed nothing. Once it is undone, until when its page lists what stays.
    undo_until = MillisecondDateTimeField(null=True, editable=False)
    # The characters that `ImportUndo` stores of it.
    undo_size = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    # How many changes were undone, by what became of them, of how many in all; and who undid the import.
    undone = models.JSONField(default=dict, db_default={}, editable=False)
    # The terms of the header and the file name (`leads.imports.terms`): erasing a lead finds them by these.
    terms = ArrayField(models.IntegerField(), null=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["organization", "-created_at", "-id"], name="import_newest"),
            models.Index(
                fields=["organization", "updated_at"], condition=Q(state__in=STEPS_TO_IMPORT), name="import_working"
            ),
            models.Index(fields=["organization"], condition=Q(state=ImportState.UNDOING), name="import_undoing"),
            # For the quota, and for the task that deletes rows.
            models.Index(
                fields=["organization", "rows_until"], condition=Q(size__gt=0) | Q(size=None), name="import_stored"
            ),
            GinIndex(fields=["terms"], name="import_terms"),
        ]

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_working(self) -> bool:
        return self.state in WORKING

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def shows_rows(self) -> bool:
        """Whether people may see the rows: while the import is open, then the refused ones for `KEEP_ROWS`."""
        if self.state in (ImportState.DONE, ImportState.UNDOING, ImportState.UNDONE):
            return (self.rows_until or self.updated_at + KEEP_ROWS) > now()
        return self.is_open

    @property
    def can_be_undone(self) -> bool:
        return self.state in UNDOABLE_STATES and self.undo_until is not None and self.undo_until > now()

    @property
    def done(self) -> int:
        """How much of its step is done, of `to_do`."""
        is_counted = self.state in (ImportState.READING, ImportState.UNDOING)
        return self.position if is_counted else sum(self.counts.values())

    @property
    def to_do(self) -> int:
        return self.undone["total"] if self.state == ImportState.UNDOING else self.total


class ImportRow(TenantModel):
    file_import = TenantForeignKey(Import, on_delete=models.CASCADE, related_name="rows", db_index=False)
    number = models.PositiveIntegerField()  # as spreadsheets count, the header included
    cells = models.JSONField(default=list)
    verdict = models.CharField(max_length=9, choices=Verdict.choices, blank=True)
    details = models.TextField(blank=True)  # the changes, or why it is refused, or which cells are left out
    # Cells that can't be read are left out. The row is kept after its import, as refused ones are, to be corrected.
    is_partial = models.BooleanField(default=False, db_default=False, editable=False)
    # A hash of the checked row's e-mail or reference, which may come only once in a file.
    key = models.TextField(blank=True, default="", db_default="", editable=False)
    # Hashes of the values before and after each change that the check has shown. Null in older rows.
    shown = ArrayField(models.BigIntegerField(), null=True, editable=False)
    # Erasing a lead finds the row by these (`leads.imports.terms`). Null in older rows.
    terms = ArrayField(models.IntegerField(), null=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["number"]
        constraints = [UniqueConstraint(fields=["file_import", "number"], name="one_import_row_per_number")]
        indexes = [
            models.Index(fields=["file_import", "verdict", "number"], name="import_row_verdict"),
            GinIndex(fields=["terms"], name="import_row_terms"),
            models.Index(fields=["organization"], condition=Q(terms=None), name="import_row_without_terms"),
        ]

    def __str__(self) -> str:
        return f"Row {self.number}"

    @property
    def size(self) -> int:
        """The characters that the row stores, plus the database's overhead for the row and its cells."""
        return ROW_OVERHEAD + sum(len(cell) + CELL_OVERHEAD for cell in self.cells)


class ImportUndo(TenantModel):
    """What undoing an import needs to know about a row that it created or changed (`leads.imports.undoing`).

    Undoing deletes it, or stores why the row stays.
    """

    file_import = TenantForeignKey(Import, on_delete=models.CASCADE, related_name="undo_rows", db_index=False)
    position = models.PositiveIntegerField(editable=False)  # of the import after the batch
    subject_type = models.CharField(max_length=60, editable=False)  # the label of its model
    subject_id = models.UUIDField(editable=False)
    # The subject's `updated_at` after the last change by the import, or by undoing it. Null if it has none.
    version = MillisecondDateTimeField(null=True, editable=False)
    # By column, the values before and after the change; null if the import created the subject.
    columns = models.JSONField(null=True, editable=False, encoder=DjangoJSONEncoder)
    is_kept = models.BooleanField(default=False, editable=False)
    reason = models.TextField(blank=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-position", "subject_type", "id"]
        indexes = [
            models.Index(
                fields=["file_import", "is_kept", "-position", "subject_type", "id"], name="import_undo_newest"
            ),
            # Erasing a lead deletes what is stored about it.
            models.Index(fields=["subject_id"], name="import_undo_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.subject_type} {self.subject_id}"

    @property
    def size(self) -> int:
        return ROW_OVERHEAD + len(json.dumps(self.columns, cls=DjangoJSONEncoder))


class ImportColumn(TenantModel):
    """The field last chosen for columns with this name, "" if left out: a guess for the next file."""

    kind = models.CharField(max_length=12, choices=ImportKind.choices)
    name = models.CharField(max_length=200)  # normalized
    field = models.CharField(max_length=100, blank=True)
    updated_at = MillisecondDateTimeField(default=now, editable=False)

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint(fields=["organization", "kind", "name"], name="one_import_column_per_name")]

    def __str__(self) -> str:
        return self.name


class ImportTurn(TenantModel):
    """An organization's current or last turn: when it expires, or when it ended."""

    expires_at = MillisecondDateTimeField(editable=False)

    class Meta(TenantModel.Meta):
        constraints = [UniqueConstraint(fields=["organization"], name="one_import_turn_per_organization")]

    def __str__(self) -> str:
        return f"{self.expires_at}"
