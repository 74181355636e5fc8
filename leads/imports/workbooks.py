"""Reads the rows of an untrusted XLSX file.

Only the parts that rows come from are read, and each of them as a stream: nothing else of the archive is unpacked, and
no tree of XML is built. So memory is bounded by the limits below, whatever the archive says of its names and sizes.
Time is bounded by the number of elements: a small file can unpack into many empty ones. docs/decisions/0010 has the
alternative that was tried.
"""

import posixpath
import re
from collections.abc import Callable, Generator, Iterator
from datetime import date, datetime, time, timedelta
from functools import partial
from io import BytesIO
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from openpyxl.styles.numbers import builtin_format_code, is_date_format, is_timedelta_format
from openpyxl.utils.cell import column_index_from_string
from openpyxl.utils.datetime import MAC_EPOCH, WINDOWS_EPOCH, from_excel, from_ISO8601

MEGABYTE = 1024 * 1024
MAX_ROW_NUMBER = 1_048_576  # this and the next three as in Excel
MAX_CELL = 32_767
MAX_FORMAT, MAX_FORMATS = 255, 65_490
MAX_COLUMNS = 200
MAX_PARTS = 1000
# Of what is unpacked: everything, the texts that cells share, which are kept, and each other part but the sheet.
MAX_UNPACKED, MAX_SHARED_STRINGS, MAX_PART = 150 * MEGABYTE, 25 * MEGABYTE, 10 * MEGABYTE
MAX_TEXTS = 200_000  # that cells share: each takes about 60 bytes besides its characters
# What the XML parser keeps: one tag, the open elements, and each name.
MAX_TAG, MAX_DEPTH, MAX_NAMES = MEGABYTE, 100, 10_000
# XML elements of all parts, at a microsecond each: more than fit into 150 MB of cells with text. Then cells and rows
# without text, such as those that only have a format.
MAX_ELEMENTS, MAX_EMPTY = 12_000_000, 2_000_000
CHUNK = 256 * 1024
ENTRY = b"PK\x01\x02"  # with which each entry of an archive's directory begins
DAMAGED = "The Excel file can't be read. Open it in your spreadsheet program and save it again, as .xlsx or CSV."
TOO_LARGE = "The Excel file is too large when it is unpacked. Save it as CSV."
TOO_EMPTY = f"The sheet has more than {MAX_EMPTY:,} empty cells. Delete its empty rows and columns, or save it as CSV."
TOO_MANY_TEXTS = f"The Excel file has more than {MAX_TEXTS:,} different texts. Save it as CSV."
NO_SHEET = "The Excel file has no sheet with cells."
PROTECTED = "The Excel file is protected by a password. Save it without one, or as CSV."
# A control character in the text of a cell, and an underscore that would begin one.
ESCAPED = re.compile("_x00([01][0-9A-F]|5F)_", re.I)

Row = tuple[int, list[str]]  # the number, as spreadsheets count, and the cells
BLANK: Row = (0, [])
Start = Callable[[str, dict[str, str]], object]
End = Callable[[str], object]


class FileRefused(Exception):
    """The file can't be imported; the message says why, to the person who has uploaded it."""


def read_workbook(content: bytes) -> Iterator[Row]:
    """Yield the rows of the first sheet that have text, formulas as their stored value. Raises FileRefused, also late.

    Also yields a blank row after each `CHUNK`, so that the caller can stop. A cell with more than `MAX_CELL` characters
    is cut after one more.
    """
    try:
        yield from Workbook(content).read_rows()
    except (FileRefused, GeneratorExit):
        raise
    except Exception:  # any error that a malicious file can cause
        raise FileRefused(DAMAGED) from None


