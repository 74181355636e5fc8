"""The lists of the sales team fit the screen."""

import pytest

from tests.browser.chromium import NARROW, WIDE, Members

LISTS = ["appointments/appointment", "leads/lead", "optins/optin"]
# The elements in which one would have to scroll sideways.
SCROLLED = """() => [...document.querySelectorAll('html, #changelist *')].filter(element =>
  element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX)
).map(element => element.className)"""


@pytest.mark.parametrize("name", LISTS)
def test_a_list_fits_beside_the_menu_and_has_its_buttons_in_one_row(members: Members, name: str):
    for size in (WIDE, NARROW):
        with members.page("OWNER", size=size) as page:
            page.goto(f"/admin/{name}/?view=all")
            places = [link.bounding_box() for link in page.locator(".list-buttons a").all()]

            assert page.evaluate(SCROLLED) == []
            assert len({place and place["y"] for place in places}) == 1, places
