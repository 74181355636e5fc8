"""Imports go on after a killed worker, are done by one worker at a time, and end without a broker."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from leads.imports import importers, reading, worker
from leads.imports.files import read_rows
from leads.imports.leads import LeadImporter
from leads.imports.models import Import, ImportRow
from leads.imports.workbooks import Row
from leads.models import Lead
from organizations.models import Organization
from tests.accounts import run_together
from tests.factories import events_of
from tests.imports.files import Page, csv_file, expire_turns, work

LEADS = csv_file(["email", "first name"], *([f"lead{number}@example.com", "Ada"] for number in range(450)))


class Killed(BaseException):
    """The end of a worker's process."""


@pytest.fixture(autouse=True)
def _batches_of_200(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let batches end by their number of rows, however slow this computer is."""
    monkeypatch.setattr(worker, "FIRST_SLICE", worker.MAX_BATCH)
    monkeypatch.setattr(worker, "BATCH_SECONDS", 1000)


class FragileImporter(LeadImporter):
    """An importer whose worker is killed in some batches, after the batch has been written."""

    kill_in: list[int] = []
    batches = 0

    def apply(self, *args: Any) -> None:
        super().apply(*args)
        FragileImporter.batches += 1
        if FragileImporter.batches in self.kill_in:
            raise Killed


def test_a_killed_worker_loses_no_row_and_does_none_twice(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", FragileImporter)
    monkeypatch.setattr(FragileImporter, "kill_in", [2, 3])
    monkeypatch.setattr(FragileImporter, "batches", 0)
    page = Page(mia, organization, LEADS)
    page.check()

    with pytest.raises(Killed):
        page.press("start")
    assert (page.row.state, page.row.counts) == ("IMPORTING", {"NEW": 200})
    assert ImportRow.objects.of(organization).count() == 250
    expire_turns()
    with pytest.raises(Killed):
        work(organization)
    expire_turns()
    work(organization)

    assert (page.row.state, page.row.counts) == ("DONE", {"NEW": 450})
    assert Lead.objects.of(organization).count() == 450
    assert events_of(organization) == ["lead.created"] * 450


def test_a_killed_worker_reads_on_where_it_has_stopped(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_rows_until_killed(content: bytes, pause: Callable[[], object]) -> Iterator[Row]:
        yield from islice(read_rows(content, pause), 251)
        raise Killed

    monkeypatch.setattr(reading, "READ_BATCH", 100)
    monkeypatch.setattr(reading, "read_rows", read_rows_until_killed)
    with pytest.raises(Killed):
        Page(mia, organization, LEADS)
    before = list(ImportRow.objects.of(organization).order_by("number").values_list("pk", "number"))
    monkeypatch.setattr(reading, "read_rows", read_rows)
    expire_turns()
    work(organization)

    stored = Import.objects.of(organization).get()
    rows = list(stored.rows.order_by("number").values_list("pk", "number"))
    assert (stored.state, stored.total, stored.header) == ("MAPPING", 450, ["email", "first name"])
    assert [number for _, number in rows] == list(range(2, 452))
    assert rows[:200] == before


def test_a_message_that_comes_twice_and_late_does_nothing(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, LEADS).run()

    work(organization)
    page.press("start")

    assert page.row.counts == {"NEW": 450}
    assert Lead.objects.of(organization).count() == 450


@pytest.mark.django_db(transaction=True)
def test_two_workers_share_an_import_without_doing_a_row_twice(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, LEADS)
    page.check()
    page.client.post(page.url, {"step": "start"})

    run_together(*[lambda: work(organization)] * 3)

    assert (page.row.state, page.row.counts) == ("DONE", {"NEW": 450})
    assert events_of(organization) == ["lead.created"] * 450


def test_an_import_that_is_canceled_stops_and_keeps_what_it_has_done(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", FragileImporter)
    monkeypatch.setattr(FragileImporter, "kill_in", [2])
    monkeypatch.setattr(FragileImporter, "batches", 0)
    page = Page(mia, organization, LEADS)
    page.check()
    with pytest.raises(Killed):
        page.press("start")

    page.press("cancel")
    page.press("start")

    assert (page.row.state, page.row.counts, page.row.file) == ("CANCELED", {"NEW": 200}, None)
    assert Lead.objects.of(organization).count() == 200


def test_a_row_that_the_database_refuses_keeps_no_other_from_being_imported(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"lead{number}@example.com" for number in range(5)]
    page = Page(mia, organization, csv_file(["email", "phone"], *([email, "+14155552671"] for email in rows)))
    page.check()
    with connection.cursor() as cursor:
        # A constraint that the check could not know of.
        cursor.execute("ALTER TABLE leads_lead ADD CONSTRAINT picky CHECK (email <> 'lead3@example.com')")

    page.press("start")

    assert page.row.counts == {"NEW": 4, "REFUSED": 1}
    assert page.report("?show=REFUSED") == [
        (5, "REFUSED", "The database refuses it, because it contradicts another record")
    ]


def test_progress_is_shown_while_a_worker_works(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", FragileImporter)
    monkeypatch.setattr(FragileImporter, "kill_in", [2])
    monkeypatch.setattr(FragileImporter, "batches", 0)
    page = Page(mia, organization, LEADS)
    page.check()
    with pytest.raises(Killed):
        page.press("start")

    progress = mia.get(page.url.replace("/change/", "/progress/")).json()
    text = page.get().content.decode()

    assert progress == {"state": "IMPORTING", "done": 200, "total": 450, "text": "200 of 450 rows"}
    assert '<progress max="450" value="200"' in text
    assert "<noscript><meta" in text
    assert UUID(str(page.row.pk)).version == 7
