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
