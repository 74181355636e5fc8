"""Reads an admin page's form as a browser would send it."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client


class FormParser(HTMLParser):
    """Collects the values of the page's main form: the one whose id ends in `_form`, or one that posts to the page."""

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[str, Any] = {}
        self.is_in_form = False
        self.select: str | None = None
        self.textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            # Confirmation pages have a form without an id; the pages' search and logout forms have an action.
            self.is_in_form = (attributes.get("id") or "").endswith("_form") or (
                "id" not in attributes and attributes.get("method") == "post" and "action" not in attributes
            )
        name = attributes.get("name")
        if not self.is_in_form:
            return
        kind = attributes.get("type")
        if tag == "input" and name and (kind not in ("checkbox", "radio") or "checked" in attributes):
            self.add(name, attributes.get("value") or ("on" if kind == "checkbox" else ""))
        if tag == "select":
            self.select = name
        if tag == "option" and self.select and "selected" in attributes:
            self.add(self.select, attributes.get("value") or "")
        if tag == "textarea" and name:
            self.textarea, self.data[name] = name, ""

    def handle_endtag(self, tag: str) -> None:
        self.is_in_form = self.is_in_form and tag != "form"
        self.select = None if tag == "select" else self.select
        self.textarea = None if tag == "textarea" else self.textarea

    def handle_data(self, data: str) -> None:
        if self.textarea:
            # Browsers drop the line break that follows the tag.
            self.data[self.textarea] += data.removeprefix("\r\n").removeprefix("\n")

    def add(self, name: str, value: str) -> None:
        """Add a value; several values of one name make a list."""
        previous = self.data.get(name)
        if previous is None:
            self.data[name] = value
        else:
            self.data[name] = [*(previous if isinstance(previous, list) else [previous]), value]


def form_data(client: Client, url: str, /, **changes: Any) -> dict[str, Any]:
    """Return what a browser would send from the form at the URL, with these changes."""
    response = client.get(url)
    assert response.status_code == 200, (response.status_code, response.headers)
    parser = FormParser()
    parser.feed(response.content.decode())
    return {name: value for name, value in parser.data.items() if name != "csrfmiddlewaretoken"} | changes