class Workbook:
    def __init__(self, content: bytes) -> None:
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
        self.unpacked = self.elements = 0
        self.epoch = WINDOWS_EPOCH

    def read_rows(self) -> Iterator[Row]:
        targets = yield from self.relationships("")
        workbook = next(target for type, target in targets.values() if type == "officeDocument")
        sheet_ids: list[str] = []
        yield from self.parse(workbook, partial(self.start_of_workbook, sheet_ids))
        targets = yield from self.relationships(workbook)
        types = dict(targets.values())
        sheets = [targets[id][1] for id in sheet_ids if targets[id][0] == "worksheet"]
        if not sheets:
            raise FileRefused(NO_SHEET)
        strings, styles = SharedStrings(), Styles()
        names = set(self.archive.namelist())  # some programs refer to parts that they don't write
        if types.get("sharedStrings") in names:
            yield from self.parse(types["sharedStrings"], strings.start, strings.end, strings.add, MAX_SHARED_STRINGS)
        if types.get("styles") in names:
            yield from self.parse(types["styles"], styles.start)
        sheet = Sheet(strings.found, styles, self.epoch)
        for blank in self.parse(sheets[0], sheet.start, sheet.end, sheet.add, MAX_UNPACKED):
            yield from sheet.rows
            sheet.rows.clear()
            yield blank

    def start_of_workbook(self, sheet_ids: list[str], name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            sheet_ids.append(next(value for key, value in attributes.items() if key.endswith(":id")))
        elif name == "workbookPr" and attributes.get("date1904") in ("1", "true"):
            self.epoch = MAC_EPOCH

    def relationships(self, part: str) -> Generator[Row, None, dict[str, tuple[str, str]]]:
        """Return the type and name of the parts that a part, or "" the file, refers to, by the id of the reference."""
        folder, name = posixpath.split(part)
        found: dict[str, tuple[str, str]] = {}

        def start(name: str, attributes: dict[str, str]) -> None:
            if name == "Relationship" and attributes.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, attributes["Target"])).lstrip("/")
                found[attributes["Id"]] = (attributes["Type"].rpartition("/")[2], target)

        yield from self.parse(posixpath.join(folder, "_rels", f"{name}.rels"), start)
        return found

    def parse(
        self, part: str, start: Start, end: End = str, text: End | None = None, limit: int = MAX_PART
    ) -> Iterator[Row]:
        """Call the functions for the part's tags and texts; yield a blank row after each chunk. Raises FileRefused."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        depth = size = 0

        def start_element(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth
            depth += 1
            self.elements += 1
            if depth > MAX_DEPTH:
                raise FileRefused(DAMAGED)
            if self.elements > MAX_ELEMENTS:
                raise FileRefused(TOO_LARGE)
            start(name.rpartition(":")[2], attributes)

        def end_element(name: str) -> None:
            nonlocal depth
            depth -= 1
            end(name.rpartition(":")[2])

        def refuse(*_: object) -> None:
            raise FileRefused(DAMAGED)

        parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
        parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, refuse
        with self.archive.open(part) as file:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                self.unpacked += len(chunk)
                if size > limit or self.unpacked > MAX_UNPACKED:
                    raise FileRefused(TOO_LARGE)
                parser.Parse(chunk)
                if size - parser.CurrentByteIndex > MAX_TAG or len(parser.intern) > MAX_NAMES:
                    raise FileRefused(TOO_LARGE)
                yield BLANK
        parser.Parse(b"", True)
        yield BLANK


class TextReader:
    elements: frozenset[str]  # in which text is

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.is_text = self.is_phonetic = False

    def clear(self) -> None:
        self.pieces.clear()
        self.length = 0

    def add(self, text: str) -> None:
        if self.is_text and self.length <= MAX_CELL:
            self.pieces.append(text[: MAX_CELL + 1 - self.length])
            self.length += len(self.pieces[-1])

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "rPh":  # how a word is pronounced is no text
            self.is_phonetic = True
        self.is_text = name in self.elements and not self.is_phonetic

    def end(self, name: str) -> None:
        self.is_text = False
        if name == "rPh":
            self.is_phonetic = False


class SharedStrings(TextReader):
    elements = frozenset({"t"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def end(self, name: str) -> None:
        super().end(name)
        if name == "si":
            if len(self.found) >= MAX_TEXTS:
                raise FileRefused(TOO_MANY_TEXTS)
            self.found.append(unescape("".join(self.pieces)))
            self.clear()


class Styles:
    def __init__(self) -> None:
        self.codes: dict[str, str] = {}
        self.format_ids: list[str] = []
        self.is_inside = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if max(len(self.codes), len(self.format_ids)) > MAX_FORMATS:
            raise FileRefused(TOO_LARGE)
        if name == "xf":
            if self.is_inside:
                self.format_ids.append(attributes.get("numFmtId", "0")[:9])
        elif name == "numFmt":
            self.codes[attributes["numFmtId"][:9]] = attributes["formatCode"][:MAX_FORMAT]
        elif name in ("cellStyleXfs", "cellXfs"):
            self.is_inside = name == "cellXfs"

    def code(self, style: int) -> str | None:
        id = self.format_ids[style]
        return self.codes[id] if id in self.codes else builtin_format_code(int(id))


class Sheet(TextReader):
    """The rows of a sheet that have text; the caller clears `rows` after each chunk."""

    elements = frozenset({"v", "t"})

    def __init__(self, strings: list[str], styles: Styles, epoch: datetime) -> None:
        super().__init__()
        self.strings, self.styles, self.epoch = strings, styles, epoch
        self.rows: list[Row] = []
        self.number = self.column = self.empty = 0
        self.cells: dict[int, str] = {}
        self.attributes: dict[str, str] | None = None  # of the cell that is being read
        self.kinds: dict[int, tuple[bool, bool]] = {}  # whether a style is for dates, and for durations

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            reference = attributes.get("r", "").rstrip("0123456789")
            self.column = column_index_from_string(reference) if reference else self.column + 1
            self.attributes = attributes
            self.clear()
        elif name == "row":
            number = int(float(attributes.get("r", self.number + 1)))
            if not self.number < number <= MAX_ROW_NUMBER:
                raise FileRefused(DAMAGED)
            self.number, self.column = number, 0
            self.cells.clear()
        elif self.attributes is not None:
            super().start(name, attributes)

    def end(self, name: str) -> None:
        super().end(name)
        if name == "c":
            if self.pieces and self.attributes is not None:
                if self.column > MAX_COLUMNS:
                    raise FileRefused(f"Row {self.number} has more than {MAX_COLUMNS} columns.")
                self.cells[self.column] = self.value("".join(self.pieces), self.attributes)
            else:
                self.count_empty()
            self.attributes = None
        elif name == "row":
            if self.cells:
                self.rows.append((self.number, [self.cells.get(index + 1, "") for index in range(max(self.cells))]))
                self.cells.clear()
            else:
                self.count_empty()

    def count_empty(self) -> None:
        self.empty += 1
        if self.empty > MAX_EMPTY:
            raise FileRefused(TOO_EMPTY)

    def value(self, text: str, attributes: dict[str, str]) -> str:
        match attributes.get("t", "n"):
            case "s":
                return self.strings[int(text)]
            case "b":
                return "TRUE" if text.strip() in ("1", "true") else "FALSE"
            case "d":
                return cell_text(from_ISO8601(text))
            case "n":
                return self.number_text(text, int(attributes.get("s", "0")))
        return unescape(text)

    def number_text(self, text: str, style: int) -> str:
        if style not in self.kinds and style < len(self.styles.format_ids):
            code = self.styles.code(style)
            self.kinds[style] = is_date_format(code), is_timedelta_format(code)
        is_date, is_duration = self.kinds.get(style, (False, False))
        number = float(text) if "." in text or "e" in text.lower() else int(text)
        if not is_date:
            return cell_text(number)
        try:
            return cell_text(from_excel(number, self.epoch, timedelta=is_duration))
        except (OverflowError, ValueError):
            return "#VALUE!"


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
