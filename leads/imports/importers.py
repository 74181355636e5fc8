"""The base class of importers: columns, how they are guessed, and plans for rows."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, partial
from hashlib import blake2b
from typing import Any, ClassVar, TypeVar
from zoneinfo import ZoneInfo

from django.utils.timezone import localtime

from foundation.api.emails import email_key
from foundation.db.timestamps import get_zone, zone_names
from leads.custom_values import TOO_LONG, are_too_long
from leads.imports.models import Import, ImportKind, ImportRow, Verdict
from leads.imports.terms import find_words, fold
from leads.imports.values import (
    MAX_NAME,
    BadCell,
    Reading,
    clean,
    is_blank,
    limited,
    parse_custom_value,
    parse_time,
    shorten,
)
from leads.models import CustomField
from organizations.actors import Actor
from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.versions import VersionedModel
from statuses.models import Board, Status

MAX_DETAILS = 2000
# Characters of a header cell, because normalizing a text takes time that grows with the square of its length.
MAX_HEADER = 200
UTC_OFFSET = re.compile(r"(?:UTC|GMT) ?([+\-\u2212]) ?(\d{1,2})(?::?([0-5]\d))?", re.ASCII)
OFFSET = re.compile(r"(?:^|UTC|GMT)[+\-\u2212]\d{1,2}(?::?\d\d)?$", re.ASCII)
MAX_OFFSET = 14  # hours
BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
WRITTEN_AS = re.compile(r"\d{1,2}|(?![+\-])(?=.*[dmyh])[dmyhs\d:/., \-]+", re.I | re.ASCII)  # dd/mm/yyyy, 24h, 2
WORDS = {"MET", "EAT", "CAT", "WET", "WIT"}  # in lower case, these abbreviations of time zones are words
CUSTOM = "custom:"  # before the key of a custom field, in names of columns
LEAVE_OUT = " "  # chosen instead of a target; no option of a custom field begins with a space
# The cell beyond the header of a row whose cells are not stored.
TOO_MANY_WORDS = "The row has too many words"

Named = TypeVar("Named", Status, Membership)


@dataclass(frozen=True)
class Column:
    """A field that a column of a file can be read as. `read` raises ValueError; without it, the field is a time.

    A cell that can't be read refuses the row if the field is required or essential. Any other is left out.
    """

    name: str
    label: str
    read: Callable[[str], Any] | None
    synonyms: tuple[str, ...] = ()  # if several columns of the file mean the field, the first of these is chosen
    is_required: bool = False
    is_essential: bool = False
    targets: Mapping[str, Any] = field(default_factory=dict)  # what people can choose for unknown cells, by id


@dataclass(frozen=True)
class Problem:
    text: str
    reason: str = ""  # if the text quotes the row: what is counted, the same for all rows with this problem

    @classmethod
    def of_cell(cls, label: str, error: ValueError) -> "Problem":
        return cls(f"{label}: {error}", f"{label} {getattr(error, 'reason', error)}")


@dataclass(eq=False)
class Plan:
    row: ImportRow
    values: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)  # any of them refuses the row
    bad_cells: list[Problem] = field(default_factory=list)  # the cells that are left out
    unread: dict[str, tuple[Problem, str]] = field(default_factory=dict)  # what is wrong with them, by column
    subject: Any = None
    fields: dict[str, Any] = field(default_factory=dict)  # the new values of the subject's columns
    changes: list[str] = field(default_factory=list)  # the same, for people
    hashes: list[int] = field(default_factory=list)  # of each change's values, which texts for people cut
    key: str = ""  # a hash of the value that may occur only once in a file

    @property
    def verdict(self) -> Verdict:
        if self.problems:
            return Verdict.REFUSED
        if self.subject is None:
            return Verdict.NEW
        return Verdict.CHANGED if self.changes else Verdict.UNCHANGED

    @property
    def is_partial(self) -> bool:
        return bool(self.bad_cells and not self.problems)

    @property
    def reasons(self) -> set[str]:
        return {problem.reason or problem.text for problem in self.problems or self.bad_cells}

    @property
    def problem(self) -> str:
        """Why the row is refused, or which cells are left out."""
        if self.problems:
            return "; ".join(problem.text for problem in self.problems)[:MAX_DETAILS]
        return f"Left out: {'; '.join(problem.text for problem in self.bad_cells)}"[:MAX_DETAILS] * self.is_partial

    @property
    def details(self) -> str:
        changes = [] if self.problems else self.changes
        return "; ".join(filter(None, [self.problem, *changes]))[:MAX_DETAILS]

    @property
    def is_as_checked(self) -> bool:
        """Return whether the check of the row has shown all that is planned now: nothing that others changed since.

        What it has shown for a new record may fill what is empty in one that was added since.
        """
        if self.subject is None:
            return self.row.verdict == Verdict.NEW
        return self.row.shown is None or set(self.hashes) <= set(self.row.shown)

    def refuse(self, text: str, reason: str = "") -> None:
        self.problems.append(Problem(text, reason))

    def change(self, label: str, before: object, after: object, **fields: object) -> None:
        if before != after:
            self.fields.update(fields)
            text = f"{label}: {f'{text_of(before)} → ' if self.subject else ''}{text_of(after)}"
            self.show(text, label, None if before == "" else before, after)

    def show(self, text: str, *values: object) -> None:
        """Add a change: its text for people, and its values, which the import compares with those of the check."""
        content = repr(values).encode("utf-8", "surrogatepass")
        self.hashes.append(int.from_bytes(blake2b(content, digest_size=8).digest(), signed=True))
        self.changes.append(text)


class Importer:
    """Statuses, members and custom fields are read once, so use an importer for a minute at most."""

    kind: ClassVar[ImportKind]
    board: ClassVar[Board]
    entity: ClassVar[CustomField.Entity]
    key: ClassVar[str]  # the column that identifies existing rows, and its label
    key_label: ClassVar[str]

    def __init__(self, file_import: Import) -> None:
        self.file_import = file_import
        organization: Organization = file_import.organization
        self.organization = organization
        self.zone: ZoneInfo = get_zone(file_import.time_zone)
        self.statuses: list[Status] = list(Status.objects.of(organization).on_board(self.board))
        members = Membership.objects.of(organization).filter(CAN_BE_ASSIGNED)
        self.members: list[Membership] = list(members.select_related("user", "mail_preference"))
        # Looked up by key, so that a row costs no more with many statuses and members.
        self.statuses_by_name = group_by(self.statuses, lambda status: status.name.casefold())
        self.members_by_email = group_by(self.members, lambda member: email_key(member.user.email))
        self.members_by_name = group_by(self.members, lambda member: str(member).casefold())
        self.status_targets = {str(status.pk): status for status in self.statuses if status.is_active}
        self.member_targets = {str(member.pk): member for member in self.members}
        is_workbook = file_import.format == "xlsx"
        self.reading = Reading(
            file_import.country or organization.default_country,
            file_import.numbers,
            file_import.dates,
            file_import.time_of_day,
            is_workbook,
        )
        self.custom_fields: list[CustomField] = list(CustomField.objects.of(organization).filter(entity=self.entity))
        by_name = {column.name: column for column in self.columns()}
        self.mapped = [
            (index, column, self.reader(column, file_import.header[index]))
            for index, name in enumerate(file_import.mapping)
            if (column := by_name.get(name))
        ]

    def reader(self, column: Column, header: str) -> Callable[[str], Any]:
        read = column.read or partial(parse_time, zone=zone_of(header) or self.zone, reading=self.reading)
        chosen: dict[str, str] = self.file_import.values.get(column.name, {})
        if not chosen:
            return read
        targets = set(column.targets.values())

        def read_chosen(text: str) -> Any:  # noqa: ANN401  # whatever the column's values are
            """Return what the text means by itself, or else what people have chosen for it.

            A retired status is no target: people may have chosen another one for it.
            """
            target = chosen.get(value_key(self.organization, text), "")
            has_choice = target == LEAVE_OUT or target in column.targets
            try:
                value = read(text)
            except ValueError:
                if not has_choice:
                    raise
                return column.targets.get(target)
            return column.targets.get(target) if has_choice and value not in targets else value

        return read_chosen

    def columns(self) -> list[Column]:
        raise NotImplementedError

    def missing_columns(self, names: Sequence[str]) -> list[str]:
        return [column.label for column in self.columns() if column.is_required and column.name not in names]

    def plan(self, rows: Sequence[ImportRow], *, lock: bool) -> list[Plan]:
        """Compare each row with what is stored now; `lock` locks that."""
        raise NotImplementedError

    def apply(self, plans: Sequence[Plan], actor: Actor) -> None:
        """Store what is planned, in the caller's transaction. Raises DomainError."""
        raise NotImplementedError

    def organization_column(self) -> Column:
        """Return a column that exports from several organizations have: rows of another one are refused."""
        return Column("row_organization", "Organization of the row", self.check_organization, is_essential=True)

    def check_organization(self, text: str) -> None:
        """Raise ValueError for another organization's name."""
        if limited(text, MAX_NAME).casefold() != self.organization.name.casefold():
            raise BadCell(text, f"is not {self.organization}")

    def custom_columns(self) -> list[Column]:
        return [
            Column(
                custom_name(custom),
                custom.label,
                partial(
                    parse_custom_value,
                    field=custom,
                    options={text.casefold(): text for text in custom.options}
                    | {text: text for text in custom.options},
                    reading=self.reading,
                ),
                # First as our own export calls it if another column has its label.
                (f"{custom.label} ({custom.key})", custom.key, f"custom {custom.label}", f"custom {custom.key}"),
                targets={text: text for text in custom.options} if custom.type == CustomField.Type.SELECT else {},
            )
            for custom in self.custom_fields
        ]

    def find_status(self, text: str) -> Status:
        """Return the status with this name, an active one first. Raises ValueError."""
        found = self.statuses_by_name.get(limited(text, MAX_NAME).casefold(), [])
        active = [status for status in found if status.is_active]
        if len(active) > 1:
            raise BadCell(text, "is the name of several statuses")
        if not found:
            names = ", ".join(status.name for status in self.statuses if status.is_active)
            raise BadCell(text, "is not a status", f"there are: {shorten(names, 300)}")
        return (active or found)[0]

    def find_member(self, text: str) -> Membership:
        """Return the member with this e-mail, or with this name if only one has it. Raises ValueError."""
        limited(text, MAX_NAME)
        # A member without a name is named by the address, which no case-folding may make another one's.
        is_email = "@" in text
        groups, key = (self.members_by_email, email_key(text)) if is_email else (self.members_by_name, text.casefold())
        found = groups.get(key, [])
        if len(found) != 1:
            problem = "is the name of several members" if found else "is not an active member"
            raise BadCell(text, problem, "write the e-mail" if found else "")
        return found[0]

    def local(self, time: datetime) -> str:
        return f"{localtime(time, self.zone):%Y-%m-%d %H:%M}"

    def read(self, row: ImportRow) -> Plan:
        plan = Plan(row)
        width = len(self.file_import.header)
        if row.cells[width:] == [TOO_MANY_WORDS]:
            plan.refuse(TOO_MANY_WORDS)
            return plan
        if any(cell.strip() for cell in row.cells[width:]):
            plan.refuse("The row has more cells than the header")
        for index, column, read in self.mapped:
            cell = row.cells[index] if index < len(row.cells) else ""
            if is_blank(cell):
                if column.is_required:
                    plan.refuse(f"{column.label}: is missing")
                continue
            text = ""
            try:
                text = clean(cell)
                value = read(text)
                if value is not None:
                    plan.values[column.name] = value
            except ValueError as error:
                is_needed, problem = column.is_required or column.is_essential, Problem.of_cell(column.label, error)
                (plan.problems if is_needed else plan.bad_cells).append(problem)
                plan.unread[column.name] = problem, text
                if isinstance(error, BadCell) and error.value is not None:
                    plan.values[column.name] = error.value
        return plan

    def key_of(self, plan: Plan) -> str:
        return str(plan.values.get(self.key, "")).casefold()

    def compare_status(self, plan: Plan, label: str, current: Status | None, column: str) -> None:
        status: Status | None = plan.values.get(column)
        if status is None or is_same_status(status, current):
            return
        if not status.is_active:
            plan.bad_cells.append(Problem(f"{label}: {status} is retired"))
            return
        plan.change(label, current, status, **{column: status})

    def compare_custom_values(self, plan: Plan, subject: VersionedModel | None) -> None:
        """Note the changes of custom fields. The new values keep those that the file doesn't name."""
        stored = subject.custom_values if subject else {}  # type: ignore[attr-defined]
        for custom in self.custom_fields:
            problem, text = plan.unread.get(custom_name(custom), (None, ""))
            if problem and text == stored.get(str(custom.pk)):  # an option that was removed since
                plan.bad_cells.remove(problem)
        given = [custom for custom in self.custom_fields if custom_name(custom) in plan.values]
        values = {str(custom.pk): plan.values[custom_name(custom)] for custom in given}
        for custom in given:
            id = str(custom.pk)
            if not is_same_number(stored.get(id), values[id]):
                plan.change(custom.label, stored.get(id), values[id], custom_values=stored | values)
        if are_too_long(stored | values, stored):
            plan.refuse(f"The custom fields {TOO_LONG}")


