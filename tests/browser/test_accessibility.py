"""Every page of the admin: axe finds nothing, nothing moves while it loads, nor scrolls sideways on a phone.

`PICTURES=1` also takes two pictures of each page, into .data/screenshots.
"""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.chromium import MAX_SHIFT, MENU, NARROW, WIDE, Members, layout_shift, violations
from tests.browser.pages import LABELS, STAFF, open_page, paths_of, scrolls_sideways
from tests.browser.prepare import EMPTY
from tests.browser.site import Site

SHAPE = (
    "[...(document.getElementById('main') ?? document).querySelectorAll('*')].map(e => e.tagName + e.className).join()"
)
SHAPES: set[str] = set()
TAKES_PICTURES = "PICTURES" in os.environ


@pytest.mark.parametrize("label", [None, *LABELS], ids=str)
def test_pages_are_accessible(label: str | None, members: Members, site: Site, screenshots: Path):
    found: list[str] = []
    with members.page() as page:
        for path in paths_of(label, site):
            if open_page(page, path):
                found += [f"{path}: {problem}" for problem in problems_of(page, screenshots / file_name(path))]

    assert "\n".join(found) == ""


# All lists are empty in the same way, except those with views and layouts.
@pytest.mark.parametrize("label", [None, *STAFF, "webhooks.endpoint"], ids=str)
def test_empty_lists_are_accessible(label: str | None, members: Members, screenshots: Path):
    path = f"/admin/{label.replace('.', '/')}/" if label else "/admin/"
    with members.page(EMPTY) as page:
        found = problems_of(page, screenshots / f"empty-{file_name(path)}") if open_page(page, path) else []

    assert found == []


def problems_of(page: Page, picture: Path) -> list[str]:
    """Return what is wrong with the open page, wide and narrow, light and dark; keep its pictures if asked to.

    A page with the elements of an earlier one, such as another question before a change, has no other problems.
    """
    shape = page.evaluate(SHAPE)
    if shape in SHAPES:
        return []
    SHAPES.add(shape)
    shift = layout_shift(page)
    if TAKES_PICTURES:
        page.screenshot(path=f"{picture}-wide.jpg", type="jpeg", quality=70)
    found = [f"moves by {shift:.2f} while it loads"] if shift > MAX_SHIFT else []
    # The menu is the same on all pages.
    leave_out = [MENU] if len(SHAPES) > 1 and page.locator(MENU).count() else []
    found += violations(page, leave_out=leave_out, both_themes=True)
    page.set_viewport_size({**NARROW})
    found += ["scrolls sideways"] if scrolls_sideways(page) else []
    if TAKES_PICTURES:
        page.evaluate("document.documentElement.classList.add('dark')")
        page.screenshot(path=f"{picture}-narrow-dark.jpg", type="jpeg", quality=70)
        page.evaluate("document.documentElement.classList.remove('dark')")
    page.set_viewport_size({**WIDE})
    return found


def file_name(path: str) -> str:
    """Return the path as the beginning of a file's name, without ids."""
    words = re.sub(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b", "", path.removeprefix("/admin/"))
    return re.sub(r"[^a-z0-9_]+", "-", words.lower()).strip("-") or "home"
