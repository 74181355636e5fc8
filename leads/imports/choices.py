"""What people choose for the cells of a file: how it writes times, numbers and phones, and what unknown values mean.

Both are guesses first: the ways of writing from the first rows, the meanings from the last import. A meaning is stored
by the hash of the cell's text, because a file can have personal data in any column.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from operator import itemgetter

from django.db import transaction
from django.db.models import Count, F, Min, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Left, Trim

from foundation.api.exceptions import ValidationFailed
from foundation.db.timestamps import now
from leads.imports.importers import IMPORTERS, LEAVE_OUT, Column, Importer, value_key
from leads.imports.models import DateOrder, Import, ImportKind, ImportRow, ImportState, NumberFormat, Verdict
from leads.imports.services import PARTIAL, begin, lock, refuse_older
from leads.imports.values import MAX_NAME, SLASHED, clean, is_blank
from leads.phones import parse_phone, read_country_code
from organizations.models import Membership
from statuses.models import Status

GUESS_ROWS, GUESS_TEXT, ROWS_AT_A_TIME = 500, 1_000_000, 20
MAX_SHORT = 40  # characters of a cell that is a number, a date or a phone
GUESS_PHONES = 100
EMAIL_COLUMNS = {ImportKind.LEADS: "email", ImportKind.APPOINTMENTS: "lead_email"}
# Texts that are numbers with only one of the two decimal separators.
DECIMALS = {
    NumberFormat.POINT: re.compile(r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d+\.(\d{1,2}|\d{4,})|\d{1,3}(,\d{3}){2,})", re.ASCII),
    NumberFormat.COMMA: re.compile(r"[+-]?(\d{1,3}(\.\d{3})+,\d+|\d+,(\d{1,2}|\d{4,})|\d{1,3}(\.\d{3}){2,})", re.ASCII),
}
# 1.500 or 1,500, which can be read in two ways.
GROUP = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}", re.ASCII)
# As the numbers of a workbook are stored, which say nothing of its texts.
TYPED = re.compile(r"[+-]?\d+\.\d+", re.ASCII)
MAX_DISTINCT, MAX_UNKNOWN = 200, 50  # values of a column that are read, the most frequent first, and that are shown
MAX_CHOICES, MAX_INHERITED = 1_000, 500  # of an import, and how many of them it takes over from the one before
# Of the columns of which a page reads the values, those with unknown ones first. Each reads all rows, so 100,000 rows
# have few of these columns, and no file has more than the page can show: Django accepts 1,000 fields of a form.
MAX_READ, MIN_COLUMNS, MAX_READ_COLUMNS = 300_000, 3, 18
# Each value has all targets of its column beside it. Of a page, the characters of these; then of each target's name.
MAX_OPTIONS_TEXT, MAX_SHOWN_NAME = 500_000, 80


@dataclass(frozen=True)
class UnknownValue:
    column: int  # its place in the file
    text: str
    key: str
    rows: int
    chosen: str
    is_suggested: bool

    def is_known(self) -> bool:
        return bool(self.chosen) and not self.is_suggested


@dataclass(frozen=True)
class UnknownColumn:
    label: str
    targets: Mapping[str, object]
    values: Sequence[UnknownValue]


def guess_reading(file_import: Import) -> None:
    """Set how the file writes dates, numbers and phones, as far as its first rows show it, and the last meanings."""
    dates: set[str] = set()
    numbers: set[tuple[int, str]] = set()  # columns, and how a cell of them shows that numbers are written
    unclear: set[tuple[int, str]] = set()  # columns with cells such as 1.500, and the separator
    phones: list[str] = []
    domains: Counter[str] = Counter()
    guess_email_column(file_import)
    mapping = file_import.mapping
    for cells in first_rows(file_import):
        for index, (name, cell) in enumerate(zip(mapping, cells, strict=False)):
            text = cell.strip().removeprefix("'")
            if name in EMAIL_COLUMNS.values():
                domains[text[-40:].rpartition(".")[2].upper()] += 1
            if not text or len(text) > MAX_SHORT:
                continue
            if name in ("phone", "lead_phone") and len(phones) < GUESS_PHONES:
                phones.append(text)
            elif match := SLASHED.fullmatch(text):
                dates |= {DateOrder.DAY_FIRST} if int(match[1]) > 12 else set()
                dates |= {DateOrder.MONTH_FIRST} if int(match[2]) > 12 else set()
            elif file_import.format != "xlsx" or not TYPED.fullmatch(text):
                numbers |= {(index, form) for form, pattern in DECIMALS.items() if pattern.fullmatch(text)}
                unclear |= {(index, match[1])} if (match := GROUP.fullmatch(text)) else set()
    file_import.dates = dates.pop() if len(dates) == 1 else ""
    forms = {form for _, form in numbers}
    # Fractions of one column don't show that all of another one have three digits.
    is_clear = len(forms) == 1 and all(form not in forms for _, form in unclear - numbers)
    file_import.numbers = forms.pop() if is_clear else ""
    file_import.country = guess_country(phones, domains, file_import.organization.default_country)
    # Those of the import whose choices were changed last, even to none. An import that was not read has had none.
    others = Import.objects.of(file_import.organization).filter(kind=file_import.kind).exclude(pk=file_import.pk)
    order = F("values_at").desc(nulls_last=True), "-created_at", "-id"
    latest = others.exclude(mapping=[]).order_by(*order).values_list("values", flat=True).first()
    file_import.values = inherited(latest or {})


def inherited(values: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the choices that the next import takes over: of too many, equally many for each column."""
    if sum(map(len, values.values())) <= MAX_INHERITED:
        return values
    share = MAX_INHERITED // len(values)
    return {name: dict(islice(chosen.items(), share)) for name, chosen in values.items()}


