"""A form that is sent after the session has ended, or after two-factor sign-in was required, keeps what was entered."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.chromium import Members
from tests.browser.prepare import PASSWORD


def sign_in(page: Page, email: str) -> None:
    """Sign in on the page that shows the form for it."""
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("link", name="Appointments")).to_be_visible()


def sign_out(context: BrowserContext) -> None:
    """Sign out in another tab."""
    page = context.new_page()
    page.goto("/admin/")
    page.evaluate("document.getElementById('logout-form').requestSubmit()")
    expect(page.get_by_text("Log in again")).to_be_visible()
    page.close()


def lose_session(context: BrowserContext) -> None:
    """Let the session end as it does when it is ended elsewhere, or the person is deactivated."""
    context.clear_cookies(name="sessionid")


def set_two_factor_required(members: Members, *, is_required: bool) -> None:
    query = "UPDATE organizations_organization SET requires_two_factor = %s WHERE id = %s RETURNING name"
    id = members.site.rows["organizations.organization"]
    assert members.site.select(query, is_required, id) == [("Northwind Coaching",)]


def open_note(context: BrowserContext, lead_id: object) -> tuple[Page, Locator, Locator]:
    """Open the form for a note on the lead's page; return the page, the note and the button."""
    page = context.new_page()
    page.goto(f"/admin/leads/lead/{lead_id}/change/")
    page.keyboard.press("n")
    return page, page.locator("#add_note_note"), page.locator("form:has(#add_note_note) button")


@pytest.mark.parametrize("end_session", [sign_out, lose_session])
def test_a_note_is_kept_until_the_person_signs_in_again(
    members: Members, end_session: Callable[[BrowserContext], None]
):
    text = f"Kept by the page after {end_session.__name__}"
    context = members.sign_in("MANAGER")
    page, note, send = open_note(context, members.site.rows["leads.lead"])
    note.fill(text)
    end_session(context)
    send.click()

    expect(page.get_by_role("alert")).to_contain_text("You were signed out. Nothing is lost")
    expect(note).to_have_value(text)

    with context.expect_page() as other:
        page.get_by_role("link", name="sign in in another tab").click()
    sign_in(other.value, members.site.members["MANAGER"])
    send.click()

    expect(page.get_by_role("main").get_by_text(text)).to_be_visible()
    context.close()
    assert members.take_problems() == []


def test_on_a_phone_the_reason_is_not_covered_by_the_form(members: Members):
    context = members.sign_in("MANAGER")
    page, note, send = open_note(context, members.site.rows["leads.lead"])
    page.set_viewport_size({"width": 360, "height": 560})
    note.fill("Typed on a phone")
    lose_session(context)
    send.click()

    reason = page.get_by_role("alert")
    expect(reason).to_be_visible()
    assert reason.evaluate(
        "box => { const {left, top} = box.getBoundingClientRect();"
        " return box.contains(document.elementFromPoint(left + 20, top + 20)); }"
    )
    context.close()
    assert members.take_problems() == []


def test_a_form_is_not_sent_as_another_person_who_has_signed_in_since(members: Members):
    text = "Typed by the manager, and stored as theirs"
    context = members.sign_in("MANAGER")
    page, note, send = open_note(context, members.site.rows["leads.lead"])
    note.fill(text)
    sign_out(context)
    other = context.new_page()
    other.goto("/admin/login/")
    sign_in(other, members.site.members["SETTER"])
    send.click()

    expect(page.get_by_role("alert")).to_contain_text(
        f"Another person opened this page; you are signed in as {members.site.members['SETTER']} now. Nothing is lost"
    )
    expect(note).to_have_value(text)

    sign_out(context)
    other.goto("/admin/login/")
    sign_in(other, members.site.members["MANAGER"])
    send.click()

    expect(page.get_by_role("main").get_by_text(text)).to_be_visible()
    query = "SELECT actor_id FROM leads_leadnote WHERE note = %s"
    manager = "SELECT id::text FROM organizations_user WHERE email = %s"
    assert members.site.select(query, text) == members.site.select(manager, members.site.members["MANAGER"])
    context.close()
    assert members.take_problems() == []


def test_a_note_is_kept_while_two_factor_sign_in_has_to_be_set_up_first(members: Members):
    text = "Kept by the page while two factors are required first"
    context = members.sign_in("SETTER")
    page, note, send = open_note(context, members.site.rows["leads.lead"])
    note.fill(text)
    try:
        set_two_factor_required(members, is_required=True)
        send.click()

        expect(page.get_by_role("alert")).to_contain_text("requires two-factor sign-in. Nothing is lost")
        expect(note).to_have_value(text)

        with context.expect_page() as other:
            page.get_by_role("link", name="set it up in another tab").click()
        other.value.get_by_role("button", name="Set up").click()
        expect(other.value.get_by_label("Password")).to_be_visible()
    finally:
        set_two_factor_required(members, is_required=False)
    send.click()

    expect(page.get_by_role("main").get_by_text(text)).to_be_visible()
    context.close()
    assert members.take_problems() == []


def test_the_second_of_two_sign_in_tabs_continues(members: Members):
    context = members.new_context()
    first, second = context.new_page(), context.new_page()
    first.goto("/admin/login/")
    second.goto("/admin/login/?next=/admin/leads/lead/")
    sign_in(first, members.site.members["MANAGER"])
    sign_in(second, members.site.members["MANAGER"])

    assert second.url.endswith("/admin/leads/lead/")
    context.close()
    assert members.take_problems() == []
