"""Files whose header cells take long to normalize: web processes and workers read only the beginning of each."""

import time
from collections.abc import Callable

import pytest
from django.test import Client

from foundation.db.timestamps import zone_names
from leads.imports.models import Import, ImportColumn, ImportState
from organizations.actors import SYSTEM, actor_columns
from organizations.models import Organization
from tests.imports.files import LIST, Page, csv_file

# In a row of different marks each is moved past all others, so twice as many take four times as long.
MARKS = "\u0301" * 16_000 + "\u0327" * 16_000


def seconds(action: Callable[[], object]) -> float:
    """Return how much processor time of this thread the action takes."""
    started = time.thread_time()
    action()
    return time.thread_time() - started


def test_a_header_cell_is_cut_before_anything_else_reads_it(mia: Client, organization: Organization) -> None:
    page = Page(mia, organization, csv_file(["Info", MARKS], ["a@example.com", "x"]))

    page.run(Info="email")

    assert page.row.counts == {"NEW": 1}
    assert page.row.header == ["Info", MARKS[:200]]
    assert list(ImportColumn.objects.of(organization).values_list("name", "field")) == [("info", "email")]


def test_a_page_of_an_import_with_long_header_cells_takes_no_longer_than_others(
    mia: Client, organization: Organization
) -> None:
    # As an earlier development version has stored them, uncut.
    urls = []
    for text in ("a", MARKS):
        stored = Import.objects.create(
            organization=organization,
            **actor_columns(SYSTEM),
            file_name="a.csv",
            state=ImportState.MAPPING,
            header=[text] * 20,
            mapping=[""] * 20,
        )
        urls.append(f"{LIST}{stored.pk}/change/")
    mia.get(urls[0])

    short, long = (seconds(lambda url=url: mia.get(url)) for url in urls)  # type: ignore[misc]

    assert long < 10 * short


def test_time_zones_are_looked_up_once_however_many_columns_name_one(mia: Client, organization: Organization) -> None:
    zone_names.cache_clear()
    header = [f"Time {number} (Europe/Berlin)" for number in range(199)]

    page = Page(mia, organization, csv_file(["email", *header], ["a@example.com", *["x"] * 199]))
    page.run()

    assert page.row.counts == {"NEW": 1}
    assert zone_names.cache_info().misses == 1


def test_columns_are_remembered_for_one_organization_and_up_to_a_limit(
    mia: Client, organization: Organization, other_organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    Page(mia, organization, csv_file(["Anschrift", "Rufname"], ["a@example.com", "Ada"])).check(
        Anschrift="email", Rufname="first_name"
    )
    monkeypatch.setattr("leads.imports.services.MAX_COLUMNS_REMEMBERED", 2)

    Page(mia, organization, csv_file(["Anschrift", "Familie"], ["a@example.com"])).check(
        Anschrift="email", Familie="last_name"
    )
    # The first row of a file without a header.
    Page(mia, organization, csv_file(["b@example.com", "Bob", "Baker Street 221b"], ["a@example.com"])).check(
        **{"b@example.com": "email", "Bob": "first_name"}
    )

    columns = ImportColumn.objects.of(organization).order_by("name").values_list("name", "field")
    assert list(columns) == [("anschrift", "email"), ("familie", "last_name")]
    assert not ImportColumn.objects.of(other_organization).exists()


@pytest.mark.parametrize("field", ["status", "setter", "next_touch_point_at", "phone", "first_name"])
def test_a_cell_that_is_longer_than_its_field_is_left_out_before_it_is_parsed(
    mia: Client, organization: Organization, field: str
) -> None:
    cells = [["email", field], ["a@example.com", "1" * 32_000]]

    page = Page(mia, organization, csv_file(*cells))
    page.check()

    [(_, verdict, details)] = page.report()
    assert (verdict, details.startswith("Left out: ")) == ("NEW", True)
    assert "is longer than" in details


def test_a_name_of_several_columns_is_remembered_for_the_one_that_is_imported(
    mia: Client, organization: Organization
) -> None:
    Page(mia, organization, csv_file(["email", "Phone", "Phone"], ["a@example.com", "1", "2"])).check()

    page = Page(mia, organization, csv_file(["email", "Phone"], ["a@example.com", "1"]))

    assert page.guessed()["Phone"] == "phone"


@pytest.mark.parametrize("first", [["email", "Phone", "Mobile"], ["email", "Setter", "Setter e-mail"]])
def test_a_column_that_another_one_of_the_file_makes_needless_is_guessed_in_the_next_file(
    mia: Client, organization: Organization, first: list[str]
) -> None:
    page = Page(mia, organization, csv_file(first, ["a@example.com", "1", "2"]))
    first_guess = page.guessed()
    needless = [name for name, field in first_guess.items() if not field]
    page.check()

    guessed = Page(mia, organization, csv_file(["email", *needless], ["a@example.com", "1"])).guessed()

    assert [guessed[name] for name in needless] == [first[1].lower()]
    assert Page(mia, organization, csv_file(first, ["a@example.com", "1", "2"])).guessed() == first_guess


def test_of_two_columns_of_a_field_the_one_that_was_chosen_is_guessed_again(
    mia: Client, organization: Organization
) -> None:
    file = csv_file(["email", "Phone", "Mobile"], ["a@example.com", "1", "2"])
    page = Page(mia, organization, file)
    other = {"phone": "Mobile", "": "Phone"} if page.guessed()["Phone"] else {"phone": "Phone", "": "Mobile"}
    chosen = {name: field for field, name in other.items()}
    page.check(**chosen)

    guessed = Page(mia, organization, file).guessed()

    assert {name: guessed[name] for name in chosen} == chosen


@pytest.mark.parametrize(
    ("header", "is_told"), [(["ada@example.com", "Ada"], True), (["E-mail", "Instagram @"], False)]
)
def test_a_file_without_a_header_is_told_from_others(
    mia: Client, organization: Organization, header: list[str], is_told: bool
) -> None:
    page = Page(mia, organization, csv_file(header, ["bob@example.com", "Bob"]))

    assert ("The first row of the file has an e-mail." in page.get().content.decode()) is is_told