def guess_email_column(file_import: Import) -> None:
    """Map a column to the e-mail if none is, and it is the only one of which all cells look like e-mails."""
    name = EMAIL_COLUMNS[ImportKind(file_import.kind)]
    filled: Counter[int] = Counter()
    emails: Counter[int] = Counter()
    if name in file_import.mapping:
        return
    for cells in first_rows(file_import):
        filled.update(index for index, cell in enumerate(cells) if cell)
        emails.update(index for index, cell in enumerate(cells) if looks_like_email(cell[:MAX_NAME]))
    found = [index for index, mapped in enumerate(file_import.mapping) if not mapped and emails[index]]
    found = [index for index in found if emails[index] == filled[index]]
    if len(found) == 1:
        file_import.mapping[found[0]] = name


def looks_like_email(text: str) -> bool:
    """Return whether a cell has a name, an @, and a domain with a dot. In linear time: it sees each cell of a file."""
    local, _, domain = text.strip().partition("@")
    return bool(local) and "@" not in domain and "." in domain[1:-1] and len(text.split()) == 1


def first_rows(file_import: Import) -> Iterator[list[str]]:
    rows, count, length = file_import.rows.order_by("number"), 0, 0
    while count < GUESS_ROWS and length < GUESS_TEXT:
        some = list(rows.values_list("cells", flat=True)[count : count + ROWS_AT_A_TIME])
        yield from some
        count, length = count + ROWS_AT_A_TIME, length + sum(len(cell) for cells in some for cell in cells)
        if len(some) < ROWS_AT_A_TIME:
            return


def guess_country(phones: Sequence[str], domains: Counter[str], default: str) -> str:
    """Return the country of which most of the phones are valid numbers; the organization's, if it is among them."""
    abroad = [re.sub("^00", "+", phone) for phone in phones if phone.startswith(("+", "00"))]
    national = [phone for phone in phones if not phone.startswith(("+", "00"))]
    countries = Counter(found.country for phone in abroad if (found := parse_phone(phone, default)))
    named = [read_country_code("GB" if name == "UK" else name) for name, _ in domains.most_common(10)]
    candidates = [default, *[country for country, _ in countries.most_common(3)], *filter(None, named)]
    return max(dict.fromkeys(candidates), key=lambda country: sum(is_valid(phone, country) for phone in national))


def is_valid(phone: str, country: str) -> bool:
    found = parse_phone(phone, country)
    return found is not None and found.is_valid


