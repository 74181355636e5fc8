"""Files as people have them, and files that somebody has made to do harm."""

import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest
from django.test import Client
from openpyxl import Workbook

from leads.imports import files, workbooks
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


@pytest.mark.parametrize(
    ("content", "delimiter", "rows"),
    [
        (
            '"E-mail\n(private)";"First name"\na@x.example;Ada\n',
            ";",
            [["E-mail\n(private)", "First name"], ["a@x.example", "Ada"]],
        ),
        ('\n\n"Name, first";E-mail\nAda;a@x.example\n', ";", [["Name, first", "E-mail"], ["Ada", "a@x.example"]]),
        (
            'E-mail;X;"Notes, texts\nand, more"\na@x.example;x;y\n',
            ";",
            [["E-mail", "X", "Notes, texts\nand, more"], ["a@x.example", "x", "y"]],
        ),
        ("sep=;\r\nE-mail;a,b,c\r\na@x.example;1\r\n", ";", [["E-mail", "a,b,c"], ["a@x.example", "1"]]),
        ("sep=?\nx\n", ",", [["sep=?"], ["x"]]),
        ('"' + "x" * 200 + "\ny\n", ",", None),
    ],
)
def test_the_separator_is_that_of_the_first_row(content: str, delimiter: str, rows: list[list[str]] | None) -> None:
    assert files.find_format(content.encode()) == (delimiter, "utf-8")
    if rows:
        assert [cells for _, cells in files.read_rows(content.encode())] == rows


