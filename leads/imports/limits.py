"""What CSV files and Excel workbooks have in common."""

MAX_COLUMNS = 200
MAX_CELL = 32_767  # characters, as in Excel
MAX_EMPTY = 2_000_000  # cells and rows without text, such as those that only have a format
PROTECTED = "The Excel file is protected by a password. Save it without one, or as CSV."

Row = tuple[int, list[str]]  # the number, as spreadsheets count, and the cells


class FileRefused(Exception):
    """The file can't be imported; the message says why, to the person who has uploaded it."""
