"""A form that is sent after the session has ended keeps what has been entered."""

from playwright.sync_api import expect

from tests.browser.chromium import Members
from tests.browser.prepare import PASSWORD


def test_a_form_is_kept_until_one_has_signed_in_again(members: Members):
    context = members.sign_in("MANAGER")
    page = context.new_page()
    page.clock.install()
    page.goto("/admin/leads/lead/add/")
    page.get_by_label("E-mail").fill("kept.by.the.page@example.com")
    context.clear_cookies(name="sessionid")
    page.clock.fast_forward("20:00")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_role("alert")).to_contain_text("You were signed out. Nothing is lost")
    expect(page.get_by_label("E-mail")).to_have_value("kept.by.the.page@example.com")

    with context.expect_page() as other:
        page.get_by_role("link", name="sign in in another tab").click()
    other.value.get_by_label("E-mail").fill(members.site.members["MANAGER"])
    other.value.get_by_label("Password").fill(PASSWORD)
    other.value.get_by_role("button", name="Log in").click()
    expect(other.value.get_by_role("link", name="Appointments")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_text("was added successfully")).to_be_visible()
    context.close()
    assert members.take_problems() == []
