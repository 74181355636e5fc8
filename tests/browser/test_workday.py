"""A day of work, as each role."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.chromium import IDLE, Members
from tests.browser.site import Site

CHANGING = re.compile("^(Book|Note|Reschedule|Won|No-show|Cancel the appointment)$")
LEADS, APPOINTMENTS = "/admin/leads/lead/", "/admin/appointments/appointment/"


def test_a_closer_books_calls_and_enters_the_outcome(members: Members):
    with members.page("CLOSER") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Appointments", exact=True).click()
        page.get_by_role("link", name="Mine", exact=True).click()
        page.get_by_role("link", name="Add appointment").click()
        book(page, "ada.closer@example.com", "Ada", phone="+14155552671")
        expect(page.get_by_text("was added successfully")).to_be_visible()

        open_lead(page, "Ada")
        expect(page.get_by_role("link", name="+14155552671")).to_have_attribute("href", "tel:+14155552671")
        press(page, "Note", "Asked for the price list.")
        expect(page.get_by_role("region", name="Timeline")).to_contain_text("Asked for the price list.")

        page.get_by_role("link", name=re.compile("^Booked: Strategy call")).click()
        press(page, "Follow-up")
        expect(page.locator(".record-head summary")).to_contain_text("Follow-up")
        open_lead(page, "Ada")
        expect(page.locator(".record-head summary")).to_contain_text("Follow-up")

        # A follow-up is booked by three clicks.
        page.get_by_role("link", name="Book", exact=True).click()
        page.locator("[data-start]").first.click()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("was added successfully")).to_be_visible()


def test_a_closer_books_a_free_time_of_the_calendar(members: Members, site: Site):
    with members.page("CLOSER") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Appointments", exact=True).click()
        page.get_by_role("link", name="Calendar", exact=True).click()
        page.get_by_role("link", name="Week", exact=True).click()
        page.get_by_role("link", name="Next week").click()  # tomorrow may be a Saturday
        page.wait_for_url("**day=*")
        calendar = page.url
        page.get_by_role("link", name=re.compile("book Daniel Okoro")).first.click()
        page.wait_for_url("**/add/**")
        address = parse_qs(urlsplit(page.url).query)
        expect(page.get_by_label("Host")).to_have_value(address["host"][0])
        page.get_by_label("or e-mail").fill("free.time@example.com")
        page.get_by_label("First name").fill("Frida")
        page.get_by_label("Event type").select_option(label="Strategy call")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("was added successfully")).to_be_visible()

        page.goto(calendar)
        expect(page.get_by_role("link", name="Frida")).to_be_visible()
    query = (
        "SELECT appointment.schedule_time, appointment.host_id FROM appointments_appointment AS appointment "
        "JOIN leads_lead AS lead ON lead.id = appointment.lead_id WHERE lead.email = 'free.time@example.com'"
    )
    ((time, host),) = site.select(query)
    assert (time, str(host)) == (datetime.fromisoformat(address["schedule_time"][0]), address["host"][0])


def test_opt_ins_are_called_one_after_the_other(members: Members):
    """One click logs a call, one leads to the next lead, though the first one has left the list."""
    with members.page("MANAGER") as page:
        page.goto("/admin/optins/optin/?stage=not_called")
        page.locator("#result_list .list-link").first.click()
        page.get_by_role("button", name="No answer").click()
        expect(page.get_by_text("logged: no answer")).to_be_visible()
        expect(page.get_by_role("region", name="Timeline")).to_contain_text("Called: no answer")
        name = page.locator("#next-row span").inner_text()
        page.get_by_role("link", name=f"Next: {name}").click()
        expect(page.locator(".record-head h1")).to_have_text(name)


def test_an_outcome_is_undone_from_its_message(members: Members):
    with members.page("MANAGER") as page:
        page.goto("/admin/?who=team")
        row = page.locator(".home-outcomes").first
        name = row.locator("xpath=..").locator(".home-what > a").inner_text()
        row.get_by_role("button", name="Lost").click()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone. The outcome is")).to_be_visible()
        expect(page.locator(".home-row", has=page.locator(".home-outcomes")).first).to_contain_text(name)


def test_a_browser_in_another_zone_offers_it_once(members: Members):
    with members.page("VIEWER") as page:
        page.goto(APPOINTMENTS)
        offer = page.get_by_text("this browser is in Eastern Time")
        expect(offer).to_be_visible()
        page.get_by_role("button", name="show times in it").click()
        expect(page.get_by_title("Change your time zone")).to_have_text(re.compile(r"^New York time \(GMT-[45]\)$"))
        assert page.url.endswith(APPOINTMENTS)
        expect(offer).to_be_hidden()
    with members.page("MANAGER") as page:
        page.goto(LEADS)
        page.get_by_role("button", name="no, thanks").click()
        page.reload()
        page.evaluate(IDLE)
        expect(page.get_by_text("this browser is in")).to_be_hidden()


def test_a_setter_moves_a_card_by_menu_and_by_drag_and_a_colleague_sees_it(members: Members):
    with members.page("SETTER") as page, members.page("MANAGER") as watching:
        page.goto(f"{LEADS}add/")
        page.get_by_label("E-mail").fill("mo.board@example.com")
        page.get_by_label("First name").fill("Mobo")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("was added successfully")).to_be_visible()
        page.goto(f"{LEADS}?view=all&layout=board&q=mo.board")
        new, booked = page.get_by_role("list", name="New lead"), page.get_by_role("list", name="Appointment booked")
        expect(new).to_contain_text("Mobo")
        watching.clock.install()
        watching.goto(page.url)
        expect(watching.get_by_role("list", name="New lead")).to_contain_text("Mobo")
        purposes: list[str | None] = []  # of the requests that the page sends by itself
        watching.on("request", lambda request: purposes.append(request.headers.get("purpose")))

        page.get_by_label("Move Mobo").click()
        page.get_by_label("Move to").select_option(label="Appointment booked")
        page.get_by_role("button", name="Move", exact=True).click()
        expect(booked).to_contain_text("Mobo")
        watching.clock.fast_forward(31_000)
        expect(watching.get_by_role("list", name="Appointment booked")).to_contain_text("Mobo")
        expect(watching.locator(".board-message")).to_have_text("1 changed.")
        assert set(purposes) == {"refresh"}  # on a slow machine more than one was due

        booked.get_by_text("mo.board@example.com").hover()
        page.mouse.down()
        new.hover()
        new.hover(position={"x": 20, "y": 20})  # a drag has at least two moves
        with page.expect_response(lambda response: response.request.method == "POST"):
            page.mouse.up()
        expect(new).to_contain_text("Mobo")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone for 1.")).to_be_visible()
        expect(booked).to_contain_text("Mobo")
        assert page.url.endswith("?view=all&layout=board&q=mo.board")


def test_a_manager_finds_days_rates_and_stories_in_three_clicks(members: Members):
    with members.page("MANAGER") as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Appointments", exact=True).click()
        expect(page.get_by_role("link", name="Today", exact=True)).to_have_attribute("aria-current", "page")

        page.goto("/admin/?days=90")
        numbers = page.get_by_role("table").filter(has_text="Closer")
        expect(numbers.get_by_role("row").filter(has_text="Daniel Okoro")).to_contain_text("%")

        page.get_by_role("link", name="Leads", exact=True).click()
        page.get_by_role("link", name="All", exact=True).click()
        page.locator("#result_list tbody").get_by_role("link").first.click()
        expect(page.get_by_role("region", name="Timeline")).to_be_visible()


def test_a_viewer_sees_everything_and_changes_nothing(members: Members):
    with members.page("VIEWER") as page:
        for path in (LEADS, APPOINTMENTS):
            page.goto(f"{path}?view=all")
            expect(page.get_by_role("link", name=re.compile("^Add "))).to_have_count(0)
            page.locator("#result_list tbody").get_by_role("link").first.click()
            expect(page.locator("h1").first).to_be_visible()
            expect(page.get_by_role("button", name="Save", exact=True)).to_have_count(0)
            expect(page.locator(".record-buttons").get_by_text(CHANGING)).to_have_count(0)
        page.goto(f"{LEADS}?view=all&layout=board")
        expect(page.locator("[data-movable]")).to_have_count(0)
        assert page.goto(f"{LEADS}add/").status == 403


def press(page: Page, name: str, text: str = "") -> None:
    """Press a button of a record, and send its form, with the text."""
    menu = page.locator(".record-buttons details", has=page.locator("summary", has_text=re.compile(f"^{name}$")))
    menu.locator("summary").click()
    if text:
        menu.get_by_role("textbox").fill(text)
    menu.locator(".record-submit").click()


def book(page: Page, email: str, first_name: str, *, phone: str) -> None:
    """Fill in the form for an appointment the day after tomorrow, with the signed-in member as host, and save it."""
    day = datetime.now(UTC) + timedelta(days=2)
    page.get_by_label("or e-mail").fill(email)
    page.get_by_label("First name").fill(first_name)
    page.get_by_label("Phone").fill(phone)
    page.get_by_label("Date", exact=True).fill(f"{day:%Y-%m-%d}")
    page.get_by_label("Time", exact=True).fill("5.40am")
    page.get_by_label("Event type").select_option(label="Strategy call")
    page.get_by_label("Host").select_option(label="Daniel Okoro")
    page.get_by_role("button", name="Save", exact=True).click()


def open_lead(page: Page, name: str) -> None:
    """Find a lead by its name, and open its page."""
    page.goto(f"{LEADS}?view=all&q={name}")
    page.locator("#result_list").get_by_role("link", name=name).click()
