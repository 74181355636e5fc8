"""Writes a table as an XLSX file: one sheet, row by row, in constant memory.

openpyxl's and XlsxWriter's modes for large files take five and three times as long, and leave a temporary file behind
when they are interrupted. What a plain table needs of the format (ECMA-376) is this page; tests read it with openpyxl.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import IO, Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from leads.imports.values import guarded

DAY_ZERO = datetime(1899, 12, 30)  # noqa: DTZ001  of Excel's count of days
FIRST_DAY = date(1900, 3, 1)  # Excel counts a 29 February 1900 before it
MAX_TEXT, CUT = 32_767, "… (cut: a cell can't have more)"  # UTF-16 units in a cell
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
CODE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # begins a character's code, such as _x000D_
DATE_STYLE, TIME_STYLE, HEADER_STYLE = 1, 2, 3  # positions in the cellXfs of styles.xml

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

PARTS = {
    "[Content_Types].xml": f"""<Types xmlns="{PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>
<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/>
<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>""",
    "_rels/.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
<Relationship Id="rId1" Type="{DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>""",
    "xl/_rels/workbook.xml.rels": f"""<Relationships xmlns="{PACKAGE}/relationships">
<Relationship Id="rId1" Type="{DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="{DOCUMENT}/styles" Target="styles.xml"/></Relationships>""",
    "xl/styles.xml": f"""<styleSheet xmlns="{MAIN}"><numFmts count="2">
<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>
<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>
<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>
<cellXfs count="4"><xf/><xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/>
<xf fontId="1" applyFont="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>""",
}
WORKBOOK = f"""<workbook xmlns="{MAIN}" xmlns:r="{DOCUMENT}">
<sheets><sheet name="%s" sheetId="1" r:id="rId1"/></sheets></workbook>"""
SHEET_START = f"""<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0">
<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>
<sheetFormatPr defaultRowHeight="15"/><cols><col min="1" max="%d" width="20" customWidth="1"/></cols><sheetData>"""
SHEET_END = "</sheetData></worksheet>"


def write_xlsx(file: IO[bytes], title: str, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write the table to the file. Its cells have types, so no text can become a formula.

    `title` names the sheet: at most 31 letters, digits, spaces or hyphens.
    """
    with ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, xml in (PARTS | {"xl/workbook.xml": WORKBOOK % escape(title.capitalize())}).items():
            archive.writestr(name, xml)
        with archive.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write((SHEET_START % len(header)).encode())
            sheet.write(row_xml(header, f' s="{HEADER_STYLE}"').encode())
            for row in rows:
                sheet.write(row_xml(row).encode())
            sheet.write(SHEET_END.encode())


def row_xml(values: Iterable[Any], style: str = "") -> str:
    return f"<row>{''.join([cell_xml(value, style) for value in values])}</row>"


def cell_xml(value: Any, style: str) -> str:
    """Return a cell. Numbers, dates and times without a zone keep their types; everything else is text."""
    kind = type(value)
    if value is None or value == "":
        return "<c/>"
    if kind is datetime:
        return f'<c s="{TIME_STYLE}"><v>{(value - DAY_ZERO).total_seconds() / 86_400:.8f}</v></c>'
    if kind is date and value >= FIRST_DAY:
        return f'<c s="{DATE_STYLE}"><v>{(value - DAY_ZERO.date()).days}</v></c>'
    if kind is int or kind is float:
        return f"<c><v>{value!r}</v></c>"
    text = NOT_XML.sub("", str(value))
    # No text is a formula here, but an import takes an apostrophe before one away, as a CSV file needs it.
    text = fit(guarded(text) if text.startswith("'") else text)
    xml = escape(CODE.sub("_x005F_", text)).replace("\r", "_x000D_")
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{xml}</t></is></c>'


def fit(text: str) -> str:
    units = b"" if 2 * len(text) <= MAX_TEXT else text.encode("utf-16-le")
    if len(units) <= 2 * MAX_TEXT:
        return text
    return units[: 2 * (MAX_TEXT - len(CUT))].decode("utf-16-le", "ignore") + CUT
