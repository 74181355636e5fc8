"""Several rows at once, and saved views, in the lists."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.chromium import NARROW, Members
from tests.browser.pages import scrolls_sideways
from tests.browser.site import Site

LEADS = "/admin/leads/lead/"
NAMES = ["Abel", "Bea", "Cyd"]
STORED = """
SELECT lead.first_name, status.name, setter_user.first_name, host_user.first_name
FROM appointments_appointment AS appointment
JOIN leads_lead AS lead ON lead.id = appointment.lead_id
JOIN statuses_status AS status ON status.id = lead.status_id
LEFT JOIN organizations_membership AS setter ON setter.id = lead.setter_id
LEFT JOIN organizations_user AS setter_user ON setter_user.id = setter.user_id
LEFT JOIN organizations_membership AS host ON host.id = appointment.host_id
LEFT JOIN organizations_user AS host_user ON host_user.id = host.user_id
WHERE lead.email LIKE '%%@several.example' ORDER BY 1
"""


@pytest.fixture(scope="module")
def several(site: Site) -> list[str]:
    """Three leads with an appointment each; all are Hannah's. Return their names."""
    soon = datetime.now(UTC) + timedelta(days=4)
    for number, name in enumerate(NAMES):
        site.add_booking(
            f"several-{number}",
            schedule_time=(soon + timedelta(hours=number)).isoformat(timespec="milliseconds"),
            lead_email=f"{name}@several.example".lower(),
            lead_first_name=name,
            host_email="hannah.weiss@northwind.example",
        )
    return NAMES


def test_a_manager_changes_several_rows_at_once(members: Members, site: Site, several: list[str]):
    with members.page("MANAGER") as page:
        search(page, "Leads", "@several.example")
        page.get_by_title("Change the setter").first.click()
        dialog = page.get_by_role("dialog", name="Change the setter")
        dialog.get_by_role("combobox", name="Setter").select_option(label="Hannah Weiss")
        dialog.get_by_role("button", name="Change the setter").click()
        expect(page.locator("#result_list").get_by_text("Hannah Weiss")).to_be_visible()
        expect(page.get_by_text("now belongs to Hannah Weiss.")).to_be_visible()
        run_on_all(page, "Set the status of the selected leads", status="Follow-up")
        expect(page.get_by_text("3 leads moved to Follow-up.")).to_be_visible()
        run_on_all(page, "Assign the selected leads", setter="Grace Kim")
        expect(page.get_by_text("3 leads now belong to Grace Kim.")).to_be_visible()
        search(page, "Appointments", "@several.example")
        run_on_all(page, "Set the host of the selected appointments", host="Priya Nair", leave_out="Cyd")
        expect(page.get_by_text("2 appointments now have Priya Nair as host.")).to_be_visible()

    assert site.select(STORED) == [
        ("Abel", "Follow-up", "Grace", "Priya"),
        ("Bea", "Follow-up", "Grace", "Priya"),
        ("Cyd", "Follow-up", "Grace", "Hannah"),
    ]


def test_a_closer_is_told_what_was_skipped(members: Members, site: Site, several: list[str]):
    before = site.select(STORED)

    with members.page("CLOSER") as page:
        search(page, "Leads", "@several.example")
        run_on_all(page, "Set the status of the selected leads", status="Lost")
        expect(page.get_by_text("Skipped 3: you may not change them.")).to_be_visible()

    assert site.select(STORED) == before


def test_a_colleague_opens_a_view_that_a_manager_shares(members: Members, site: Site, several: list[str]):
    with members.page("MANAGER") as page:
        search(page, "Leads", "@several.example")
        page.get_by_text("Save this view").click()
        page.get_by_label("Name", exact=True).fill("From the fair")
        page.get_by_label("Share with everybody").check()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("link", name="From the fair")).to_have_attribute("aria-current", "page")
    with members.page("CLOSER") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Leads", exact=True).click()
        page.get_by_role("link", name="From the fair, shared").click()
        expect(page.locator("#result_list tbody tr")).to_have_count(len(several))
        expect(page.get_by_text("Change “From the fair”")).to_have_count(0)
    query = "SELECT owner_id FROM organizations_savedview WHERE name = 'From the fair'"
    assert site.select(query) == [(None,)]

    with members.page("MANAGER") as page:
        page.goto(LEADS)
        page.get_by_role("link", name="From the fair").click()
        page.get_by_text("Change “From the fair”").click()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("link", name="From the fair")).to_have_count(0)
    assert site.select(query) == []


def search(page: Page, name: str, text: str) -> None:
    """Open all rows of a list by the menu, and search."""
    page.goto("/admin/")
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("link", name="All", exact=True).click()
    expect(page.get_by_role("link", name="All", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("search").get_by_role("textbox").fill(text)
    page.get_by_role("search").get_by_role("textbox").press("Enter")
    expect(page.locator("#result_list tbody tr")).to_have_count(len(NAMES))


def run_on_all(page: Page, action: str, *, leave_out: str = "", **value: str) -> None:
    """Select the rows, except that with the text `leave_out`, choose the action, and answer its question."""
    page.locator("#action-toggle").check()
    if leave_out:
        page.get_by_role("row").filter(has_text=leave_out).get_by_role("checkbox").uncheck()
    page.locator("select[name=action]").select_option(label=action)
    page.get_by_role("button", name="Run").click()
    ((label, choice),) = value.items()
    send = page.get_by_role("button", name=re.compile(f"^(Set the {label}|Assign)$"))
    expect(send).to_be_visible()
    page.get_by_role("combobox", name=label.capitalize()).select_option(label=choice)
    send.click()


def test_a_board_with_more_cards_than_fit_in_a_column_is_no_wider_than_a_phone(members: Members, site: Site):
    soon = (datetime.now(UTC) + timedelta(days=30)).isoformat(timespec="milliseconds")
    for number in range(26):
        site.add_booking(f"more-{number}", schedule_time=soon, lead_email=f"more-{number}@example.com")

    with members.page("OWNER", size=NARROW) as page:
        page.goto("/admin/appointments/appointment/?view=all&layout=board")
        expect(page.locator(".board-more").first).to_be_attached()

        assert not scrolls_sideways(page)


def test_a_board_shows_every_card_after_some_have_left_and_keeps_those_that_are_loaded(members: Members, site: Site):
    soon = (datetime.now(UTC) + timedelta(days=30)).isoformat(timespec="milliseconds")
    for number in range(60):
        site.add_booking(f"many-{number}", schedule_time=soon, lead_email=f"many-{number}@example.com")

    with members.page("OWNER") as page:
        page.clock.install()
        page.goto("/admin/leads/lead/?view=all&layout=board&q=many-")
        booked, lost = (page.get_by_role("list", name=name) for name in ("Appointment booked", "Lost"))
        cards = booked.locator(".board-card")
        expect(cards).to_have_count(25)
        for number in range(3):
            cards.first.locator("summary").click()
            cards.first.get_by_label("Move to").select_option(label="Lost")
            cards.first.get_by_role("button", name="Move", exact=True).click()
            expect(lost.locator(".board-card")).to_have_count(number + 1)
        while booked.locator(".board-more").count():
            booked.evaluate("list => list.querySelector('.board-more')?.scrollIntoView()")
        expect(cards).to_have_count(57)

        site.add_booking("many-60", schedule_time=soon, lead_email="many-60@example.com")
        page.clock.fast_forward(31_000)

        expect(page.locator(".board-message")).to_contain_text("new")
        expect(cards).to_have_count(58)
