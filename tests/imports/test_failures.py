"""After some failed turns, an import with an unexpected error, or its undoing, continues without the row."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from leads.imports import importers, undoing
from leads.imports.failures import MAX_FAILURES
from leads.imports.leads import LeadImporter
from leads.models import Lead
from organizations.models import Organization
from tests.imports.files import Page, csv_file, expire_turns, work

FILE = csv_file(["email"], *([f"lead{number}@example.com"] for number in range(5)))
BROKEN = "lead3@example.com"
LOGGED = "An unexpected error, which was logged"


class Mistake(Exception):
    """An error that no one has foreseen."""


class MistakenImporter(LeadImporter):
    """An importer that fails with one of the rows, in one of its steps."""

    def plan(self, *args: Any, lock: bool) -> Any:
        plans = super().plan(*args, lock=lock)
        if not lock:
            self.fail_with(plans)
        return plans

    def apply(self, plans: Any, *args: Any) -> None:
        super().apply(plans, *args)
        self.fail_with(plans)

    def fail_with(self, plans: Any) -> None:
        if any(plan.values.get("email") == BROKEN for plan in plans):
            raise Mistake


class LockedImport(LeadImporter):
    """An importer that meets a lock."""

    def apply(self, *args: Any) -> None:
        raise OperationalError("canceling statement due to lock timeout")


class MistakenCheck(MistakenImporter):
    def apply(self, *args: Any) -> None:
        LeadImporter.apply(self, *args)


class MistakenImport(MistakenImporter):
    def plan(self, *args: Any, lock: bool) -> Any:
        return LeadImporter.plan(self, *args, lock=lock)


def work_until_it_ends(organization: Organization) -> int:
    """Let workers take turns, after each failed one half a minute later; return how many have failed."""
    for failures in range(3 * MAX_FAILURES):
        expire_turns()
        try:
            work(organization)
        except Mistake:
            continue
        return failures
    raise AssertionError("the import never ends")


def test_a_row_that_can_not_be_imported_is_listed_and_the_others_are_imported(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", MistakenImport)
    page = Page(mia, organization, FILE)
    page.check()

    with pytest.raises(Mistake):
        page.press("start")
    interrupted = page.get().content.decode()
    failures = work_until_it_ends(organization)

    assert "Interrupted by an unexpected error" in interrupted
    assert failures == MAX_FAILURES - 1
    assert (page.row.state, page.row.counts) == ("DONE", {"NEW": 4, "REFUSED": 1})
    assert page.report("?show=REFUSED") == [(5, "REFUSED", LOGGED)]
    assert page.row.reasons == {"REFUSED": {LOGGED: 1}}
    assert capfd.readouterr().err.count("continues without a row") == 1


def test_what_passes_by_itself_is_waited_for(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", LockedImport)
    page = Page(mia, organization, FILE)
    page.check()
    with pytest.raises(OperationalError):
        page.press("start")
    for _ in range(2 * MAX_FAILURES):
        expire_turns()
        with pytest.raises(OperationalError):
            work(organization)

    monkeypatch.undo()
    expire_turns()
    work(organization)

    assert (page.row.state, page.row.counts) == ("DONE", {"NEW": 5})


def test_a_file_that_can_not_be_checked_is_refused_and_others_follow(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importers.IMPORTERS, "LEADS", MistakenCheck)
    page = Page(mia, organization, FILE)

    with pytest.raises(Mistake):
        page.check()
    work_until_it_ends(organization)

    assert page.row.state == "FAILED"
    assert f"{LOGGED}, after row 1" in page.get().content.decode()


def test_what_can_not_be_undone_stays_and_is_listed(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo = undoing.UNDOABLE["leads.lead"].undo

    def fail(file_import: Any, rows: Any, actor: Any) -> Any:
        if Lead.objects.of(organization).filter(pk__in=[row.subject_id for row in rows], email=BROKEN).exists():
            raise Mistake
        return undo(file_import, rows, actor)

    page = Page(mia, organization, FILE).run()
    undoable = undoing.Undoable(**{**vars(undoing.UNDOABLE["leads.lead"]), "undo": fail})
    monkeypatch.setitem(undoing.UNDOABLE, "leads.lead", undoable)

    with pytest.raises(Mistake):
        page.press("undo")
    work_until_it_ends(organization)

    assert page.row.state == "UNDONE"
    assert [(name, reason) for name, _, reason in page.get().context["kept"]] == [(BROKEN, f"{LOGGED}.")]
    assert list(Lead.objects.of(organization).values_list("email", flat=True)) == [BROKEN]