def unknown_values(file_import: Import) -> tuple[list[UnknownColumn], bool]:
    """Return the values of checked rows that mean none of a column's targets, then those that people have chosen for.

    If they are in too many columns, or would have too many targets beside them, returns only the first, and True.
    """
    importer = IMPORTERS[file_import.kind](file_import)
    reasons = [*file_import.reasons.get(PARTIAL, {}), *file_import.reasons.get(Verdict.REFUSED, {})]
    bad, chosen = [], []
    for index, column, _ in importer.mapped:
        if column.targets and any(reason.startswith((f"{column.label} ", f"{column.label}:")) for reason in reasons):
            bad.append((index, column))
        elif column.targets and file_import.values.get(column.name):
            chosen.append((index, column))
    most = min(max(MAX_READ // max(file_import.total, 1), MIN_COLUMNS), MAX_READ_COLUMNS)
    found: list[UnknownColumn] = []
    left, is_cut = MAX_OPTIONS_TEXT, len(bad) > most
    for index, column in sorted([*bad, *chosen][:most], key=itemgetter(0)):
        names = names_of(column.targets)
        size = sum(len(id) + len(name) for id, name in names.items())
        count = max(left // size, 0 if found else 1)
        values = sorted(values_of_column(file_import, importer, index, column), key=UnknownValue.is_known)
        shown = values[: min(count, MAX_UNKNOWN)]
        is_cut |= any(not value.is_known() for value in values[len(shown) :])
        left -= size * len(shown)
        if shown:
            found.append(UnknownColumn(column.label, names, shown))
    return found, is_cut


def values_of_column(file_import: Import, importer: Importer, index: int, column: Column) -> Iterator[UnknownValue]:
    targets = {LEAVE_OUT, *column.targets}
    chosen = {key: id for key, id in file_import.values.get(column.name, {}).items() if id in targets}
    # Only rows with a left-out cell can have unknown values without a choice.
    found = [(file_import.rows.filter(is_partial=True), False), *([(file_import.rows.all(), True)] if chosen else [])]
    for rows, is_chosen in found:
        for cell, count in frequent_cells(rows, index):
            key = value_key(file_import.organization, cell)
            if (key in chosen) != is_chosen or is_known(column, cell):
                continue
            suggestion = "" if is_chosen else suggest(column.targets, cell)
            yield UnknownValue(index, cell, key, count, chosen.get(key, suggestion), is_suggested=bool(suggestion))


def frequent_cells(rows: QuerySet[ImportRow], index: int) -> list[tuple[str, int]]:
    """Return the most frequent texts of a column, each in its most frequent spelling, and the number of its rows."""
    text = Left(Trim(KeyTextTransform(index, F("cells"))), MAX_NAME + 1)
    texts = rows.order_by().annotate(text=text).values("text").annotate(count=Count("*"), first=Min("number"))
    counts: Counter[str] = Counter()
    spellings: dict[str, str] = {}  # of equally frequent ones, the first one
    for cell, count in texts.order_by("-count", "first").values_list("text", "count")[:MAX_DISTINCT]:
        if cell and len(cell) <= MAX_NAME and not is_blank(cell):
            with suppress(ValueError):  # an error of the spreadsheet
                cell = clean(cell)
                counts[cell.casefold()] += count
                spellings.setdefault(cell.casefold(), cell)
    return [(spellings[folded], count) for folded, count in counts.most_common()]


def is_known(column: Column, cell: str) -> bool:
    try:
        return column.read is None or column.read(clean(cell)) in column.targets.values()
    except ValueError:
        return False


def suggest(targets: Mapping[str, object], text: str) -> str:
    """Return the member whose first name is the text, if there is one."""
    members = [
        id
        for id, target in targets.items()
        if isinstance(target, Membership) and target.user.first_name.casefold() == text.casefold()
    ]
    return members[0] if len(members) == 1 else ""


def names_of(targets: Mapping[str, object]) -> dict[str, str]:
    names = {id: target.name if isinstance(target, Status) else str(target) for id, target in targets.items()}
    return {id: name[:MAX_SHOWN_NAME] for id, name in names.items()}


@transaction.atomic
def choose_values(
    *, file_import: Import, values: Mapping[tuple[str, str], str], version: datetime | None = None
) -> None:
    """Store the target for each column and key of a value ("" forgets it), and check the rows again.

    Raises ValidationFailed for an unknown column or target, Conflict in another state, or if it was checked again
    since `version`, its `updated_at` that the user saw. Locks the import.
    """
    stored = lock(file_import, ImportState.CHECKED)
    refuse_older(stored, version)
    targets = {column.name: column.targets for _, column, _ in IMPORTERS[stored.kind](stored).mapped}
    for (name, key), target in values.items():
        if not re.fullmatch("[0-9a-f]{32}", key) or target not in {"", LEAVE_OUT, *targets.get(name, {})}:
            raise ValidationFailed({"": ["One of the choices is no longer there. Choose again."]})
        chosen = stored.values.setdefault(name, {})
        chosen.pop(key, None)
        if target:
            chosen[key] = target
    stored.values = {name: chosen for name, chosen in stored.values.items() if chosen}
    stored.values_at = now()
    if sum(map(len, stored.values.values())) > MAX_CHOICES:
        raise ValidationFailed({"": [f"An import can have at most {MAX_CHOICES:,} choices. Correct the file instead."]})
    begin(stored, ImportState.CHECKING, {})
