"""Every page of the admin, from its URLs and models, so that a new one is checked without being listed here."""

from collections.abc import Iterator

from playwright.sync_api import Error, Page

from tests.browser.site import Site
from tests.hostile.routes import ADMIN_ROUTES, Route
from tests.staff.pages import MODEL_ADMINS

LABELS = [model_admin.opts.label_lower for model_admin in MODEL_ADMINS]
# What sales staff look at all day.
STAFF = ["appointments.appointment", "leads.lead", "leads.possibleduplicate", "optins.optin", "leads.import"]
# No pages, or pages that end the session.
EXCLUDED = {"autocomplete", "jsi18n", "login", "logout", "second_factor"}
# Django's own pages, the same for all models.
COMMON, SHOWN_FOR = ("_history", "_delete"), {"leads.lead", "appointments.appointment"}


def paths_of(label: str | None, site: Site) -> Iterator[str]:
    """Yield the paths of a model's pages, or without a model of those of the site itself."""
    for route in ADMIN_ROUTES:
        name, owner = route.name, model_label(route)
        if owner != label or name is None or name in EXCLUDED:
            continue
        if name.endswith(COMMON) and label not in SHOWN_FOR:
            continue
        if route.arguments == ():
            yield route.build_url({})
        elif route.arguments == ("object_id",) and label in site.rows:
            yield route.build_url({"object_id": site.rows[label]})
    yield from views_of(label)


def views_of(label: str | None) -> Iterator[str]:
    """Yield the paths of a list's other layouts, such as a board."""
    for model_admin in MODEL_ADMINS:
        if model_admin.opts.label_lower == label:
            path = f"/admin/{label.replace('.', '/')}/"
            yield from (f"{path}?layout={layout.name}" for layout in getattr(model_admin, "layouts", ()))


def model_label(route: Route) -> str | None:
    """Return the label of the model whose page the route is, if any."""
    return route.model_admin.opts.label_lower if route.model_admin else None


def open_page(page: Page, path: str) -> bool:
    """Open the path; return whether the member may see it and it is a page. Fails at an error of the server."""
    try:
        response = page.goto(path)
    except Error as error:
        if "Download is starting" in error.message:
            return False
        raise
    assert response is not None
    assert response.status < 500, path
    # What a script fetches into a page isn't one.
    return response.ok and bool(page.evaluate("document.doctype !== null"))


def scrolls_sideways(page: Page) -> bool:
    """Return whether the page is wider than the window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
