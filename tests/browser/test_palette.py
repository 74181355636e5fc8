"""The search over everything (Ctrl-K), and the keys of a list, by keyboard."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import NARROW, Members, violations
from tests.browser.pages import scrolls_sideways

LEADS, LEAD = "/admin/leads/lead/?view=all", re.compile("/admin/leads/lead/[0-9a-f-]+/change/")


def test_ctrl_k_searches_from_every_page_and_leaves_nothing_behind(members: Members):
    with members.page("CLOSER") as page:
        name = first_name(page)
        page.goto("/admin/account/sessions/")
        button = page.get_by_role("link", name="Search", exact=True)
        button.click()
        field(page).fill(name)
        expect(options(page).first).to_have_attribute("aria-selected", "true")
        assert violations(page) == []
        page.set_viewport_size({**NARROW})
        assert not scrolls_sideways(page)

        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Search")).not_to_be_visible()
        expect(button).to_be_focused()
        expect(page.locator("#search input")).to_have_value("")
        assert name not in page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert name not in page.content()

        page.keyboard.press("Control+k")
        expect(field(page)).to_be_focused()
        field(page).fill(name)
        expect(options(page).first).to_contain_text(name)
        page.keyboard.press("ArrowDown")
        second = options(page).nth(1)
        expect(second).to_have_attribute("aria-selected", "true")
        expect(field(page)).to_have_attribute("aria-activedescendant", str(second.get_attribute("id")))
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.wait_for_url(LEAD)


def test_the_answer_to_an_earlier_text_is_not_waited_for(members: Members):
    with members.page("CLOSER") as page:
        name = first_name(page)
        # Its answer never comes.
        page.route("**/admin/search/?q=earlier*", lambda route: None)
        page.keyboard.press("Control+k")
        with page.expect_request("**/admin/search/?q=earlier*"):
            field(page).fill("earlier")
        with page.expect_event("requestfailed"):
            field(page).fill(name)
        expect(options(page).first).to_contain_text(name)

        field(page).fill("nobody has this name")
        expect(page.get_by_role("dialog", name="Search").get_by_role("status")).to_contain_text("Nothing found")
        expect(options(page)).to_have_count(0)


def test_the_page_of_the_search_is_accessible(members: Members):
    with members.page("VIEWER") as page:
        name = first_name(page)
        page.goto("/admin/search/")
        page.get_by_role("main").get_by_role("textbox").fill(name)
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Leads").get_by_role("link").first).to_contain_text(name)
        assert violations(page) == []


def test_keys_walk_a_list_select_and_open_a_row(members: Members):
    with members.page("MANAGER") as page:
        page.goto(LEADS)
        page.evaluate("document.getElementById('keys').showModal()")
        assert violations(page) == []
        page.get_by_role("button", name="Close").click()

        rows = page.locator("#result_list .data-row")
        page.keyboard.press("ArrowDown")
        expect(rows.nth(0).get_by_role("link").first).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("k")
        expect(rows.nth(1).get_by_role("link").first).to_be_focused()
        page.keyboard.press("x")
        expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
        page.keyboard.press("x")

        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Next and previous row")
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.keyboard.type("jkx")
        expect(page.locator("#searchbar")).to_have_value("jkx")

        opened = rows.nth(1).get_by_role("link").first
        opened.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(LEAD)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Note")


def test_a_key_counts_while_a_closed_dialog_has_the_focus(members: Members):
    with members.page("MANAGER") as page:
        page.goto(LEADS)
        # Chromium gives the focus back some time after a dialog has closed.
        key = "new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})"
        page.evaluate(f"document.querySelector('#keys button').dispatchEvent({key})")
        expect(page.locator("#result_list .data-row").first.get_by_role("link").first).to_be_focused()


def first_name(page: Page) -> str:
    """Open the list of leads, and return the first name of one."""
    page.goto(LEADS)
    return str(page.locator("#result_list .data-row").first.get_by_role("link").first.inner_text()).split()[0]


def field(page: Page) -> Locator:
    """Return the dialog's field."""
    return page.get_by_role("combobox", name="Search leads, appointments and pages")


def options(page: Page) -> Locator:
    """Return what the dialog has found."""
    return page.get_by_role("listbox", name="Results").get_by_role("option")
