"""Two leads who are one person."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import expect

from tests.browser.chromium import Members
from tests.browser.site import Site

LEADS = "SELECT id, last_name FROM leads_lead WHERE email LIKE '%%@twin.example' ORDER BY created_at"
CALLS = "SELECT count(*) FROM appointments_appointment WHERE lead_id = %s"


def test_a_manager_merges_two_leads_and_undoes_it(members: Members, site: Site):
    soon = datetime.now(UTC) + timedelta(days=3)
    for number, (email, last_name) in enumerate([("greta@twin.example", "Old"), ("g.new@twin.example", "Newname")]):
        site.add_booking(
            f"twin-{number}",
            schedule_time=(soon + timedelta(days=number)).isoformat(timespec="milliseconds"),
            lead_email=email,
            lead_first_name="Greta",
            lead_last_name=last_name,
            lead_phone="+14155552690",
        )
    (older, _), (newer, _) = site.select(LEADS)

    with members.page("MANAGER") as page:
        page.goto(f"/admin/leads/lead/{newer}/change/")
        page.get_by_role("link", name="1 possible duplicate").click()
        page.get_by_role("link", name="Compare with Greta Old").click()
        expect(page.get_by_role("radio", name="Last name Old")).to_be_checked()
        page.get_by_role("radio", name="Last name Newname").check()
        page.get_by_role("button", name="Merge").click()

        expect(page.get_by_text("Leads merged.")).to_be_visible()
        expect(page.get_by_role("heading", name="Greta Newname", exact=True)).to_be_visible()
        assert site.select(LEADS) == [(older, "Newname")]
        assert site.select(CALLS, older) == [(2,)]
        page.goto(f"/admin/leads/lead/{newer}/change/")
        expect(page.get_by_text("The lead you opened was merged into this one.")).to_be_visible()
        assert str(older) in page.url

        page.get_by_role("link", name="Merge with another lead").click()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("is a lead of its own again.")).to_be_visible()
    assert site.select(LEADS) == [(older, "Old"), (newer, "Newname")]
    assert [site.select(CALLS, id) for id in (older, newer)] == [[(1,)], [(1,)]]


def test_a_note_that_was_typed_while_a_colleague_merged_its_lead_goes_to_the_kept_one(members: Members, site: Site):
    soon = (datetime.now(UTC) + timedelta(days=5)).isoformat(timespec="milliseconds")
    for name in ("kept", "typed"):
        site.add_booking(f"note-{name}", schedule_time=soon, lead_email=f"{name}@note.example", lead_first_name=name)
    query = "SELECT id FROM leads_lead WHERE email LIKE '%%@note.example' ORDER BY created_at"
    (kept,), (merged,) = site.select(query)

    with members.page("MANAGER") as page, members.page() as colleague:
        colleague.goto(f"/admin/leads/lead/{merged}/change/")
        colleague.keyboard.press("n")
        colleague.locator("#add_note_note").fill("She wants a discount")
        page.goto(f"/admin/leads/lead/{kept}/merge/?with={merged}")
        page.get_by_role("button", name="Merge").click()
        expect(page.get_by_text("Leads merged.")).to_be_visible()
        colleague.locator("form:has(#add_note_note) button").click()

        expect(colleague.get_by_text("The lead you opened was merged into this one.")).to_be_visible()
        expect(colleague.get_by_role("region", name="Timeline")).to_contain_text("She wants a discount")
    assert site.select(query) == [(kept,)]


def test_the_list_of_duplicates_compares_pairs_and_forgets_those_of_two_people(members: Members, site: Site):
    with members.page() as page:
        page.goto("/admin/")
        page.get_by_role("link", name="Duplicates", exact=True).click()
        pair = page.locator("#result_list tbody tr").filter(has_text="Same phone").first
        expect(pair).to_be_visible()
        before = page.locator("#result_list tbody tr").count()
        pair.get_by_role("link", name="Compare").click()
        page.get_by_role("button", name="Not duplicates").click()

        expect(page.get_by_text("are remembered as two people.")).to_be_visible()
        expect(page.locator("#result_list tbody tr")).to_have_count(before - 1)
    assert site.select("SELECT count(*) FROM leads_possibleduplicate WHERE is_dismissed") == [(1,)]
