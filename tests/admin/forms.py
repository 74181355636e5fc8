"""An admin page's form as a browser would send it."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client


class FormParser(HTMLParser):
    """The controls of the page's main form: the one whose id ends in `_form`, or whose method is post."""

    def __init__(self) -> None:
        super().__init__()
        self.data: dict[str, Any] = {}
        self.is_inside = False
        self.select: str | None = None
        self.textarea: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.is_inside = (given.get("id") or "").endswith("_form") or (
                "id" not in given and given.get("method") == "post" and "action" not in given
            )
        name = given.get("name")
        if not self.is_inside:
            return
        if tag == "input" and name and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self.take(name, given.get("value") or ("on" if given.get("type") == "checkbox" else ""))
        if tag == "select":
            self.select = name
        if tag == "option" and self.select and "selected" in given:
            self.take(self.select, given.get("value") or "")
        if tag == "textarea" and name:
            self.textarea, self.data[name] = name, ""

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = self.is_inside and tag != "form"
        self.select = None if tag == "select" else self.select
        self.textarea = None if tag == "textarea" else self.textarea

    def handle_data(self, data: str) -> None:
        if self.textarea:
            self.data[self.textarea] += data.removeprefix("\r\n").removeprefix("\n")

    def take(self, name: str, value: str) -> None:
        """A second value of the same name makes a list."""
        known = self.data.get(name)
        self.data[name] = value if known is None else [*(known if isinstance(known, list) else [known]), value]


def form_data(client: Client, address: str, **changes: Any) -> dict[str, Any]:
    """What a browser would send back from the form at the address, with changes."""
    answer = client.get(address)
    assert answer.status_code == 200, (answer.status_code, answer.headers)
    reader = FormParser()
    reader.feed(answer.content.decode())
    return {name: value for name, value in reader.data.items() if name != "csrfmiddlewaretoken"} | changes
