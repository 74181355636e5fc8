"""The clicks that frequent tasks take, as docs/staff.md has them."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import Members
from tests.browser.site import Site
from tests.browser.test_workday import APPOINTMENTS, LEADS
from tests.faults.stack import ROOT

UPCOMING = """
SELECT appointment.id, lead_id FROM appointments_appointment AS appointment
JOIN statuses_status AS outcome ON outcome.id = outcome_id
WHERE appointment.organization_id = %s AND schedule_time > now() AND host_id IS NOT NULL
AND role = 'APPOINTMENT_BOOKED' ORDER BY schedule_time LIMIT 1
"""
# A program for calls would open.
NO_DIALER = (
    "document.querySelectorAll('[href^=tel]').forEach(link => link.addEventListener('click', e => e.preventDefault()))"
)


def documented_clicks() -> dict[str, int]:
    """Return the tasks of the table of clicks, with their numbers."""
    text = (ROOT / "docs/staff.md").read_text().partition("### Clicks")[2].partition("\n## ")[0]
    return {task: int(number) for task, number in re.findall(r"^\| ([^|]+) \| (\d+) \|", text, re.M)}


def test_frequent_tasks_take_the_clicks_of_the_table(members: Members, site: Site):
    """Typing, and Enter on a name that is offered, are no clicks; choosing from a menu is one."""
    ((appointment, lead),) = site.select(UPCOMING, site.rows["organizations.organization"])
    clicks: Counter[str] = Counter()
    with members.page("MANAGER") as page:

        @contextmanager
        def task(name: str, path: str, result: str) -> Iterator[Callable[..., None]]:
            page.goto(path)

            def click(target: Locator, choice: str = "") -> None:
                clicks[name] += 1
                target.select_option(label=choice) if choice else target.click()

            yield click
            expect(page.get_by_text(re.compile(result)).first).to_be_visible()

        with task("Book a follow-up", f"{LEADS}{lead}/change/", "added successfully|^Booked for") as click:
            click(page.get_by_role("link", name="Book", exact=True))
            click(page.locator("[data-start]").first)
            click(page.get_by_role("button", name="Save", exact=True))
        with task("Reschedule", f"{APPOINTMENTS}{appointment}/change/", "Moved to") as click:
            menu = opened(page, "Reschedule", click)
            click(menu.locator("[data-start]").last)  # the first may be its present time
            click(menu.locator(".record-submit"))
        with task("Call an opt-in and log it", "/admin/?who=team", "logged: no answer") as click:
            page.evaluate(NO_DIALER)
            called = page.locator(".home-row", has=page.locator(".call-buttons"))
            row = called.filter(has=page.locator("[href^=tel]")).first  # not all have a phone
            click(row.locator("[href^=tel]"))
            click(row.get_by_role("button", name="No answer"))
        with task("Note with a mention", f"{LEADS}{lead}/change/", "Note added. We'll e-mail Daniel Okoro.") as click:
            menu = opened(page, "Note", click)
            text = menu.get_by_role("textbox")
            text.press_sequentially("Please look, @oko")
            expect(page.get_by_role("listbox").get_by_role("option", name="Daniel Okoro")).to_be_visible()
            text.press("Enter")
            expect(text).to_have_value("Please look, @Daniel Okoro ")
            click(menu.locator(".record-submit"))
        with task("Reassign ten leads", f"{LEADS}?view=all", "10 ") as click:
            boxes = page.locator("#result_list tbody .action-select")
            click(boxes.nth(0))
            page.keyboard.down("Shift")
            click(boxes.nth(9))
            page.keyboard.up("Shift")
            click(page.locator("select[name=action]"), "Assign the selected leads")
            click(page.get_by_role("button", name="Run"))
            chosen = page.get_by_role("combobox", name="Setter")
            name = chosen.locator("option").last.inner_text()
            click(chosen, name)
            click(page.get_by_role("button", name="Assign", exact=True))

    assert clicks == documented_clicks()


def opened(page: Page, name: str, click: Callable[[Locator], None]) -> Locator:
    """Open the form of a record's button."""
    menu = page.locator(".record-buttons details", has=page.locator("summary", has_text=re.compile(f"^{name}$")))
    click(menu.locator("summary"))
    return menu