def value_key(organization: Organization, text: str) -> str:
    """Return a hash of the text in any letter case: what is chosen for a cell is stored without its text."""
    key = text[:MAX_NAME].casefold().encode("utf-8", "surrogatepass")
    return blake2b(key, digest_size=16, key=organization.pk.bytes).hexdigest()


IMPORTERS: dict[str, type[Importer]] = {}


def register(importer: type[Importer]) -> type[Importer]:
    IMPORTERS[importer.kind] = importer
    return importer


def group_by(rows: Sequence[Named], key: Callable[[Named], str]) -> dict[str, list[Named]]:
    groups: dict[str, list[Named]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def custom_name(field: CustomField) -> str:
    return f"{CUSTOM}{field.key}"


def text_of(value: object) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return shorten(str(value), 100)


def is_same_status(given: Status | None, current: Status | None) -> bool:
    return bool(given and current and given.name.casefold() == current.name.casefold())


def is_same_number(stored: object, given: object) -> bool:
    """Compare two numbers as a file has them: a stored integer can have more digits."""
    return isinstance(stored, int | float) and isinstance(given, int | float) and float(stored) == float(given)


def is_same_time(stored: datetime | None, given: datetime) -> bool:
    """Compare two times, to the second if the file has no fraction, because our export leaves it out."""
    return stored is not None and given in (stored, stored.replace(microsecond=0))


def zone_of(header: str) -> tzinfo | None:
    """Return the time zone that a header ends with, as those of our export do: Time (Europe/Berlin), or (UTC+5:30)."""
    name = header.rpartition("(")[2].rstrip(") ") if header.rstrip().endswith(")") else ""
    if (match := UTC_OFFSET.fullmatch(name)) and int(match[2]) <= MAX_OFFSET:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        return timezone(offset if match[1] == "+" else -offset)
    return get_zone(name) if name in zone_names() else None


def has_unclear_zone(header: str) -> bool:
    """Return whether the header of a column of times may name a zone, and names none that is clear.

    Any text in brackets may be one, such as (PST) or (Singapore), unless it is a format of dates or hours.
    """
    if zone_of(header):
        return False
    header = header[:MAX_HEADER]
    if any(not WRITTEN_AS.fullmatch(text.strip()) for text in BRACKETS.findall(header) if text.strip()):
        return True
    *others, last = re.split(r"[\s_,]+", BRACKETS.sub("", header).strip())
    if OFFSET.search(last):
        return True
    abbreviations, places = zone_words()
    is_capital = re.fullmatch("[A-Z]{1,4}T", last) and header != header.upper()  # many are in no database: SGT, BRT
    names = {name.casefold() for name in (last, last.rpartition("/")[2], "_".join([*others, last][-2:]))}
    is_abbreviation = last in abbreviations or last.upper() in abbreviations - WORDS
    return bool(is_capital) or is_abbreviation or not places.isdisjoint(names)


@cache
def zone_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the abbreviations of time zones, and the last parts of their names, such as los_angeles."""
    days = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC)
    abbreviations = {str(day.astimezone(get_zone(name)).tzname()) for name in zone_names() for day in days}
    return frozenset(abbreviations), frozenset(
        name.rpartition("/")[2].casefold() for name in zone_names() if "/" in name
    )


def normalize(header: str) -> str:
    """Return the first `MAX_HEADER` characters of a header as words: lower case, without accents or a time zone."""
    header = header[:MAX_HEADER]
    if zone_of(header):
        header = header.rpartition("(")[0]
    return " ".join(find_words(fold(header)))[:MAX_HEADER]


PROBLEM = "Import problem"  # the header of the last column of rows to correct
Meanings = dict[str, tuple[int, str]]  # by normalized header: a rank, and the name of a column


def find_meanings(columns: Sequence[Column]) -> Meanings:
    """Return what headers mean by themselves, without those that mean several custom fields, such as Budget."""
    meanings: Meanings = {}
    words = Counter(normalize(label) for label in labels_of_custom_fields(columns))
    ranked = [
        (text, (rank, column.name))
        for column in columns
        for rank, text in enumerate((*column.synonyms, column.label, column.name))
    ]
    own_names = {name for column in columns for name in (column.label, column.name)}
    # Labels first, because a custom field's can be what another program calls one of our columns.
    for text, meaning in sorted(ranked, key=lambda pair: pair[0] not in own_names):
        meanings.setdefault(normalize(text), meaning)
    return {text: meaning for text, meaning in meanings.items() if text and words[text] < 2}


def labels_of_custom_fields(columns: Sequence[Column]) -> Meanings:
    return {column.label.casefold(): (-2, column.name) for column in columns if column.name.startswith(CUSTOM)}


def guess_mapping(header: Sequence[str], columns: Sequence[Column], remembered: dict[str, str]) -> list[str]:
    """Return the name of the column that each header means, or "".

    Of custom fields whose labels differ in signs only, such as Budget € and Budget $, it means the one with its text.
    """
    labels, names = labels_of_custom_fields(columns), {column.name for column in columns}
    words = Counter(map(normalize, labels))
    chosen = {text: (-1, name) for text, name in remembered.items() if not name or name in names}
    meanings = find_meanings(columns) | {text: meaning for text, meaning in chosen.items() if words[text] < 2}
    found = [meanings.get(normalize(text)) or labels.get(text.strip().casefold(), (0, "")) for text in header]
    best = {name: min(rank for rank, other in found if other == name) for _, name in found if name}
    mapping: list[str] = []
    for text, (rank, name) in zip(header, found, strict=True):
        is_chosen = name and rank == best[name] and name not in mapping and text != PROBLEM
        mapping.append(name if is_chosen else "")
    return mapping
