"""What imports store: no more than is needed, no longer than it is needed, and no more than a quota."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Sum
from django.test import Client
from django.utils import timezone

from leads.imports import reading, services
from leads.imports.models import Import, ImportRow
from leads.imports.services import prune_imports
from leads.models import Lead
from organizations.models import Organization
from pipeline_backend.celery import app
from tests.factories import make_custom_field
from tests.imports.files import Page, csv_file, upload, workbook
from tests.staff.pages import form_errors

HEADER = ["email", "first name"]


def stored_rows(organization: Organization) -> list[list[str]]:
    """Return the cells of all rows of the organization's imports."""
    rows = ImportRow.objects.of(organization).order_by("file_import", "number")
    return list(rows.values_list("cells", flat=True))


def size_of(cells: list[str]) -> int:
    """Return how much a row counts: its characters, 150 for the row and 4 for each cell."""
    return 150 + sum(len(cell) + 4 for cell in cells)


def stored_size(organization: Organization) -> int:
    """Return how many characters count against the organization's quota."""
    return int(Import.objects.of(organization).aggregate(size=Sum("size"))["size"] or 0)


def test_only_refused_rows_stay_of_an_import_that_is_done(
    mia: Client, organization: Organization, other_organization: Organization
) -> None:
    rows = [["ada@example.com", "Ada"], ["nobody", "Bob"], ["zoe@example.com", "Zoe"]]
    page = Page(mia, organization, csv_file(HEADER, *rows)).run()

    text = page.get().content.decode()

    assert stored_rows(organization) == [["nobody", "Bob"]]
    assert page.report() == [(3, "REFUSED", "E-mail: “nobody” is not an e-mail address")]
    assert page.refused_rows()[1][:2] == ["nobody", "Bob"]
    assert "Done: 2 new, 1 refused" in text
    assert "Row by row" not in text
    assert stored_size(organization) == size_of(["nobody", "Bob"])
    assert stored_size(other_organization) == 0


def test_refused_rows_can_be_deleted_before_their_time(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, csv_file(HEADER, ["ada@example.com", "Ada"], ["nobody", "Bob"])).run()

    page.press("discard")

    assert (stored_rows(organization), stored_size(organization)) == ([], 0)
    assert page.report() == []
    assert page.refused_rows() == [[*HEADER, "Import problem"]]
    assert page.row.counts == {"NEW": 1, "REFUSED": 1}


