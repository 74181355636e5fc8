"""Loading leads from a file, and getting them as a file."""

import csv
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from playwright.sync_api import Download, Page, expect

from tests.browser.chromium import Members
from tests.browser.site import Site

FAIR = """\
Email,First name,Surname,Private line,Stage
ines.fair@fair.example,Ines,Fair,+14155550171,Follow-up
sam.rivera@example.com,Sam,Rivera,n/a,neu
not an address,Otto,Fair,,
"""
LEAD = "SELECT first_name, last_name, phone_e164 FROM leads_lead WHERE email = %s"


def test_sales_ops_imports_leads_and_loads_the_refused_rows_again(members: Members, site: Site, tmp_path: Path):
    file = tmp_path / "spring fair.csv"
    file.write_text(FAIR)
    with members.page("SALES_OPS") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Imports", exact=True).click()
        page.get_by_role("link", name="Add import").first.click()
        upload(page, file)
        expect(page.get_by_label("Email")).to_have_value("email")
        expect(page.get_by_label("Private line")).to_have_value("")
        page.get_by_label("Private line").select_option(label="Phone")
        page.get_by_role("button", name="Check the rows").click()

        page.get_by_label("neu").select_option(label="Follow-up")
        page.get_by_role("button", name="Check again with these").click()
        expect(page.get_by_text("1 row: Phone is not a phone number")).to_be_visible()
        expect(page.get_by_text("is not a status")).to_have_count(0)
        expect(page.get_by_role("heading", name="The import would add or change 2 rows")).to_be_visible()
        expect(page.get_by_role("row", name="not an address")).to_contain_text("Refused")
        assert site.select(LEAD, "ines.fair@fair.example") == []
        page.get_by_role("button", name="Import 2 rows").click()
        expect(page.get_by_role("heading", name="Done: 1 new, 1 changed, 1 refused")).to_be_visible()
        with page.expect_download() as refused:
            page.get_by_role("link", name="Download the rows to correct").click()

        incomplete, row = read_rows(refused.value)
        assert incomplete["Import problem"].startswith("Left out: Phone: “n/a” is not a phone number")
        assert row["Email"] == "not an address"
        file.write_text(
            Path(refused.value.path()).read_text("utf-8-sig").replace("not an address", "otto@fair.example")
        )
        page.get_by_role("link", name="New import").click()
        upload(page, file)
        expect(page.get_by_label("Private line")).to_have_value("phone")  # as last time
        page.get_by_role("button", name="Check the rows").click()
        page.get_by_role("button", name="Import 1 row").click()
        expect(page.get_by_role("heading", name="Done: 1 new")).to_be_visible()

        page.get_by_role("link", name="Imports", exact=True).first.click()
        expect(page.get_by_role("row", name="spring fair.csv")).to_have_count(2)
    assert site.select(LEAD, "ines.fair@fair.example") == [("Ines", "Fair", "+14155550171")]
    assert site.select(LEAD, "sam.rivera@example.com")[0][:2] == ("Sam", "Rivera")
    assert site.select(LEAD, "otto@fair.example") == [("Otto", "Fair", None)]


def test_a_manager_downloads_what_the_list_shows(members: Members, site: Site):
    query = "SELECT email FROM leads_lead WHERE email LIKE '%%@example.org' AND organization_id = %s"
    emails = {email for (email,) in site.select(query, site.rows["organizations.organization"])}
    with members.page("MANAGER") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Leads", exact=True).click()
        page.get_by_role("link", name="All", exact=True).click()
        expect(page.get_by_role("link", name="All", exact=True)).to_have_attribute("aria-current", "page")
        page.get_by_role("search").get_by_role("textbox").fill("@example.org")
        page.get_by_role("search").get_by_role("textbox").press("Enter")
        expect(page.locator("#result_list tbody tr")).to_have_count(len(emails))
        with page.expect_download() as table:
            page.get_by_role("link", name="CSV").click()
        with page.expect_download() as workbook:
            page.get_by_role("link", name="XLSX").click()

    rows = read_rows(table.value)
    assert {row["E-mail"] for row in rows} == emails
    assert len(rows) == len(emails) > 2
    assert is_zipfile(workbook.value.path())
    with members.page("SETTER") as page:
        page.goto("/admin/leads/lead/?view=all")
        expect(page.locator("#result_list")).to_be_visible()
        expect(page.get_by_role("link", name="CSV")).to_have_count(0)


def upload(page: Page, file: Path) -> None:
    """Choose the file for an import of leads, and send it."""
    page.wait_for_url("**/import/add/")
    page.get_by_label("Kind").select_option(label="Leads")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_role("heading", name="Choose the columns")).to_be_visible()


def read_rows(download: Download) -> list[dict[str | Any, str | Any]]:
    """Return the rows of a downloaded CSV file."""
    return list(csv.DictReader(StringIO(Path(download.path()).read_text("utf-8-sig"))))
