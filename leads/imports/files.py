"""The rows of an uploaded CSV or XLSX file. Every limit is checked before the memory that it protects is used."""

import csv
import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO, StringIO, TextIOWrapper

from leads.imports.importers import MAX_HEADER
from leads.imports.limits import MAX_CELL, MAX_COLUMNS, MAX_EMPTY, PROTECTED, FileRefused, Row

MAX_ROWS = 100_000
# Of the texts together. In an XLSX file many cells may share a text, so that the rows are larger than the file.
MAX_ROW_TEXT, MAX_TEXT = 100_000, 100_000_000
# Characters of a row in a CSV file, with its quotation marks and separators: few enough to split it in one call.
MAX_CSV_ROW = 4 * MAX_ROW_TEXT
PART = 64 * 1024  # bytes that are decoded at a time
END = "\ue000end of the file\ue000"  # a line after the last one
ODD_QUOTES = "has a quotation mark that is not closed, or one inside quoted text that is not doubled."
DELIMITERS = ",;\t|"
SEPARATOR_LINE = re.compile(rf"sep=([{DELIMITERS}])(?:\r\n?|\n)", re.I)
BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
GUESSED_ENCODING = "windows-1252"  # if nothing says which encoding a file is in
NOT_TEXT = "This is neither an Excel workbook (.xlsx) nor a CSV file that can be read. Save it as “CSV UTF-8”."
OLD_EXCEL = "This is a workbook of an old Excel (.xls). Save it as .xlsx or CSV."


def find_format(content: bytes) -> tuple[str, str]:
    """Return "xlsx" and "", or the separator and the encoding of a CSV file. Raises FileRefused."""
    if is_workbook(content):
        return "xlsx", ""
    encoding = find_encoding(content)
    return find_delimiter(beginning(content, encoding)), encoding


def is_workbook(content: bytes) -> bool:
    return content.startswith(b"PK\x03\x04")


def read_rows(content: bytes, pause: Callable[[], object] = bool) -> Iterator[Row]:
    """Yield the rows that have text, the header with shortened cells first. Raises FileRefused, also after some rows.

    Calls `pause` often, even while there are no rows to yield; an exception that it raises ends the reading.
    """
    count = size = blank = 0
    for number, cells in read_cells(content, pause):
        pause()
        row = [cell.replace("\0", "") for cell in cells]
        while row and not row[-1].strip():
            row.pop()
        if not row:
            blank += 1
            if blank > MAX_EMPTY:
                raise FileRefused(f"The file has more than {MAX_EMPTY:,} blank rows. Delete them.")
            continue
        check_row(number, row)
        count, size = count + 1, size + sum(map(len, row))
        if size > MAX_TEXT:
            raise FileRefused(f"The file has more than {MAX_TEXT:,} characters. Split it into several files.")
        if count > MAX_ROWS + 1:
            raise FileRefused(f"The file has more than {MAX_ROWS:,} rows. Split it into several files.")
        yield number, row if count > 1 else [cell.strip()[:MAX_HEADER] for cell in row]
    if count < 2:
        raise FileRefused("The file has a header, but no rows below it." if count else "The file is empty.")


def read_cells(content: bytes, pause: Callable[[], object]) -> Iterator[Row]:
    if not is_workbook(content):
        return read_csv(content)
    from leads.imports.workbooks import read_workbook  # noqa: PLC0415  # openpyxl is slow to import

    return read_workbook(content, pause)


def count_other_sheets(content: bytes) -> int:
    """Return how many sheets of a file that can be read are not, because only the first visible one is."""
    if not is_workbook(content):
        return 0
    from leads.imports.workbooks import count_visible  # noqa: PLC0415  # as above

    return max(count_visible(content) - 1, 0)


def check_row(number: int, row: Sequence[str]) -> None:
    if len(row) > MAX_COLUMNS:
        raise FileRefused(f"Row {number} has more than {MAX_COLUMNS} columns.")
    if any(len(cell) > MAX_CELL for cell in row):
        raise FileRefused(f"Row {number} has a cell with more than {MAX_CELL:,} characters.")
    if sum(map(len, row)) > MAX_ROW_TEXT:
        raise FileRefused(f"Row {number} has more than {MAX_ROW_TEXT:,} characters.")