@pytest.mark.parametrize("end", ["canceled", "refused"])
def test_the_rows_of_an_import_that_ends_early_are_shown_no_more_and_a_worker_deletes_them(
    mia: Client, organization: Organization, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Page(mia, organization, csv_file(HEADER, ["ada@example.com", "Ada"], ["nobody", "Bob"]))
    page.check()
    Import.objects.of(organization).update(**({"state": "READING"} if end == "refused" else {}))

    if end == "refused":
        reading.refuse_file(page.row, "No.")
    else:
        page.client.post(page.url, {"step": "cancel"})
    shown, refused = page.get().context["rows"], page.refused_rows()
    before, size = len(stored_rows(organization)), stored_size(organization)
    app.loader.import_default_modules()
    app.tasks["leads.run_imports"].apply(throw=True)

    assert (list(shown), refused) == ([], [[*HEADER, "Import problem"]])
    assert (before, size) == (2, size_of(["ada@example.com", "Ada"]) + size_of(["nobody", "Bob"]))
    assert (stored_rows(organization), stored_size(organization)) == ([], 0)
    assert Lead.objects.of(organization).count() == 0


def test_what_no_field_can_hold_is_not_stored_and_is_left_out(mia: Client, organization: Organization) -> None:
    rows = [
        ["ada@example.com", "A" * 30_000],
        ["bob@example.com", "Bob", "", "x" * 30_000],
        ["cy@example.com", " " * 20_000 + "Cy"],
        ["di@example.com", "'=" + "D" * 20_000],
    ]
    page = Page(mia, organization, csv_file(HEADER, *rows))

    page.run()

    assert sum(len("".join(cells)) for cells in stored_rows(organization)) < 31_000
    assert page.report() == [
        (2, "NEW", "Left out: First name: is longer than 255 characters"),
        (3, "REFUSED", "The row has more cells than the header"),
        (5, "NEW", "Left out: First name: is longer than 255 characters"),
    ]
    names = dict(Lead.objects.of(organization).values_list("email", "first_name"))
    assert names == {"ada@example.com": "", "cy@example.com": "Cy", "di@example.com": ""}


def test_rows_to_correct_have_the_cells_beyond_the_header_and_are_refused_again_until_they_are_corrected(
    mia: Client, organization: Organization
) -> None:
    first = Page(mia, organization, csv_file([*HEADER, "Source"], ["ada@example.com", "Ada", "Smith", " Jones & Co"]))
    to_correct = first.run().refused_rows()

    again = Page(mia, organization, csv_file(*to_correct)).run()
    header, row = again.refused_rows()
    corrected = Page(mia, organization, csv_file(header, [*row[:2], "Smith, Jones & Co", row[3]])).run()

    problem = "The row has more cells than the header"
    assert to_correct[1] == ["ada@example.com", "Ada", "Smith", problem, "Jones & Co"]
    assert (header, row) == (to_correct[0], to_correct[1])
    assert (again.row.counts, corrected.row.counts) == ({"REFUSED": 1}, {"NEW": 1})
    assert Lead.objects.of(organization).get().last_source.name == "Smith, Jones & Co"


def test_the_problem_of_a_row_to_correct_is_imported_into_no_field(mia: Client, organization: Organization) -> None:
    make_custom_field(organization, "LEAD", "problem", label="Import problem")
    page = Page(mia, organization, csv_file(["email", "Import problem", "Info"], ["ada@example.com", "Any", "x"]))

    assert page.guessed() == {"email": "email", "Import problem": "", "Info": ""}


def test_a_note_that_is_too_long_is_left_out_although_it_begins_with_an_apostrophe(
    mia: Client, organization: Organization
) -> None:
    header = ["reference", "lead e-mail", "time", "event type", "note"]
    booking = ["a-1", "ada@example.com", "2027-01-05 10:00", "Coaching"]
    page = Page(mia, organization, csv_file(header, [*booking, "'=" + "n" * 10_000]), kind="APPOINTMENTS")

    page.check()

    (row,) = page.report()
    assert row[:2] == (2, "NEW")
    assert row[2].startswith("Left out: Note: is longer than 10,000 characters; ")


def test_the_imports_of_an_organization_store_a_limited_number_of_characters(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = csv_file(HEADER, *([f"{number}@example.com", "Ada"] for number in range(20)))
    monkeypatch.setattr(services, "MAX_STORED", 2 * 20 * size_of(["10@example.com", "Ada"]))
    page = Page(mia, organization, file)
    Page(mia, organization, file)

    response = upload(mia, file)
    page.press("cancel")
    Page(mia, organization, file)

    assert form_errors(response) == [services.TOO_MUCH_STORED]
    assert sorted(Import.objects.of(organization).values_list("state", flat=True)) == ["CANCELED", "MAPPING", "MAPPING"]
    assert stored_size(organization) == sum(map(size_of, stored_rows(organization)))


def test_a_file_with_too_much_text_is_refused_while_it_is_read(
    mia: Client, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The cells share a text in the file.
    file = workbook(HEADER, *([f"{number}@example.com", "x" * 5000] for number in range(50)))
    monkeypatch.setattr(reading, "MAX_STORED", 200_000)
    monkeypatch.setattr(reading, "READ_BATCH", 10)

    page = Page(mia, organization, file, name="leads.xlsx")

    assert len(file) < 20_000
    assert (page.row.state, page.row.problem) == ("FAILED", services.TOO_MUCH_STORED)
    assert (stored_rows(organization), stored_size(organization)) == ([], 0)


def test_rows_of_an_import_from_before_the_upgrade_are_deleted_after_a_week(
    mia: Client, organization: Organization
) -> None:
    page = Page(mia, organization, csv_file(HEADER, ["nobody", "Bob"])).run()
    week = timedelta(days=7)
    Import.objects.of(organization).update(size=None, rows_until=None, updated_at=timezone.now() - week + week / 7)
    prune_imports(organization=organization)
    before = page.report()

    Import.objects.of(organization).update(updated_at=timezone.now() - week)
    prune_imports(organization=organization)

    assert before == [(2, "REFUSED", "E-mail: “nobody” is not an e-mail address")]
    assert (stored_rows(organization), stored_size(organization)) == ([], 0)


def test_nothing_of_an_import_is_left_after_a_year(mia: Client, organization: Organization) -> None:
    """Not in the admin's history either, where erasing looks for the entries of imports that there are."""
    page = Page(mia, organization, csv_file(HEADER, ["ada@example.com", "Ada"]), name="Ada Lovelace.csv").run()
    other = Page(mia, organization, csv_file(HEADER, ["bob@example.com", "Bob"]), name="new.csv").run()
    Import.objects.of(organization).filter(pk=page.row.pk).update(created_at=timezone.now() - timedelta(days=366))
    before = set(LogEntry.objects.values_list("object_repr", flat=True))

    prune_imports(organization=organization)

    assert {"Ada Lovelace.csv", "new.csv"} <= before
    assert set(LogEntry.objects.values_list("object_repr", flat=True)) == before - {"Ada Lovelace.csv"}
    assert list(Import.objects.of(organization)) == [other.row]
