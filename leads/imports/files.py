"""The rows of an uploaded CSV or XLSX file. Every limit is checked before the memory that it protects is used."""

import csv
import re
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from io import BytesIO, StringIO
from itertools import islice
from zipfile import ZipFile

from openpyxl import load_workbook

MAX_ROWS = 100_000
MAX_COLUMNS = 200
MAX_CELL = 32_767  # as in Excel
MAX_SHEET_ROWS = 1_048_576  # as in Excel
# Of an XLSX file, decompressed. A library that parses it keeps all of the shared strings, and one row, in memory.
MAX_DECOMPRESSED = 150 * 1024 * 1024
MAX_SHARED_STRINGS = 25 * 1024 * 1024
MAX_ROW_BYTES = 2 * 1024 * 1024
MAX_PARTS = 1000
CHUNK = 256 * 1024
ROW_TAG = re.compile(rb"<(?:\w+:)?row\b")
DELIMITERS = ",;\t|"
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
NOT_TEXT = "This is neither a CSV file nor an Excel workbook (.xlsx)."
DAMAGED = "The Excel file can't be read. Open it in your spreadsheet program and save it again, as .xlsx or CSV."

Row = tuple[int, list[str]]  # the number, as spreadsheets count, and the cells


class FileRefused(Exception):
    """The file can't be imported; the message says why, to the person who has uploaded it."""


def read_rows(content: bytes) -> Iterator[Row]:
    """Yield the rows that have text, the header first. Raises FileRefused, also after some rows."""
    is_workbook = content.startswith(b"PK\x03\x04")
    count = 0
    for number, cells in read_workbook(content) if is_workbook else read_csv(content):
        row = [cell.replace("\0", "") for cell in cells]
        while row and not row[-1].strip():
            row.pop()
        if not row:
            continue
        if len(row) > MAX_COLUMNS:
            raise FileRefused(f"Row {number} has more than {MAX_COLUMNS} columns.")
        if any(len(cell) > MAX_CELL for cell in row):
            raise FileRefused(f"Row {number} has a cell with more than {MAX_CELL:,} characters.")
        count += 1
        if count > MAX_ROWS + 1:
            raise FileRefused(f"The file has more than {MAX_ROWS:,} rows. Split it into several files.")
        yield number, row
    if count < 2:
        raise FileRefused("The file has a header, but no rows below it." if count else "The file is empty.")


# --- CSV


def read_csv(content: bytes) -> Iterator[Row]:
    """Yield the rows of a text file, whose encoding and separator are found out."""
    text = decode(content)
    # Universal line ends are left to the reader, because a cell may have its own.
    reader = csv.reader(StringIO(text, newline=""), delimiter=find_delimiter(text))
    try:
        yield from enumerate(reader, 1)
    except csv.Error:
        problem = "has a cell that is too long. Is a quotation mark missing?"
        raise FileRefused(f"The row at line {reader.line_num} {problem}") from None


def decode(content: bytes) -> str:
    """Return the text: UTF-8 or UTF-16 by its mark, else UTF-8, else Windows-1252. Raises FileRefused."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileRefused("This is a workbook of an old Excel (.xls). Save it as .xlsx or CSV.")
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)
    for encoding in [marked] if marked else ["utf-8", "windows-1252"]:
        try:
            text = content.decode(encoding)
        except UnicodeError:
            continue
        if "\0" not in text:
            return text
        break
    raise FileRefused(NOT_TEXT)


def find_delimiter(text: str) -> str:
    """Return the separator that splits the header into most cells: a comma if none does."""
    # Not csv.Sniffer, which takes letters for separators, and takes time that grows with the square of a quoted text.
    header = next((line for line in text[:CHUNK].splitlines() if line.strip()), "")
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader([header[:MAX_CELL]], delimiter=delimiter), [])))


# --- XLSX


def read_workbook(content: bytes) -> Iterator[Row]:
    """Yield the rows of the first sheet. Of a formula it is the value that the file has stored."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            check_archive(archive)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what the library doesn't keep, such as conditional formats
            workbook = load_workbook(BytesIO(content), read_only=True, data_only=True, keep_links=False)
            if not workbook.worksheets:
                raise FileRefused("The Excel file has no sheet with cells.")
            sheet = workbook.worksheets[0]
            sheet.reset_dimensions()  # what the file says of its size may be wrong
            rows = sheet.iter_rows(max_col=MAX_COLUMNS + 1, values_only=True)
            blank: tuple[object, ...] | None = None
            for number, values in enumerate(islice(rows, MAX_SHEET_ROWS), 1):
                # For a million rows that a file leaves out, the library returns the same tuple each time.
                if values is not blank:
                    yield number, [cell_text(value) for value in values]
                    blank = values
    except (FileRefused, GeneratorExit):
        raise
    except Exception:  # whatever a parser raises for a file that somebody has made to break it
        raise FileRefused(DAMAGED) from None


def check_archive(archive: ZipFile) -> None:
    """Raise FileRefused if the file would take too much memory. Nothing reads more of a part than its stated size."""
    parts = archive.infolist()
    too_large = FileRefused("The Excel file is too large when it is unpacked. Save it as CSV.")
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_DECOMPRESSED:
        raise too_large
    for part in parts:
        is_sheet = "worksheets/" in part.filename
        if not is_sheet and part.file_size > MAX_SHARED_STRINGS:
            raise too_large
        if not is_sheet or part.file_size <= MAX_ROW_BYTES:
            continue
        size = 0
        with archive.open(part) as file:
            while chunk := file.read(CHUNK):
                first, *others = ROW_TAG.split(chunk)
                size = len(others[-1]) if others else size + len(first)
                if size > MAX_ROW_BYTES:
                    raise too_large


def cell_text(value: object) -> str:
    """Return a cell's value as the text that a CSV file would have."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime):
        # Spreadsheets store times as fractions of a day.
        return (value + timedelta(microseconds=500)).isoformat(sep=" ", timespec="milliseconds").removesuffix(".000")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
