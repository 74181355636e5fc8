"""The browser: one signed-in context for each member, and what a page must never do."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, cast

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser.prepare import PASSWORD
from tests.browser.site import Site

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
RUN_AXE = """async ([where, both]) => {
  document.querySelectorAll('tbody:nth-of-type(n+5), tr:nth-child(n+5)').forEach(row => row.remove());
  const options = {resultTypes: ['violations'], preload: false, iframes: false};
  const run = async more => (await axe.run(where ?? document, {...options, ...more})).violations;
  const found = [['', await run({})]];
  if (both) {
    const {classList} = document.documentElement;
    classList.add('dark');
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    found.push(['dark: ', await run({runOnly: ['color-contrast']})]);
    classList.remove('dark');
  }
  return found;
}"""
MENU = "#nav-sidebar"
# Adds up by how much the elements of a page move by themselves (web.dev/cls).
OBSERVE_SHIFTS = """
window.layoutShift = 0;
new PerformanceObserver(list => {
  for (const shift of list.getEntries()) if (!shift.hadRecentInput) window.layoutShift += shift.value;
}).observe({type: 'layout-shift', buffered: true});
"""
MAX_SHIFT = 0.1  # what Google calls good
# After what scripts do at the start, with all fonts, and painted. After a key, the browser may never call itself idle.
IDLE = """document.fonts.ready.then(() => new Promise(
  done => requestIdleCallback(() => requestAnimationFrame(() => requestAnimationFrame(done)), {timeout: 10000})))"""
MILLISECONDS = 120_000  # for each wait: only a hang takes as long
# No host but this computer has an address.
ARGUMENTS = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-dev-shm-usage"]
# What the service answers on purpose is no error of the page, nor is a request that a newer one has replaced.
EXPECTED_ERRORS = re.compile(r"the server responded with a status of (400|403|404|409)|^htmx:(afterRequest|sendAbort)$")


class Members:
    """The members' contexts. `problems` has what a page has done that none may do."""

    def __init__(self, browser: Browser, site: Site) -> None:
        self.browser, self.site = browser, site
        self.contexts: dict[str, BrowserContext] = {}
        self.problems: list[str] = []

    @contextmanager
    def page(self, role: str = "OWNER", *, size: dict[str, int] = WIDE, dark: bool = False) -> Iterator[Page]:
        """Open a page as the member with this role. Fails at the end if a page did what none may do."""
        if role not in self.contexts:
            self.contexts[role] = self.new_context()
            cookie = {"name": "sessionid", "value": self.site.sessions[role], "url": self.site.url("/")}
            self.contexts[role].add_cookies([cast(Any, cookie)])
        page = self.contexts[role].new_page()
        try:
            page.set_viewport_size(cast(Any, size))
            page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
            yield page
        finally:
            page.close()
        problems = self.take_problems()
        assert problems == [], problems

    def sign_in(self, role: str) -> BrowserContext:
        """Return a context in which the member is signed in, through the form."""
        context = self.new_context()
        page = context.new_page()
        page.goto("/admin/login/")
        page.get_by_label("E-mail").fill(self.site.members[role])
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/admin/")
        page.close()
        return context

    def new_context(self) -> BrowserContext:
        """Return a context in which nobody is signed in, and whose pages are watched."""
        context = self.browser.new_context(base_url=self.site.url(""), locale="en-US", timezone_id="America/New_York")
        context.set_default_timeout(MILLISECONDS)
        context.add_init_script(OBSERVE_SHIFTS)
        context.on("console", self.on_console)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        context.on("request", self.on_request)
        return context

    def on_console(self, message: ConsoleMessage) -> None:
        """Keep an error, such as a violation of the Content-Security-Policy."""
        if message.type == "error" and not EXPECTED_ERRORS.search(message.text):
            self.problems.append(f"{message.page and message.page.url}: {message.text}")

    def on_request(self, request: Request) -> None:
        """Keep a request to another host."""
        if not request.url.startswith((self.site.url("/"), "data:", "blob:")):
            self.problems.append(f"request to {request.url}")

    def take_problems(self) -> list[str]:
        """Return the problems so far, and forget them."""
        problems, self.problems = self.problems, []
        return problems


@contextmanager
def running_chromium(site: Site, program: str) -> Iterator[Members]:
    """Start the browser; it ends with the block."""
    arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield Members(browser, site)
        browser.close()


def layout_shift(page: Page) -> float:
    """Return by how much the page's elements have moved while it was loaded."""
    page.evaluate(IDLE)
    return float(page.evaluate("layoutShift"))


def violations(page: Page, *, leave_out: Sequence[str] = (), both_themes: bool = False) -> list[str]:
    """Return what axe finds on the page, of any impact; with `both_themes` also the colors of the dark one.

    Removes all but the first rows of tables, which look alike. `leave_out` are selectors of what isn't looked at.
    """
    page.evaluate(IDLE)
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    where = {"exclude": [[selector] for selector in leave_out]} if leave_out else None
    found = page.evaluate(RUN_AXE, [where, both_themes])
    return [
        f"{theme}{rule['id']}: {node['target'][0]} {node['html'][:200]} {reason.strip()}"
        for theme, rules in found
        for rule in rules
        for node in rule["nodes"]
        for reason in node["failureSummary"].splitlines()[1:2]
    ]
