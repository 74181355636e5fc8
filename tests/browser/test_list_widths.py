"""The lists fit the screen."""

import pytest

from tests.browser.chromium import IDLE, NARROW, WIDE, Members

LISTS = ["appointments/appointment", "leads/lead", "optins/optin"]
OTHER_LISTS = ["appointments/note", "notifications/notification", "webhooks/delivery", "webhooks/endpoint"]
# The elements in which one would have to scroll sideways.
SCROLLED = """() => [...document.querySelectorAll('html, #changelist *')].filter(element =>
  element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX)
).map(element => element.className)"""


@pytest.mark.parametrize("name", LISTS)
def test_a_list_fits_beside_the_menu_and_a_phone_shows_its_buttons_in_one_row(members: Members, name: str):
    for size in (WIDE, NARROW):
        with members.page("OWNER", size=size) as page:
            page.goto(f"/admin/{name}/?view=all")
            page.evaluate(IDLE)
            places = [link.bounding_box() for link in page.locator(".list-buttons a").all()]

            assert page.evaluate(SCROLLED) == []
            assert len({place and place["y"] for place in places}) == 1, places


@pytest.mark.parametrize("name", OTHER_LISTS)
def test_a_list_of_details_fits_beside_the_menu(members: Members, name: str):
    with members.page("OWNER") as page:
        page.goto(f"/admin/{name}/")
        page.evaluate(IDLE)

        assert page.evaluate(SCROLLED) == []
