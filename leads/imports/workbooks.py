"""Reads the rows of an untrusted XLSX file.

Only the parts that rows come from are read, and each of them as a stream: nothing else of the archive is unpacked, and
no tree of XML is built. So memory is bounded by the limits below, whatever the archive says of its names and sizes.
Time is bounded by the number of elements: a small file can unpack into many empty ones. docs/decisions/0010 has the
alternative that was tried.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO
from sys import getsizeof
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from django.db import DatabaseError, InterfaceError
from openpyxl.styles.numbers import STRIP_RE, builtin_format_code, is_date_format, is_timedelta_format
from openpyxl.utils.cell import column_index_from_string
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel, from_ISO8601

from leads.imports.limits import MAX_CELL, MAX_COLUMNS, MAX_EMPTY, PROTECTED, FileRefused, Row
from leads.imports.turns import Overtaken
from leads.imports.values import THREE_DIGITS

MEGABYTE = 1024 * 1024
MAX_ROW_NUMBER = 1_048_576  # this and the next two as in Excel
MAX_FORMAT, MAX_FORMATS = 255, 65_490
MAX_PARTS = 1000
# Of what is unpacked: everything, the texts that cells share, which are kept, and each other part but the sheet.
MAX_UNPACKED, MAX_SHARED_STRINGS, MAX_PART = 150 * MEGABYTE, 25 * MEGABYTE, 10 * MEGABYTE
MAX_TEXTS = 200_000  # that cells share
MAX_TEXTS_SIZE = 40 * MEGABYTE  # of these in memory: each takes about 60 bytes, and up to four for each character
# What the XML parser keeps: one tag, the open elements, and each name.
MAX_TAG, MAX_DEPTH, MAX_NAMES = MEGABYTE, 100, 10_000
# XML elements of all parts: more than fit into 150 MB of cells with text. Those beyond `ELEMENTS_OF_A_TEXT` for each
# text are empty, and `MAX_EMPTY` of them take five seconds.
MAX_ELEMENTS, ELEMENTS_OF_A_TEXT = 12_000_000, 20
CHUNK = 64 * 1024  # whose tags are kept as objects, some 50 bytes for each byte
ENTRY = b"PK\x01\x02"  # with which each entry of an archive's directory begins
DAMAGED = "The Excel file can't be read. Open it in your spreadsheet program and save it again, as .xlsx or CSV."
TOO_LARGE = "The Excel file is too large when it is unpacked. Save it as CSV."
TOO_EMPTY = f"The sheet has more than {MAX_EMPTY:,} empty cells. Delete its empty rows and columns, or save it as CSV."
TOO_MANY_TEXTS = f"The Excel file has more than {MAX_TEXTS:,} different texts. Save it as CSV."
NO_SHEET = "The Excel file has no sheet with cells."
# A control character in the text of a cell, and an underscore that would begin one.
ESCAPED = re.compile("_x00([01][0-9A-F]|5F)_", re.I)
HOURS = re.compile(r"(?<![_\\])h", re.I)

Tag = tuple[str, dict[str, str] | None, str]  # the name, a start tag's attributes, and the text before an end tag


def read_workbook(content: bytes, pause: Callable[[], object]) -> Iterator[Row]:
    """Yield the rows with text of the first visible sheet; of formulas the stored value. Raises FileRefused, also late.

    Calls `pause` after each `CHUNK`. A cell with more than `MAX_CELL` characters is cut after one more.
    """
    try:
        yield from Workbook(content, pause).read_rows()
    except (FileRefused, Overtaken, DatabaseError, InterfaceError):  # all but the first are raised by `pause`
        raise
    except Exception:  # any error that a malicious file can cause
        raise FileRefused(DAMAGED) from None


def count_visible(content: bytes) -> int:
    """Return the number of visible sheets of a workbook that `read_workbook` has begun to read."""
    return len(Workbook(content, bool).find_sheets()[0])


class Workbook:
    def __init__(self, content: bytes, pause: Callable[[], object]) -> None:
        if content.count(ENTRY) > MAX_PARTS:
            raise FileRefused(TOO_LARGE)
        self.archive = ZipFile(BytesIO(content))
        entries = self.archive.infolist()
        if any(entry.flag_bits & 1 for entry in entries):
            raise FileRefused(PROTECTED)
        # Others than these take memory as the file wants.
        is_packed_otherwise = any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries)
        if is_packed_otherwise or len({entry.filename for entry in entries}) < len(entries):
            raise FileRefused(DAMAGED)
        self.pause = pause
        self.unpacked = self.elements = self.empty = 0
        self.epoch = WINDOWS_EPOCH
        self.links: dict[str, tuple[str, str]] = {}  # of the workbook, by their ids: types and parts
        self.strings: list[str] = []
        self.strings_size = 0
        self.formats: list[tuple[bool, bool, bool]] = []  # of each style: for dates, durations, with hours

    def read_rows(self) -> Iterator[Row]:
        visible, hidden = self.find_sheets()
        types = dict(self.links.values())
        sheets = [*visible, *hidden]
        if not sheets:
            raise FileRefused(NO_SHEET)
        names = set(self.archive.namelist())  # some programs refer to parts that they don't write
        if types.get("sharedStrings") in names:
            self.read_strings(types["sharedStrings"])
        if types.get("styles") in names:
            self.read_formats(types["styles"])
        yield from self.read_sheet(sheets[0])

    def find_sheets(self) -> tuple[list[str], list[str]]:
        """Return the parts of the visible and of the hidden sheets, such as lists of what a column may have.

        Sets `links` and the epoch.
        """
        workbook = next(target for type, target in self.read_links("").values() if type == "officeDocument")
        visible: list[str] = []
        hidden: list[str] = []
        for name, attributes in self.start_tags(workbook):
            if name == "sheet":
                ids = hidden if attributes.get("state") in ("hidden", "veryHidden") else visible
                ids.append(next(value for key, value in attributes.items() if key.endswith(":id")))
            elif name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
                self.epoch = MAC_EPOCH
        links = self.links = self.read_links(workbook)
        found = [[links[id][1] for id in ids if links[id][0] == "worksheet"] for ids in (visible, hidden)]
        return found[0], found[1]

    def tags(self, part: str, limit: int = MAX_PART) -> Iterator[Tag]:
        """Yield the part's tags, without texts about how a word is pronounced. Raises FileRefused.

        A text is cut after `MAX_CELL` characters, or later.
        """
        parser = expat.ParserCreate()
        parser.buffer_text = True
        tags: list[Tag] = []  # of the present chunk
        text = ""
        depth = size = phonetic = 0

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth, phonetic, text
            name = name.rpartition(":")[2]
            depth, phonetic, text = depth + 1, phonetic + (name == "rPh"), ""
            tags.append((name, attributes, ""))

        def end(name: str) -> None:
            nonlocal depth, phonetic, text
            name = name.rpartition(":")[2]
            tags.append((name, None, text))
            depth, phonetic, text = depth - 1, phonetic - (name == "rPh"), ""

        def add(more: str) -> None:
            nonlocal text
            if len(text) <= MAX_CELL and not phonetic:
                text += more

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = add, refuse
        for chunk in self.chunks(part, limit):
            parser.Parse(chunk)
            size += len(chunk)
            if depth > MAX_DEPTH:
                raise FileRefused(DAMAGED)
            if size - parser.CurrentByteIndex > MAX_TAG or len(parser.intern) > MAX_NAMES:
                raise FileRefused(TOO_LARGE)
            self.elements += len(tags) // 2
            self.empty += len(tags) // 2
            yield from tags
            if self.empty > MAX_EMPTY:
                raise FileRefused(TOO_EMPTY)
            if self.elements > MAX_ELEMENTS:
                raise FileRefused(TOO_LARGE)
            tags.clear()
        parser.Parse(b"", True)
        yield from tags

    def chunks(self, part: str, limit: int) -> Iterator[bytes]:
        size = 0
        with self.archive.open(part) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                self.unpacked += len(chunk)
                if size > limit or self.unpacked > MAX_UNPACKED:
                    raise FileRefused(TOO_LARGE)
                yield chunk
                self.pause()

    def start_tags(self, part: str) -> Iterator[tuple[str, dict[str, str]]]:
        return ((name, attributes) for name, attributes, _ in self.tags(part) if attributes is not None)

    def read_links(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the type and name of the parts that a part, or "" the file, refers to, by the id of the reference."""
        folder, name = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}
        for tag, attributes in self.start_tags(posixpath.join(folder, "_rels", f"{name}.rels")):
            if tag == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes["Target"])).lstrip("/")
                found[attributes["Id"]] = (attributes["Type"].rpartition("/")[2], target)
        return found

    def read_strings(self, part: str) -> None:
        value = ""
        for name, attributes, text in self.tags(part, MAX_SHARED_STRINGS):
            if attributes is not None:
                continue
            if name == "t":
                value += text[: MAX_CELL + 1 - len(value)]
            elif name == "si":
                if len(self.strings) >= MAX_TEXTS:
                    raise FileRefused(TOO_MANY_TEXTS)
                self.strings.append(unescape(value))
                self.strings_size += getsizeof(self.strings[-1])
                if self.strings_size > MAX_TEXTS_SIZE:
                    raise FileRefused(TOO_LARGE)
                value = ""
                self.count_text()

    def read_formats(self, part: str) -> None:
        codes: dict[str, str] = {}
        ids: list[str] = []
        is_inside = False
        for name, attributes in self.start_tags(part):
            if max(len(codes), len(ids)) > MAX_FORMATS:
                raise FileRefused(TOO_LARGE)
            if name == "xf" and is_inside:
                ids.append(attributes.get("numFmtId", "0")[:9])
            elif name == "numFmt":
                codes[attributes["numFmtId"][:9]] = attributes["formatCode"][:MAX_FORMAT]
            elif name in ("cellStyleXfs", "cellXfs"):
                is_inside = name == "cellXfs"
        kinds: dict[str, tuple[bool, bool, bool]] = {}
        for id in ids:
            if id not in kinds:
                self.pause()  # the patterns take a time that is quadratic in the code's length
                code = codes[id] if id in codes else builtin_format_code(int(id))
                kinds[id] = (is_date_format(code), is_timedelta_format(code), has_hours(code))
            self.formats.append(kinds[id])

    def read_sheet(self, part: str) -> Iterator[Row]:
        number = column = 0
        cells: dict[int, str] = {}
        cell: dict[str, str] = {}
        value = ""
        for name, attributes, text in self.tags(part, MAX_UNPACKED):
            if attributes is None:
                if name in ("v", "t"):
                    value += text[: MAX_CELL + 1 - len(value)]
                elif name == "c" and value:
                    if column > MAX_COLUMNS:
                        raise FileRefused(f"Row {number} has more than {MAX_COLUMNS} columns.")
                    cells[column] = self.value(value, cell)
                    self.count_text()
                elif name == "row" and cells:
                    yield number, [cells.get(index + 1, "") for index in range(max(cells))]
            elif name == "c":
                reference = attributes.get("r", "").rstrip("0123456789")
                column = column_index_from_string(reference) if reference else column + 1
                cell, value = attributes, ""
            elif name == "row":
                number, column, cells = next_number(attributes, number), 0, {}

    def count_text(self) -> None:
        self.empty = max(0, self.empty - ELEMENTS_OF_A_TEXT)

    def value(self, text: str, attributes: dict[str, str]) -> str:
        match attributes.get("t", "n"):
            case "s":
                return self.strings[int(text)]
            case "b":
                return "TRUE" if text.strip() in ("1", "true") else "FALSE"
            case "d":
                return cell_text(day_or_time(from_ISO8601(text), self.format_of(attributes)[2]))
            case "n":
                return self.number_text(text, self.format_of(attributes))
        return unescape(text)

    def format_of(self, attributes: dict[str, str]) -> tuple[bool, bool, bool]:
        style = int(attributes.get("s", "0"))
        return self.formats[style] if style < len(self.formats) else (False, False, False)

    def number_text(self, text: str, style: tuple[bool, bool, bool]) -> str:
        is_date, is_duration, shows_hours = style
        number = float(text) if "." in text or "e" in text.lower() else int(text)
        if not is_date:
            digits = cell_text(number)
            # So that it differs from a text, which can mean one thousand five hundred.
            return f"{digits}0" if THREE_DIGITS.fullmatch(digits) else digits
        try:
            return cell_text(day_or_time(from_excel(number, self.epoch, timedelta=is_duration), shows_hours))
        except (OverflowError, ValueError):
            return "#VALUE!"


def day_or_time(value: object, shows_hours: bool) -> object:
    """Return the day instead of its midnight if the cell doesn't show hours."""
    if isinstance(value, datetime) and not shows_hours and value.time() == time():
        return value.date()
    return value


def has_hours(code: str) -> bool:
    """Return whether a date format shows hours: an h that is no language and no text."""
    return HOURS.search(STRIP_RE.sub("", code.partition(";")[0])) is not None


def next_number(row: dict[str, str], previous: int) -> int:
    number = int(float(row.get("r", previous + 1)))
    if not previous < number <= MAX_ROW_NUMBER:
        raise FileRefused(DAMAGED)
    return number


def refuse(*_: object) -> None:
    raise FileRefused(DAMAGED)


def unescape(text: str) -> str:
    return ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x00" in text else text


def cell_text(value: object) -> str:
    if isinstance(value, datetime):
        # Spreadsheets store times as fractions of a day.
        return (value + timedelta(microseconds=500)).isoformat(sep=" ", timespec="milliseconds").removesuffix(".000")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
