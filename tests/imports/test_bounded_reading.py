"""Reading very large files: it is bounded, ends when the import is canceled, and is done by one worker at a time."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

from leads.imports import files, turns, workbooks
from leads.imports.models import Import, ImportRow
from leads.imports.services import add_import, cancel_import
from organizations.actors import SYSTEM
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.imports.files import Page, csv_file
from tests.imports.test_files import changed_workbook, sheet, with_sheet

STRINGS = "xl/sharedStrings.xml"
EMPTY_FILES: dict[str, Callable[[int], bytes]] = {
    "cells": lambda count: with_sheet(b"<row>%s</row>" % (b"<c/>" * count)),
    "rows": lambda count: with_sheet(b"<row/>" * count),
    "texts": lambda count: changed_workbook({STRINGS: b"<sst>%s</sst>" % (b"<si/>" * count)}, strings=STRINGS),
    "styles": lambda count: changed_workbook({"xl/styles.xml": b"<a>%s</a>" % (b"<b/>" * count)}),
    "other elements": lambda count: changed_workbook({"xl/worksheets/sheet1.xml": b"<a>%s</a>" % (b"<b/>" * count)}),
    "elements in a cell": lambda count: with_sheet(b"<row><c><v>1</v>%s</c></row>" % (b"<v> </v>" * count)),
    "lines": lambda count: b"\n" * count + csv_file(["email"], ["a@example.com"]),
}


@pytest.mark.parametrize("name", EMPTY_FILES)
def test_a_file_with_too_many_empty_elements_is_refused(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(workbooks, "MAX_EMPTY", 1000)
    monkeypatch.setattr(files, "MAX_EMPTY", 1000)
    monkeypatch.setattr(workbooks, "MAX_ELEMENTS", 2000)

    page = Page(mia, organization, EMPTY_FILES[name](2001))

    problems = {
        "texts": workbooks.TOO_LARGE,
        "lines": "The file has more than 1,000 blank rows. Delete them.",
    }
    assert (page.row.state, page.row.problem) == ("FAILED", problems.get(name, workbooks.TOO_EMPTY))
    assert not ImportRow.objects.of(organization).exists()


def test_a_file_with_too_many_shared_texts_is_refused(mia: Client, organization: Organization) -> None:
    texts = b"<sst>%s</sst>" % (b"<si><t>a@example.com</t></si>" * 200_001)

    row = Page(mia, organization, changed_workbook({STRINGS: texts}, strings=STRINGS)).row

    assert row.state == "FAILED"
    assert row.problem == "The Excel file has more than 200,000 different texts. Save it as CSV."


def test_a_sheet_whose_cells_are_mostly_empty_and_formatted_is_read(mia: Client, organization: Organization) -> None:
    row = b"<row><c><v>1</v></c>%s</row>" % (b'<c s="0"/>' * 199)

    page = Page(mia, organization, with_sheet(row * 100))

    assert (page.row.state, page.row.total) == ("MAPPING", 99)


@pytest.mark.parametrize("text", [b"a@example.com" + b"," * 1_000_000, b'"\n",' * 200_000], ids=["commas", "line ends"])
def test_a_csv_row_with_very_many_cells_is_refused_before_it_is_split(
    mia: Client, organization: Organization, text: bytes
) -> None:
    page = Page(mia, organization, b"email\n" + text)

    assert page.row.state == "FAILED"
    assert page.row.problem.endswith("has 400,000 characters or more.")


class Interruption:
    """Does something in another thread, with a connection of its own, when a worker extends its turn."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act, self.count = act, 0

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if sql == turns.EXTEND:
            self.count += 1
            thread = threading.Thread(target=self.run)
            thread.start()
            thread.join()
        return execute(sql, *arguments)

    def run(self) -> None:
        self.act()
        connections.close_all()


def uploaded(organization: Organization, content: bytes) -> Import:
    """Return an import that has not been read yet."""
    return add_import(
        organization=organization,
        actor=SYSTEM,
        kind="LEADS",
        file_name="a.csv",
        content=content,
        time_zone="UTC",
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", EMPTY_FILES)
def test_an_import_that_is_canceled_while_its_file_has_no_rows_to_store_is_read_no_further(
    organization: Organization, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(turns, "EXTEND_SECONDS", 0)
    row = uploaded(organization, EMPTY_FILES[name](200_000))
    interruption = Interruption(lambda: cancel_import(file_import=row))

    with connection.execute_wrapper(interruption):
        app.tasks["leads.run_imports"].apply(throw=True)

    row.refresh_from_db()
    assert (row.state, row.total, interruption.count) == ("CANCELED", 0, 1)


@pytest.mark.django_db(transaction=True)
def test_no_other_worker_takes_over_while_a_file_is_read(
    organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "EXTEND_SECONDS", 0)
    row = uploaded(organization, with_sheet(b"<row/>" * 200_000 + sheet(b"<row><c><v>1</v></c></row>" * 2)))
    seen = []

    def take_over() -> None:
        app.tasks["leads.run_imports"].apply(throw=True)
        seen.append(Import.objects.of(organization).values_list("state", "updated_at").get())

    with connection.execute_wrapper(Interruption(take_over)):
        app.tasks["leads.run_imports"].apply(throw=True)

    row.refresh_from_db()
    assert row.state == "MAPPING"
    assert {state for state, _ in seen} == {"READING"}
    assert [time for _, time in seen] == sorted({time for _, time in seen})
