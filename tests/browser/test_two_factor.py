"""Two-factor sign-in: setting it up, and the step after the password."""

import base64

from django_otp.oath import TOTP
from playwright.sync_api import expect

from tests.browser.chromium import Members
from tests.browser.prepare import NEWCOMER, PASSWORD
from tests.browser.site import Site


def test_a_member_sets_two_factor_sign_in_up_and_signs_in_with_it(members: Members, site: Site):
    context = members.sign_in(NEWCOMER)
    page = context.new_page()
    page.goto("/admin/")
    page.get_by_role("link", name="Two-factor sign-in").click()
    page.get_by_role("button", name="Set up").click()
    key = page.locator("#totp-key").inner_text()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_label("Code").fill(code_for(key))
    page.get_by_role("button", name="Switch on").click()
    expect(page.get_by_text("Each of these codes replaces")).to_be_visible()
    codes = page.locator("#secret").inner_text().split()
    assert len(codes) == 10

    context.clear_cookies(name="sessionid")
    page.goto("/admin/leads/lead/")
    page.get_by_label("E-mail").fill(site.members[NEWCOMER])
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Enter the code of your authenticator app")).to_be_visible()
    page.get_by_label("Code").fill("not the code")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This code is wrong")).to_be_visible()
    page.get_by_label("Code").fill(codes[0])
    page.get_by_role("button", name="Sign in").click()

    page.wait_for_url("**/admin/leads/lead/")
    expect(page.get_by_role("link", name="Leads", exact=True).first).to_be_visible()
    context.close()
    assert members.take_problems() == []
    assert site.select(
        "SELECT count(*) FROM organizations_recoverycode AS code JOIN organizations_user AS owner "
        "ON owner.id = code.user_id WHERE owner.email = %s AND code.used_at IS NULL",
        site.members[NEWCOMER],
    ) == [(9,)]


def code_for(key: str) -> str:
    """Return the code that an app with this key shows; it is right for half a minute at least."""
    return f"{TOTP(base64.b32decode(key.replace(' ', ''))).token():06}"
