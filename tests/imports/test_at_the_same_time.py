"""Changes by others during or after the check of an import: merging, erasing, changing, adding and deleting leads."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from appointments.models import Appointment, Note
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_custom_field
from tests.imports.files import Page, csv_file
from tests.merging.leads import make_lead, merge

MERGED, KEPT = "ada@work.example", "ada@example.com"
TABLES = ('FROM "leads_lead"', 'FROM "leads_leadmerge"', 'FROM "appointments_appointment"', 'FROM "appointments_note"')


class Interruption:
    """Does something just before the statement with this number, of those that read leads, appointments or notes."""

    def __init__(self, number: int, act: Callable[[], object]) -> None:
        self.left, self.act = number, act

    def __call__(self, execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        if self.left > 0 and sql.startswith("SELECT") and any(table in sql for table in TABLES):
            self.left -= 1
            if self.left == 0:
                self.act()
        return execute(sql, *arguments)


def lead_page(client: Client, organization: Organization) -> Page:
    header = ["email", "first name", "next step", "next step date"]
    rows = [MERGED, "Ada", "", ""], ["new@example.com", "Neo", "Follow-up", "2030-01-02 10:00"]
    return Page(client, organization, csv_file(header, *rows))


def appointment_page(client: Client, organization: Organization) -> Page:
    rows = ["reference", "outcome", "note"], ["ref-1", "No-show", "Called"]
    return Page(client, organization, csv_file(*rows), kind="APPOINTMENTS")


PAGES = {"LEADS": lead_page, "APPOINTMENTS": appointment_page}
ACTS = ["merge", "erase"]


@pytest.fixture
def _leads(organization: Organization, api: ApiClient) -> None:
    make_lead(api, KEPT, first_name="Ada")
    make_lead(api, MERGED, first_name="Ada")
    api.book(lead_email=MERGED, external_reference="ref-1")


def merge_or_erase(act: str, organization: Organization) -> None:
    """Merge or erase the lead of the rows."""
    ids = dict(Lead.objects.of(organization).values_list("email", "pk"))
    if act == "merge":
        merge(organization, ids[KEPT], ids[MERGED])
    else:
        request_erasure(organization=organization, actor=SYSTEM, lead_id=ids[MERGED])


@pytest.mark.usefixtures("_leads")
@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", PAGES)
def test_a_check_ends_whatever_happens_to_the_leads_meanwhile(
    mia: Client, organization: Organization, kind: str, act: str, number: int
) -> None:
    page = PAGES[kind](mia, organization)
    interruption = Interruption(number, lambda: merge_or_erase(act, organization))

    with connection.execute_wrapper(interruption):
        page.check()

    assert interruption.left == 0
    assert page.row.state == "CHECKED"
    if act == "merge":
        expected = {"LEADS": ["UNCHANGED", "NEW"], "APPOINTMENTS": ["CHANGED"]}[kind]
        assert [verdict for _, verdict, _ in page.report()] == expected


@pytest.mark.usefixtures("_leads")
def test_rows_of_a_lead_that_was_merged_after_the_check_change_the_kept_one(
    mia: Client, organization: Organization
) -> None:
    pages = [page(mia, organization) for page in PAGES.values()]
    for page in pages:
        page.check()
    merge_or_erase("merge", organization)

    for page in pages:
        page.press("start")

    assert [page.row.counts for page in pages] == [{"UNCHANGED": 1, "NEW": 1}, {"CHANGED": 1}]
    [appointment] = Appointment.objects.of(organization)
    assert (appointment.lead.email, appointment.outcome and appointment.outcome.name) == (KEPT, "No-show")


@pytest.mark.usefixtures("_leads")
def test_a_former_reference_does_not_lead_to_an_appointment_that_is_erased_meanwhile(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    api.reschedule(new_external_reference="ref-2")
    page = Page(mia, organization, csv_file(["reference", "note"], ["ref-1", "Called"]), kind="APPOINTMENTS")
    page.check()

    with connection.execute_wrapper(Interruption(2, lambda: merge_or_erase("erase", organization))):
        page.press("start")

    assert page.row.counts == {"REFUSED": 1}
    assert not Note.objects.of(organization).exists()


@pytest.mark.usefixtures("_leads")
def test_rows_that_name_an_erased_lead_or_its_appointment_are_refused(mia: Client, organization: Organization) -> None:
    """docs/interface.md, L20"""
    merge_or_erase("erase", organization)
    erased = Appointment.objects.of(organization).select_related("lead").get()
    email = erased.lead.email
    files = {
        "LEADS": (["email", email], "first name", f"E-mail: “{email}” is that of an erased lead"),
        "APPOINTMENTS": (["id", str(erased.pk)], "note", "The lead was erased"),
    }

    for kind, ((name, value), other, reason) in files.items():
        page = Page(mia, organization, csv_file([name, other], [value, "Ada"]), kind=kind)
        page.check()
        assert page.report() == [(2, "REFUSED", reason)]


def test_what_a_colleague_has_changed_since_the_check_is_not_changed_back(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    """docs/guarantees.md, D30"""
    rows = [["email", "first name"], [KEPT, "Ada"], [MERGED, "Augusta"], ["eve@example.com", "Eve"]]
    for email in [KEPT, MERGED]:
        make_lead(api, email, first_name="Ada")
    page = Page(mia, organization, csv_file(*rows))
    page.check()
    checked = [verdict for _, verdict, _ in page.report()]
    Lead.objects.of(organization).filter(email=KEPT).update(first_name="Adaline")
    make_lead(api, "eve@example.com", first_name="Evelyn")

    page.press("start")

    names = dict(Lead.objects.of(organization).values_list("email", "first_name"))
    assert checked == ["UNCHANGED", "CHANGED", "NEW"]
    assert names == {KEPT: "Adaline", MERGED: "Augusta", "eve@example.com": "Evelyn"}
    problem = "The record has changed since the check"
    assert page.report() == [(2, "REFUSED", problem), (4, "REFUSED", problem)]
    assert [row[:2] for row in page.refused_rows()[1:]] == [[KEPT, "Ada"], ["eve@example.com", "Eve"]]

    again = Page(mia, organization, csv_file(*rows)).run()

    assert again.row.counts == {"CHANGED": 2, "UNCHANGED": 1}


@pytest.mark.parametrize(("type", "cell", "theirs"), [("NUMBER", "500", 0), ("BOOLEAN", "yes", False)])
def test_a_zero_or_no_that_a_colleague_has_set_since_the_check_is_not_overwritten(
    mia: Client, organization: Organization, api: ApiClient, type: str, cell: str, theirs: int
) -> None:
    """docs/guarantees.md, D30"""
    field = make_custom_field(organization, "LEAD", "answer", label="Answer", type=type)
    make_lead(api, KEPT)
    page = Page(mia, organization, csv_file(["email", "answer"], [KEPT, cell]))
    page.check()
    Lead.objects.of(organization).update(custom_values={str(field.pk): theirs})

    page.press("start")

    assert Lead.objects.of(organization).get().custom_values == {str(field.pk): theirs}
    assert page.report() == [(2, "REFUSED", "The record has changed since the check")]


def test_a_lead_that_was_added_since_the_check_gets_the_values_that_it_lacks(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    page = Page(mia, organization, csv_file(["email", "first name", "last name"], [KEPT, "Ada", "Lovelace"]))
    page.check()
    make_lead(api, KEPT, first_name="Ada")

    page.press("start")

    assert page.row.counts == {"CHANGED": 1}
    assert Lead.objects.of(organization).get().last_name == "Lovelace"


def test_what_was_deleted_since_the_check_is_not_added_again(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    file = csv_file(["email", "first name"], [KEPT, "Ada"])
    first = Page(mia, organization, file).run()
    page = Page(mia, organization, file)
    page.check()
    first.press("undo")

    page.press("start")

    assert page.report() == [(2, "REFUSED", "The record has changed since the check")]
    assert not Lead.objects.of(organization).exists()


@pytest.mark.usefixtures("_leads")
def test_a_note_that_was_deleted_since_the_check_is_not_added_again(mia: Client, organization: Organization) -> None:
    file = csv_file(["reference", "note"], ["ref-1", "Wrong person"])
    Page(mia, organization, file, kind="APPOINTMENTS").run()
    page = Page(mia, organization, file, kind="APPOINTMENTS")
    page.check()
    checked = page.report()
    Note.objects.of(organization).delete()

    page.press("start")

    assert checked == [(2, "UNCHANGED", "")]
    assert not Note.objects.of(organization).exists()


def test_what_a_colleague_has_added_to_a_long_text_since_the_check_stays(
    mia: Client, organization: Organization, api: ApiClient
) -> None:
    """The check shows the beginning of a text, and compares all of it."""
    make_custom_field(organization, "LEAD", "story")
    long = "She has three shops and wants to sell two of them. " * 3
    path = f"/api/external/leads/{make_lead(api, KEPT)}"
    api.patch(path, {"custom_fields": {"story": long}})
    page = Page(mia, organization, csv_file(["email", "story"], [KEPT, f"{long}, next year"]))
    page.check()
    api.patch(path, {"custom_fields": {"story": f"{long} She has signed"}})

    page.press("start")

    [field] = api.get_data(path)["custom_fields"]
    assert field["value"] == f"{long} She has signed"
    assert page.report() == [(2, "REFUSED", "The record has changed since the check")]