@pytest.mark.parametrize("name", READABLE_FILES)
def test_a_file_is_read_whatever_its_encoding_and_separator(mia: Client, organization: Organization, name: str) -> None:
    Page(mia, organization, READABLE_FILES[name]()).run()

    names = dict(Lead.objects.of(organization).values_list("email", "first_name"))
    assert names == {"a@example.com": "Zoë, née Ü", "b@example.com": "two\nlines"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_page_names_no_encoding_that_the_file_itself_says(
    mia: Client, organization: Organization, encoding: str
) -> None:
    page = Page(mia, organization, csv_file(*ROWS, encoding=encoding))

    assert "Windows-1252" not in page.get().text


def test_people_are_told_until_the_rows_are_imported_that_the_encoding_of_a_file_is_a_guess(
    mia: Client, organization: Organization
) -> None:
    page = Page(
        mia, organization, csv_file(["E-mail", "First name"], ["a@example.com", "Jiří"], encoding="windows-1250")
    )
    told = "The file isn’t UTF-8. It is read as Windows-1252"

    assert told in page.get().text
    page.check()
    assert told in page.get().text
    page.press("start")
    assert told not in page.get().text


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


def archive(parts: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a ZIP file, compressed."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", method, compresslevel=1) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return content.getvalue()


def parts_of(content: bytes) -> dict[str, bytes]:
    """Return the parts of a ZIP file by name."""
    with zipfile.ZipFile(BytesIO(content)) as file:
        return {info.filename: file.read(info) for info in file.infolist()}


SHEET = "xl/worksheets/sheet1.xml"
LINKS = "xl/_rels/workbook.xml.rels"
STRINGS_LINK = b'<Relationship Type="http://x/sharedStrings" Target="%s" Id="rId9"/></Relationships>'


def changed_workbook(changes: dict[str, bytes], *, strings: str = "") -> bytes:
    """Return a workbook of which parts are replaced, with the texts that cells share in the part `strings`."""
    parts = parts_of(workbook(["E-mail"], ["a@example.com"])) | changes
    if strings:
        link = STRINGS_LINK % strings.removeprefix("xl/").encode()
        parts[LINKS] = parts[LINKS].replace(b"</Relationships>", link)
    return archive(parts)


def sheet(rows: bytes) -> bytes:
    """Return the XML of a sheet."""
    return b"<worksheet><sheetData>%s</sheetData></worksheet>" % rows


def with_sheet(rows: bytes) -> bytes:
    """Return a workbook with these rows."""
    return changed_workbook({SHEET: sheet(rows)})


def twice(name: str) -> bytes:
    """Return a workbook that has a part twice."""
    content = BytesIO(workbook(["E-mail"], ["a@example.com"]))
    with zipfile.ZipFile(content, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr(name, sheet(b""))
    return content.getvalue()


def with_header_bytes(content: bytes, name: str, offset: int, value: bytes) -> bytes:
    """Return a ZIP file with other bytes in the entry of its directory that has this name."""
    at = content.rindex(name.encode()) - 46 + offset
    return content[:at] + value + content[at + len(value) :]


def lying(size: int) -> bytes:
    """Return a workbook whose directory states another size of the unpacked sheet."""
    return with_header_bytes(workbook(["E-mail"], ["a@example.com"]), SHEET, 24, size.to_bytes(4, "little"))


def encrypted() -> bytes:
    """Return a workbook whose directory says that a part is encrypted."""
    return with_header_bytes(workbook(["E-mail"], ["a@example.com"]), SHEET, 8, b"\1")


MEGABYTE = 1024 * 1024
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>' + sheet(b'<row><c t="str"><v>&b;</v></c></row>')
BLANKS = b" " * 26 * MEGABYTE
# What is made only by its test, because it takes a while, and why it is refused.
REFUSED_FILES: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"\n \n", "The file is empty."),
    "header only": (lambda: b"email\n\n", "The file has a header, but no rows below it."),
    "empty workbook": (workbook, "The file is empty."),
    "picture": (lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", files.NOT_TEXT),
    "letter that Windows-1252 lacks": (lambda: b"email\n\x9dena\n", files.NOT_TEXT),
    "broken UTF-16": (lambda: b"\xff\xfe\0\xd8\n", files.NOT_TEXT),
    "old Excel": (lambda: OLE, files.OLD_EXCEL),
    "Excel with a password": (lambda: OLE + "EncryptedPackage".encode("utf-16-le"), workbooks.PROTECTED),
    "no ZIP file": (lambda: b"PK\x03\x04 not a ZIP file", workbooks.DAMAGED),
    "empty ZIP file": (lambda: archive({}), files.NOT_TEXT),
    "cut ZIP file": (lambda: workbook(["E-mail"], ["a@example.com"])[:-500], workbooks.DAMAGED),
    "no workbook": (lambda: archive({"word/document.xml": b"<x/>"}), workbooks.DAMAGED),
    "no sheet": (lambda: changed_workbook({"xl/workbook.xml": b"<workbook/>"}), workbooks.NO_SHEET),
    "encrypted part": (encrypted, workbooks.PROTECTED),
    "part twice": (lambda: twice(SHEET), workbooks.DAMAGED),
    "stated too small": (lambda: lying(100), workbooks.DAMAGED),
    "other compression": (
        lambda: archive(parts_of(workbook(["E-mail"], ["a@example.com"])), zipfile.ZIP_LZMA),
        workbooks.DAMAGED,
    ),
    "many parts": (lambda: archive({f"xl/{'a/' * 50}{number}": b"" for number in range(1001)}), workbooks.TOO_LARGE),
    "broken XML": (lambda: changed_workbook({SHEET: b"<not closed"}), workbooks.DAMAGED),
    "entities": (lambda: changed_workbook({SHEET: ENTITIES}), workbooks.DAMAGED),
    "entity of a file": (
        lambda: changed_workbook({SHEET: b'<!DOCTYPE x SYSTEM "file:///etc/passwd">' + sheet(b"")}),
        workbooks.DAMAGED,
    ),
    "deep XML": (lambda: changed_workbook({SHEET: b"<a>" * 101}), workbooks.DAMAGED),
    "far row": (lambda: with_sheet(b'<row r="99999999999"><c r="A99999999999"><v>1</v></c></row>'), workbooks.DAMAGED),
    "row twice": (lambda: with_sheet(b'<row r="1"><c><v>1</v></c></row>' * 2), workbooks.DAMAGED),
    "wide row": (
        lambda: with_sheet(b"<row>%s</row>" % (b"<c><v>1</v></c>" * 1000)),
        "Row 1 has more than 200 columns.",
    ),
    "unknown text": (lambda: with_sheet(b'<row><c t="s"><v>7</v></c></row>'), workbooks.DAMAGED),
    # Whatever the part is called.
    "bomb of texts": (
        lambda: changed_workbook({"xl/worksheets/a.xml": b"<sst>" + BLANKS}, strings="xl/worksheets/a.xml"),
        workbooks.TOO_LARGE,
    ),
    "bomb of styles": (lambda: changed_workbook({"xl/styles.xml": b"<a>" + BLANKS}), workbooks.TOO_LARGE),
    "long row": (
        lambda: csv_file(["email"] * 4, ["x" * 30_000] * 4),
        "Row 2 has more than 100,000 characters.",
    ),
    "201 columns": (lambda: b"email" + b",x" * 200 + b"\na@example.com", "Row 1 has more than 200 columns."),
    "1,000 columns": (lambda: workbook([*range(1000)], ["a"]), "Row 1 has more than 200 columns."),
    "long cell": (lambda: b"email\n" + b"x" * 40_000, "Row 2 has a cell with more than 32,767 characters."),
    "open quotation in a small file": (
        lambda: b'email,note\na@example.com,b\nc@example.com,"wants call\nd@example.com,e\n',
        "The row at line 3 has a quotation mark that is not closed, or one inside quoted text that is not doubled.",
    ),
    "two open quotations": (
        lambda: b'email,note\na@example.com,b\nc@example.com,"wants\nd@example.com,e\nf@example.com,"no\n',
        "The row at line 3 has a quotation mark that is not closed, or one inside quoted text that is not doubled.",
    ),
    "quotation marks with backslashes": (
        lambda: b'email,note,phone\na@example.com,"said \\"hi, you\\"",+4930123456\n',
        "The row at line 2 has a quotation mark that is not closed, or one inside quoted text that is not doubled.",
    ),
    "a broken letter": (
        lambda: "email,name\na@example.com,Jürgen Müller\nb@example.com,Ren".encode() + b"\xc3\n",
        "Line 3 has a letter that is not UTF-8, as the rest of the file is. Correct it first.",
    ),
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


NOTE = b"a@b.example," + b"x" * 100 + b"\n"
MANY_TEXTS = "".join(f"<si><t>{'x' * 100}\U0001f600{number}</t></si>" for number in range(190_000)).encode()
SHARED = b'<row><c t="s"><v>0</v></c></row>'
# Workbooks of 1 to 5 MB unpacked, of which a library that builds trees would make 10 to 200 MB.
GREEDY_FILES: dict[str, Callable[[], bytes]] = {
    "letters of another encoding": lambda: b"email\n" + (b"\xfc" * 30_000 + b"\n") * 30,
    # A text with one such letter takes four bytes for each.
    "one letter beyond the others": lambda: "email,note\na@b.example,\U0001f600\n".encode() + NOTE * 90_000,
    "stated size": lambda: lying(2**31),
    "rows": lambda: with_sheet(b"<row/>" * 150_000),
    "cells of a row": lambda: with_sheet(b"<row>%s</row>" % (b"<c/>" * 200_000)),
    "rows in comments": lambda: with_sheet(b"<row>%s</row>" % ((b"<c/>" * 1000 + b"<!--<row-->") * 200)),
    "names": lambda: with_sheet(b"".join(b"<a%d/>" % number for number in range(100_000))),
    "one tag": lambda: with_sheet(b'<row a="%s"/>' % (b"x" * 5 * MEGABYTE)),
    "one comment": lambda: with_sheet(b"<!--%s-->" % (b"x" * 5 * MEGABYTE)),
    "one text": lambda: with_sheet(b'<row><c t="str"><v>%s</v></c></row>' % (b"x" * 5 * MEGABYTE)),
    "formats": lambda: changed_workbook({"xl/styles.xml": b"<a><cellXfs>%s</cellXfs></a>" % (b"<xf/>" * 100_000)}),
    "fonts": lambda: changed_workbook({"xl/styles.xml": b"<a><fonts>%s</fonts></a>" % (b"<font/>" * 150_000)}),
    "one text in many rows": lambda: changed_workbook(
        {"xl/a.xml": b"<sst><si><t>%s</t></si></sst>" % (b"x" * 32_767), SHEET: sheet(SHARED * 20_000)},
        strings="xl/a.xml",
    ),
    "parts that nothing refers to": lambda: changed_workbook(
        {f"xl/worksheets/sheet{number}.xml": BLANKS for number in range(2, 9)}
    ),
}


def peak_of_reading(content: bytes) -> int:
    """Return how many bytes are allocated at most while the file is read."""
    tracemalloc.start()
    try:
        for _ in files.read_rows(content):
            pass
    except workbooks.FileRefused:
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", GREEDY_FILES)
def test_a_file_takes_no_more_memory_than_the_limits_say(name: str) -> None:
    assert peak_of_reading(GREEDY_FILES[name]()) < 8 * MEGABYTE


def test_the_texts_that_cells_share_take_no_more_memory_than_the_limit_says() -> None:
    content = changed_workbook(
        {"xl/a.xml": b"<sst>%s</sst>" % MANY_TEXTS, SHEET: sheet(SHARED * 10)}, strings="xl/a.xml"
    )

    assert peak_of_reading(content) < 60 * MEGABYTE


def test_what_is_unpacked_is_bounded_whatever_the_parts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    content = changed_workbook({"xl/a.xml": b"<sst>%s</sst>" % (b" " * MEGABYTE)}, strings="xl/a.xml")
    list(files.read_rows(content))
    monkeypatch.setattr(workbooks, "MAX_UNPACKED", MEGABYTE)

    with pytest.raises(workbooks.FileRefused, match="too large when it is unpacked"):
        list(files.read_rows(content))


def test_one_text_in_many_rows_does_not_fill_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_TEXT", 1_000_000)

    with pytest.raises(workbooks.FileRefused, match="The file has more than 1,000,000 characters"):
        list(files.read_rows(GREEDY_FILES["one text in many rows"]()))


STYLES = b"""<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[$-407]d. mmm yyyy"/>
<numFmt numFmtId="171" formatCode="[h]:mm"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="22"/></cellXfs></styleSheet>"""
TEXTS = """<x:sst xmlns:x="y"><x:si><x:t xml:space="preserve"> Zoë</x:t></x:si>
<x:si><x:r><x:rPr><x:b/></x:rPr><x:t>Ad</x:t></x:r><x:r><x:t>a &amp; B</x:t></x:r>
<x:rPh sb="0" eb="1"><x:t>spoken</x:t></x:rPh></x:si>
<x:si><x:t>one_x000D_two_x005F_x000D_</x:t></x:si></x:sst>""".encode()
CELLS = {
    b'<c t="s"><v>0</v></c>': " Zoë",
    b'<c t="s"><v>1</v></c>': "Ada & B",
    b'<c t="s"><v>2</v></c>': "one\rtwo_x000D_",
    b'<c t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c>': "inline",
    b'<c t="str"><f>A1&amp;"x"</f><v>formula</v></c>': "formula",
    b"<c><f>1+1</f><v>2</v></c>": "2",
    b'<c t="n"><v>1.4155552671E10</v></c>': "14155552671",
    b"<c><v>0.5</v></c>": "0.5",
    b'<c t="b"><v>1</v></c>': "TRUE",
    b'<c t="e"><v>#N/A</v></c>': "#N/A",
    b'<c t="d"><v>2027-01-05T10:00:00</v></c>': "2027-01-05 10:00:00",
    b'<c s="1" t="d"><v>2027-01-05T00:00:00.000Z</v></c>': "2027-01-05",
    b'<c s="4" t="d"><v>2027-01-05T00:00:00</v></c>': "2027-01-05 00:00:00",
    b'<c s="1"><v>46392</v></c>': "2027-01-05",
    b'<c s="2"><v>46392.4166666667</v></c>': "2027-01-05 10:00:00",
    b'<c s="2"><v>0.25</v></c>': "06:00:00",
    b'<c s="3"><v>1.25</v></c>': "1 day, 6:00:00",
    b'<c s="1"><v>99999999</v></c>': "#VALUE!",
    b'<c s="99"><v>46392</v></c>': "46392",
}


def test_cells_are_read_as_spreadsheet_programs_write_them() -> None:
    rows = b'<row r="2"><c r="B2" t="str"><v>far</v></c></row><row r="5">%s</row><row/><row>%s</row>'
    cells = b"".join(CELLS)
    changes = {"xl/styles.xml": STYLES, "xl/a.xml": TEXTS, SHEET: sheet(rows % (cells, b"<c><v>7</v></c>"))}

    found = list(files.read_rows(changed_workbook(changes, strings="xl/a.xml")))

    assert found == [(2, ["", "far"]), (5, list(CELLS.values())), (7, ["7"])]


def test_days_may_count_from_1904() -> None:
    parts = parts_of(workbook(["E-mail"], ["a@example.com"]))
    book = parts["xl/workbook.xml"].replace(b"<workbookPr ", b'<workbookPr date1904="1" ')
    rows = b'<row><c s="1"><v>44930</v></c></row><row><c><v>1</v></c></row>'
    changes = {"xl/workbook.xml": book, "xl/styles.xml": STYLES, SHEET: sheet(rows)}

    found = list(files.read_rows(changed_workbook(changes)))

    assert found == [(1, ["2027-01-05"]), (2, ["1"])]


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


def test_a_file_without_a_last_line_end_and_with_lines_in_its_last_cell_is_read_to_the_end() -> None:
    for end in (b"", b"\n", b"\r\n\r\n"):
        rows = list(files.read_rows(b'email,note\na@example.com,"one\ntwo"' + end))
        assert rows[:2] == [(1, ["email", "note"]), (2, ["a@example.com", "one\ntwo"])]
        assert [cells for _, cells in rows[2:] if cells] == []


def test_the_page_says_that_other_sheets_are_not_read(mia: Client, organization: Organization) -> None:
    book, content = Workbook(), BytesIO()
    book.active.append(["E-mail", "Company"])
    book.active.append(["ada@example.com", "Analytical Engines"])
    for name in ("More leads", "Old leads"):
        book.create_sheet(name).append(["E-mail"])
    book.create_sheet("Stages").sheet_state = "hidden"
    book.save(content)
    hint = "The workbook has 2 more sheets. Only the first one is imported"

    page = Page(mia, organization, content.getvalue(), name="leads.xlsx")
    shown = [page.get().content.decode()]
    page.check()
    shown.append(page.get().content.decode())
    page.press("start")

    assert [hint in text for text in [*shown, page.get().content.decode()]] == [True] * 3
    assert "Columns that are left out: Company." in shown[1]
    other = Page(mia, organization, workbook(["E-mail"], ["b@example.com"]), name="b.xlsx")
    assert hint not in other.get().content.decode()


def test_the_first_sheet_that_people_see_is_read() -> None:
    book, content = Workbook(), BytesIO()
    book.active.append(["Stages"])
    book.active.append(["Won"])
    book.active.sheet_state = "hidden"
    leads = book.create_sheet("Leads")
    leads.append(["E-mail"])
    leads.append(["ada@example.com"])
    book.save(content)

    assert [cells for _, cells in files.read_rows(content.getvalue())] == [["E-mail"], ["ada@example.com"]]