# --- CSV


def read_csv(content: bytes) -> Iterator[Row]:
    """Raise FileRefused for a row of `MAX_CSV_ROW` characters or more, before it is split, and for `ODD_QUOTES`."""
    encoding = find_encoding(content)
    first_lines = beginning(content, encoding)
    delimiter = find_delimiter(first_lines)
    # As a stream: the whole text could take four bytes for each of the file's. Universal line ends are left to the
    # reader, because a cell may have its own.
    file = TextIOWrapper(BytesIO(content), encoding, newline="")
    if match := SEPARATOR_LINE.match(first_lines):
        file.read(match.end())  # no row of a spreadsheet
    length = 0  # of the present row

    def lines() -> Iterator[str]:
        nonlocal length
        for number, line in enumerate(iter(partial(file.readline, MAX_CSV_ROW), ""), 1):
            length += len(line)
            if length >= MAX_CSV_ROW:
                raise FileRefused(f"The row at line {number} has {MAX_CSV_ROW:,} characters or more.")
            yield line
        # A row of its own, unless a quotation mark is open: then it is in the last cell, as all lines since are.
        yield END

    # Strict: text after a closing quotation mark is an error. Else \" would end the cell, and an open mark would take
    # the next rows into its cell.
    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    first_line = 1
    try:
        for number, cells in enumerate(reader, 1):
            if cells == [END]:
                return
            if cells and cells[-1].endswith(END):
                raise FileRefused(f"The row at line {first_line} {ODD_QUOTES}")
            yield number, cells
            length, first_line = 0, reader.line_num + 1
    except csv.Error as error:
        if "field larger" not in str(error):
            raise FileRefused(f"The row at line {first_line} {ODD_QUOTES}") from None
        problem = "has a cell that is too long. Is a quotation mark missing?"
        raise FileRefused(f"The row at line {reader.line_num} {problem}") from None


def find_encoding(content: bytes) -> str:
    """Return the encoding of a text: that of its mark, else UTF-8, else the guessed one. Raises FileRefused."""
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileRefused(PROTECTED if "EncryptedPackage".encode("utf-16-le") in content else OLD_EXCEL)
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)
    for encoding in [marked] if marked else ["utf-8", GUESSED_ENCODING]:
        line = 1
        try:
            for text in decode(content, encoding):
                if "\0" in text:
                    raise FileRefused(NOT_TEXT)
                line += text.count("\n")
            return encoding
        except UnicodeDecodeError as error:
            if encoding == "utf-8" and has_utf8_letters(content):
                line += error.object.count(b"\n", 0, error.start)
                problem = f"Line {line} has a letter that is not UTF-8, as the rest of the file is. Correct it first."
                raise FileRefused(problem) from None
    raise FileRefused(NOT_TEXT)


def decode(content: bytes, encoding: str, errors: str = "strict") -> Iterator[str]:
    """Yield the text in parts."""
    decoder = getincrementaldecoder(encoding)(errors)
    for start in range(0, len(content), PART):
        yield decoder.decode(content[start : start + PART], start + PART >= len(content))


def beginning(content: bytes, encoding: str) -> str:
    """Return the text's first row, which can have `MAX_CSV_ROW` characters, and what follows."""
    text = ""
    for part in decode(content, encoding):
        text += part
        if len(text) > MAX_CSV_ROW:
            break
    return text


def has_utf8_letters(content: bytes) -> bool:
    """Return whether more letters beyond ASCII are UTF-8 than are not: the file isn't in another encoding."""
    letters = damaged = 0
    for text in decode(content, "utf-8", "replace"):
        letters += len(text) - len(text.encode("ascii", "ignore"))
        damaged += text.count("\ufffd")
    return damaged * 2 < letters


def find_delimiter(text: str) -> str:
    """Return what the first line says, as Excel writes it, or else what separates the first row into most cells."""
    if match := SEPARATOR_LINE.match(text):
        return match[1]
    # Not csv.Sniffer, which takes letters for separators, and takes time that grows with the square of a quoted text.
    header = text[:MAX_CSV_ROW].lstrip()[:MAX_CELL]
    return max(
        DELIMITERS, key=lambda delimiter: len(next(csv.reader(StringIO(header, newline=""), delimiter=delimiter), []))
    )
