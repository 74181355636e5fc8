"""Batches of an import are bounded in text and words, and the check of one keeps no one from canceling."""

import csv
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from leads.imports import importers, turns, worker
from leads.imports.leads import LeadImporter
from leads.imports.models import ImportRow
from leads.models import Lead
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.accounts import run_together
from tests.imports.files import Page, csv_file, workbook

HEADER = ["email", "first name", "other"]


def take_turn() -> None:
    """Receive the message of imports once."""
    app.loader.import_default_modules()
    app.tasks["leads.run_imports"].apply(throw=True)


def test_a_row_with_too_many_words_is_refused_and_its_cells_are_not_stored(
    mia: Client, organization: Organization
) -> None:
    words = "".join(f"{chr(0x4E00 + number)}{number % 7}@" for number in range(3000))
    rows = [["ada@example.com", "Ada", words, "beyond"], ["bob@example.com", "Bob", "six letters " * 830]]
    page = Page(mia, organization, workbook(HEADER, *rows), name="leads.xlsx")
    stored = list(ImportRow.objects.of(organization).order_by("number").values_list("cells", "terms"))

    page.run()

    assert stored[0] == (["", "", "", "The row has too many words"], [])
    assert len(stored[1][0][2]) == len("six letters " * 830)
    assert page.report() == [(2, "REFUSED", "The row has too many words")]
    assert page.refused_rows()[1:] == [["", "", "", "The row has too many words"]]
    assert list(Lead.objects.of(organization).values_list("first_name", flat=True)) == ["Bob"]


def test_a_note_with_as_many_words_as_it_can_hold_is_imported(mia: Client, organization: Organization) -> None:
    note = " ".join(str(number) for number in range(10_000))[:10_000]
    page = Page(mia, organization, csv_file(HEADER, ["ada@example.com", "Ada", note]))

    page.run()

    assert page.row.counts == {"NEW": 1}


def test_the_file_with_the_refused_rows_is_read_in_batches_and_streamed(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("staff.imports.ROWS_AT_A_TIME", 2)
    rows = [[f"nobody{number}", "=1+1" if number else "Ada"] for number in range(5)]
    page = Page(mia, organization, csv_file(HEADER[:2], *rows))
    page.check()

    response: Any = mia.get(page.url.replace("change/", "refused/"))
    found = list(csv.reader(StringIO(response.getvalue().decode("utf-8-sig"))))

    assert response.streaming
    assert response["Content-Disposition"] == 'attachment; filename="leads_to_correct.csv"'
    assert [row[:2] for row in found[1:]] == [[row[0], row[1].replace("=", "'=")] for row in rows]


def test_batches_of_the_check_and_the_import_end_after_a_number_of_characters(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[f"lead{number}@example.com", "Ada", "x" * 5000] for number in range(5)]
    page = Page(mia, organization, csv_file(HEADER, *rows))
    monkeypatch.setattr(worker, "READ_TEXT", 9_000)
    monkeypatch.setattr(turns, "TURN_SECONDS", 0)
    columns = {column["field"]: column["chosen"] for column in page.get().context["columns"]}

    page.client.post(page.url, {"step": "columns", **columns})
    take_turn()
    checked = page.row.counts
    page.work()
    page.client.post(page.url, {"step": "start"})
    take_turn()
    imported = page.row.counts
    page.work()

    assert (checked, imported) == ({"NEW": 2}, {"NEW": 2})
    assert page.row.counts == {"NEW": 5}
    assert Lead.objects.of(organization).count() == 5


@pytest.mark.django_db(transaction=True)
def test_an_import_can_be_canceled_while_a_worker_checks_its_rows(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []

    class SlowImporter(LeadImporter):
        """An importer that is interrupted by a person who presses Cancel."""

        def plan(self, *args: Any, **options: Any) -> Any:
            run_together(lambda: answers.append(mia.post(page.url, {"step": "cancel"}).status_code))
            return super().plan(*args, **options)

    page = Page(mia, organization, csv_file(HEADER, ["ada@example.com", "Ada", ""]))
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", SlowImporter)

    page.check()

    assert answers == [302]
    assert (page.row.state, page.row.counts) == ("CANCELED", {})


@pytest.mark.parametrize("seconds", [0.05, 1])
def test_a_batch_of_the_import_ends_soon_after_its_rows_become_slow(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Other organizations see no newer events until the transaction of a batch has ended."""
    time, transactions = [0.0], []

    class SlowImporter(LeadImporter):
        """An importer whose rows after the 300th take long; the clock is the test's."""

        def apply(self, plans: Any, actor: Any) -> None:
            time[0] += sum(seconds for plan in plans if plan.row.number > 300)
            super().apply(plans, actor)

    def store_progress(stored: Any, position: int, *args: Any) -> None:
        transactions.append(position)
        save(stored, position, *args)

    save = worker.store_progress
    page = Page(mia, organization, csv_file(HEADER[:1], *([f"lead{number}@example.com"] for number in range(400))))
    page.check()
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", SlowImporter)
    monkeypatch.setattr(worker, "monotonic", lambda: time[0])
    monkeypatch.setattr(worker, "store_progress", store_progress)

    page.press("start")

    sizes = [end - start for start, end in pairwise([1, *transactions])]
    first = next(place for place, end in enumerate(transactions) if end > 300)
    assert page.row.counts == {"NEW": 400}
    assert sizes[0] == worker.FIRST_SLICE
    assert sizes[1] == worker.MAX_BATCH
    assert transactions[first] <= 300 + worker.MAX_BATCH
    assert max(sizes[first + 1 :]) <= worker.FIRST_SLICE


def test_an_import_goes_on_where_a_batch_takes_long_whatever_its_size(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, batches = [0.0], []

    def lock_slowly(stored: Any) -> Any:
        time[0] += 1
        batches.append(stored)
        return lock_step(stored)

    lock_step = worker.lock_step
    page = Page(mia, organization, csv_file(HEADER[:1], *([f"lead{number}@example.com"] for number in range(100))))
    page.check()
    monkeypatch.setattr(worker, "monotonic", lambda: time[0])
    monkeypatch.setattr(worker, "lock_step", lock_slowly)

    page.press("start")

    assert page.row.counts == {"NEW": 100}
    assert len(batches) <= 100 / worker.FIRST_SLICE + 2
