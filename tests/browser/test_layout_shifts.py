"""On a phone, what staff look at all day stays where it is while it loads. (Wide: test_accessibility, all pages.)"""

from collections.abc import Iterator

from tests.browser.chromium import MAX_SHIFT, NARROW, Members, layout_shift
from tests.browser.pages import STAFF, views_of
from tests.browser.site import Site


def test_nothing_moves_on_a_phone_while_a_page_loads(members: Members, site: Site):
    shifts = {}
    with members.page(size=NARROW) as page:
        for path in staff_paths(site):
            response = page.goto(path)
            assert response is not None
            assert response.ok, path
            shifts[path] = layout_shift(page)

    assert {path: shift for path, shift in shifts.items() if shift > MAX_SHIFT} == {}
    assert len(shifts) > 10


def staff_paths(site: Site) -> Iterator[str]:
    """Yield the paths of the home page, and of the lists, with all their rows, and records of sales."""
    yield "/admin/"
    for label in STAFF:
        path = f"/admin/{label.replace('.', '/')}/"
        yield from (f"{path}?view=all", *(f"{view}&view=all" for view in views_of(label)))
        if label in site.rows:
            yield f"{path}{site.rows[label]}/change/"
