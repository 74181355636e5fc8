"""Files as people have them, and files that somebody has made to do harm."""

import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest
from django.test import Client

from leads.imports import files
from leads.imports.models import Import, ImportRow
from leads.models import Lead
from organizations.models import Organization
from tests.imports.files import Page, csv_file, upload, workbook

ROWS = [["E-mail", "First name"], ["a@example.com", "Zoë, née Ü"], ["b@example.com", "two\nlines"]]


READABLE_FILES = {
    "utf-8": lambda: csv_file(*ROWS),
    "semicolons": lambda: csv_file(*ROWS, encoding="utf-8-sig", delimiter=";"),
    "utf-16, tabs": lambda: csv_file(*ROWS, encoding="utf-16", delimiter="\t"),
    "windows-1252": lambda: csv_file(*ROWS, encoding="windows-1252", delimiter=";"),
    "blank lines": lambda: csv_file([], *ROWS, [], ["", " "]).replace(b"\r\n", b"\n"),
    "xlsx": lambda: workbook([], *ROWS, [None, None]),
}


@pytest.mark.parametrize("name", READABLE_FILES)
def test_a_file_is_read_whatever_its_encoding_and_separator(mia: Client, organization: Organization, name: str) -> None:
    Page(mia, organization, READABLE_FILES[name]()).run()

    names = dict(Lead.objects.of(organization).values_list("email", "first_name"))
    assert names == {"a@example.com": "Zoë, née Ü", "b@example.com": "two\nlines"}


def test_the_numbers_of_rows_are_those_of_the_spreadsheet(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, workbook([], ["E-mail"], ["a@example.com"], [], ["x"]))

    page.check()

    assert [(number, verdict) for number, verdict, _ in page.report()] == [(3, "NEW"), (5, "REFUSED")]


def test_values_of_a_workbook_are_those_that_people_see(mia: Client, organization: Organization) -> None:
    page = Page(
        mia,
        organization,
        workbook(["E-mail", "Phone", "First name", "Last name"], ["a@example.com", 14155552671, True, 3.0]),
    )

    assert ImportRow.objects.of(organization).get().cells == ["a@example.com", "14155552671", "TRUE", "3"]
    assert page.row.total == 1


def zip_of(parts: dict[str, bytes]) -> bytes:
    """Return a ZIP file, compressed."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return content.getvalue()


def with_sheet(sheet: bytes) -> bytes:
    """Return a workbook with this XML as its sheet."""
    with zipfile.ZipFile(BytesIO(workbook(["E-mail"], ["a@example.com"]))) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    return zip_of(parts | {"xl/worksheets/sheet1.xml": sheet})


MEGABYTE = 1024 * 1024
SHEET = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + SHEET % b"&b;"
FAR_ROW = SHEET % b'<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>'
WIDE_ROW = SHEET.replace(b"%s", b'<row r="1">%s</row>')
TOO_LARGE = "The Excel file is too large when it is unpacked. Save it as CSV."
# What is made only by its test, because it takes a while, and why it is refused.
REFUSED_FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"\n \n", "The file is empty."),
    "header only": (lambda: b"email\n\n", "The file has a header, but no rows below it."),
    "empty workbook": (workbook, "The file is empty."),
    "picture": (lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", files.NOT_TEXT),
    "broken UTF-16": (lambda: b"\xff\xfe\0\xd8\n", files.NOT_TEXT),
    "old Excel": (
        lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "This is a workbook of an old Excel (.xls). Save it as .xlsx or CSV.",
    ),
    "no ZIP file": (lambda: b"PK\x03\x04 not a ZIP file", files.DAMAGED),
    "no workbook": (lambda: zip_of({"word/document.xml": b"<x/>"}), files.DAMAGED),
    "broken XML": (lambda: with_sheet(b"<not closed"), files.DAMAGED),
    "entities": (lambda: with_sheet(ENTITIES), files.DAMAGED),
    "far row": (lambda: with_sheet(FAR_ROW), "The file is empty."),
    "wide row": (lambda: with_sheet(WIDE_ROW % (b"<c/>" * 1_000_000)), TOO_LARGE),
    "bomb of parts": (lambda: zip_of({f"part{number}": bytes(20 * MEGABYTE) for number in range(8)}), TOO_LARGE),
    "bomb of strings": (lambda: zip_of({"xl/sharedStrings.xml": bytes(26 * MEGABYTE)}), TOO_LARGE),
    "201 columns": (lambda: b"email" + b",x" * 200 + b"\na@example.com", "Row 1 has more than 200 columns."),
    "1,000 columns": (lambda: workbook([*range(1000)], ["a"]), "Row 1 has more than 200 columns."),
    "long cell": (lambda: b"email\n" + b"x" * 40_000, "Row 2 has a cell with more than 32,767 characters."),
    "open quotation": (
        lambda: b'email\na@example.com,"' + b"x\n" * 100_000,
        "The row at line 65538 has a cell that is too long. Is a quotation mark missing?",
    ),
}


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_a_file_that_cannot_be_imported_is_refused_with_the_reason(
    mia: Client, organization: Organization, name: str
) -> None:
    make, problem = REFUSED_FILES[name]

    page = Page(mia, organization, make())

    assert (page.row.state, page.row.problem, page.row.file) == ("FAILED", problem, None)
    assert problem in page.get().content.decode().replace("&#x27;", "'")
    assert not ImportRow.objects.of(organization).exists()


def test_a_file_with_too_many_rows_is_refused_and_leaves_none(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_ROWS", 2500)

    page = Page(mia, organization, csv_file(["email"], *([f"{number}@example.com"] for number in range(2501))))

    assert page.row.problem == "The file has more than 2,500 rows. Split it into several files."
    assert not ImportRow.objects.of(organization).exists()


def test_a_file_that_is_too_large_is_refused_by_the_form(
    mia: Client, organization: Organization, settings: object
) -> None:
    settings.IMPORT_LIMIT = 1024 * 1024  # type: ignore[attr-defined]

    response = upload(mia, b"x" * (1024 * 1024 + 1))

    assert response.context["adminform"].form.errors == {"upload": ["The file is larger than 1 MB. Split it."]}
    assert not Import.objects.of(organization).exists()


def test_texts_of_a_file_are_shown_as_text(mia: Client, organization: Organization) -> None:
    script = "<script>alert(1)</script>"
    page = Page(mia, organization, csv_file([script, "email"], [script, script]), name=f"{script}.csv")

    columns = page.get().content.decode()
    page.check()
    report = page.get().content.decode()

    assert script not in columns + report
    assert "&lt;script&gt;" in columns
    assert "&lt;script&gt;" in report
