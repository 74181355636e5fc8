"""Entries of the calendar are moved by mouse and by keyboard, with the question of *Reschedule*."""

import re
from datetime import UTC, datetime, time, timedelta

from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import IDLE, Members, violations
from tests.browser.site import Site

MOVED = (
    "SELECT appointment.schedule_time FROM appointments_appointment AS appointment "
    "JOIN leads_lead AS lead ON lead.id = appointment.lead_id WHERE lead.email = 'dragan@example.com'"
)


def test_an_entry_is_moved_asked_about_put_back_and_refused(members: Members, site: Site):
    today = datetime.now(UTC).date()
    wednesday = today + timedelta(days=9 - today.weekday())  # of the next week
    start = datetime.combine(wednesday, time(15), UTC)
    fields = {"lead_email": "dragan@example.com", "lead_first_name": "Dragan", "host_email": site.members["CLOSER"]}
    site.add_booking("moved-1", schedule_time=start.isoformat().replace("+00:00", "Z"), **fields)
    path = f"/admin/appointments/appointment/?layout=calendar&day={wednesday}"

    with members.page("OWNER") as page, members.page("MANAGER") as other:
        page.goto(path)
        entry, dialog = entry_of(page), page.get_by_role("dialog", name="Reschedule")
        hour = width_of_an_hour(page)
        before = place(entry)

        # By mouse, and put back
        drag(page, entry, hour)
        expect(dialog).to_contain_text(re.compile("Dragan (isn't notified|gets)"))
        expect(dialog.locator(".timestamp-times")).to_contain_text("is free on")
        assert violations(page, leave_out=["#nav-sidebar"]) == []
        dialog.get_by_role("link", name="Back").click()
        expect(page.locator("#cal-message")).to_have_text("Nothing was moved.")
        assert place(entry) == before

        # To another host, by mouse and by keyboard
        becomes = re.compile(r"becomes the host instead of")
        drag(page, entry, 0, to_next_row=True)
        expect(dialog).to_contain_text(becomes)
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert place(entry) == before
        for key in ("m", "ArrowDown", "Enter"):
            entry.press(key)
        expect(dialog).to_contain_text(becomes)
        shown = entry.locator(".cal-time").inner_text()
        assert shown.startswith(dialog.get_by_label("Time", exact=True).input_value())
        page.keyboard.press("Escape")

        # By keyboard
        other.goto(path)
        own = entry_of(other)
        own.focus()
        for key in ("m", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowRight"):
            own.press(key)
        expect(other.locator("#cal-message")).to_contain_text(
            "30. Arrow keys move it, Enter asks, Escape puts it back."
        )
        own.press("Enter")
        with other.expect_navigation():
            other.get_by_role("dialog", name="Reschedule").get_by_role("button", name="Reschedule").press("Enter")
        expect(other.get_by_text("Moved to")).to_be_visible()
        assert other.url.endswith(path)
        assert site.select(MOVED) == [(start + timedelta(minutes=30),)]

        # What someone has moved meanwhile stays where it is, and the page says so.
        with page.expect_navigation():
            drag(page, entry, hour)
        expect(page.get_by_text("someone has changed this since you opened the page")).to_be_visible()
        assert round(place(entry)[0] - before[0]) == round(hour / 2)
    assert site.select(MOVED) == [(start + timedelta(minutes=30),)]


def entry_of(page: Page) -> Locator:
    """Return the lead's entry, once the page's scripts have run."""
    page.evaluate(IDLE)
    return page.locator("[data-move]", has_text="Dragan")


def width_of_an_hour(page: Page) -> float:
    """Return how many pixels an hour has."""
    box = page.locator(".cal-hours li").first.bounding_box()
    assert box is not None
    return box["width"]


def place(entry: Locator) -> tuple[float, float]:
    """Return where the entry stands in the calendar, wherever that is scrolled to."""
    left, top = entry.evaluate("link => [link.closest('li').offsetLeft, link.closest('.cal-day').offsetTop]")
    return left, top


def drag(page: Page, entry: Locator, distance: float, *, to_next_row: bool = False) -> None:
    """Drag the entry to a later time, or to the next host."""
    entry.scroll_into_view_if_needed()
    box = entry.bounding_box()
    assert box is not None
    x, y = box["x"] + 15, box["y"] + 15
    height = entry.evaluate("link => link.closest('.cal-day').offsetHeight") if to_next_row else 0
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + distance / 2, y)
    page.mouse.move(x + distance, y + height)
    host = ", .+" if to_next_row else ""
    expect(page.locator("#cal-message")).to_have_text(re.compile(rf"^Dragan: \w+,? \d+ \w+, \d\d:\d\d{host}$"))
    page.mouse.up()
