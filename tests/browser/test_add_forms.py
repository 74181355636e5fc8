"""A form that adds a row, and the browser's Back."""

from playwright.sync_api import expect

from tests.browser.chromium import Members
from tests.browser.site import Site

ADDRESS = "https://hooks.example.com/back"
ENDPOINTS = "SELECT count(*) FROM webhooks_endpoint WHERE url = %s"


def test_a_form_adds_its_row_once_also_when_back_returns_to_it(members: Members, site: Site):
    with members.page("OWNER") as page:
        page.goto("/admin/webhooks/endpoint/add/")
        save, url = page.get_by_role("button", name="Save", exact=True), page.get_by_label("URL").first
        url.fill(ADDRESS)
        save.click()
        expect(page.get_by_text("I have stored it")).to_be_visible()
        page.go_back()
        url.fill(ADDRESS)

        save.click()

        expect(page.get_by_text("This form was sent before")).to_be_visible()
        assert site.select(ENDPOINTS, ADDRESS) == [(1,)]

        page.get_by_title("Add webhook endpoint").click()
        page.wait_for_url("**/add/")
        url.fill(ADDRESS)
        save.click()

        expect(page.get_by_text("I have stored it")).to_be_visible()
        assert site.select(ENDPOINTS, ADDRESS) == [(2,)]


def test_a_note_is_added_once_also_when_back_returns_to_what_was_typed(members: Members, site: Site):
    text = "Typed once, sent twice"
    with members.page("MANAGER") as page:
        page.goto(f"/admin/leads/lead/{site.rows['leads.lead']}/change/")
        note, send = page.locator("#add_note_note"), page.locator("form:has(#add_note_note) button")
        page.keyboard.press("n")
        note.fill(text)
        send.click()
        expect(page.get_by_text("Note added.")).to_be_visible()
        page.go_back()
        expect(note).to_have_value(text)
        page.keyboard.press("n")

        send.click()

        expect(page.get_by_text("Note added.")).to_be_visible()
        assert site.select("SELECT count(*) FROM leads_leadnote WHERE note = %s", text) == [(1,)]


def test_what_back_brings_back_does_not_overwrite_a_colleagues_change(members: Members, site: Site):
    address = f"/admin/leads/lead/{site.rows['leads.lead']}/change/"
    with members.page("OWNER") as page, members.page("MANAGER") as other:
        page.goto(address)
        name = page.get_by_label("Last name").first
        name.fill("Mine")
        name.press("Enter")
        expect(page.get_by_text("was changed successfully")).to_be_visible()
        other.goto(address)
        theirs = other.get_by_label("Last name").first
        theirs.fill("Colleague's")
        theirs.press("Enter")
        expect(other.get_by_text("was changed successfully")).to_be_visible()
        page.go_back()
        expect(name).to_have_value("Mine")

        name.press("Enter")

        expect(page.get_by_text("Someone else has changed this record")).to_be_visible()
